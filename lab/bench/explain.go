package bench

import (
	"bytes"
	_ "embed" // set.json
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/protocol"
)

// A BenchQuestion is one question of a set: its canonical wording, paraphrases, and the
// expected reading (see expectedReadings and judgeSpokenTruth for the forms of Truth).
type BenchQuestion struct {
	ID    string   `yaml:"id"`
	Q     string   `yaml:"q"`
	Alt   []string `yaml:"alt"`
	After []string `yaml:"after"` // asked before it, in one conversation
	Truth string   `yaml:"truth"`
}

// A JudgedAnswer is the verdict on how one wording of a question was read. Verdict is
// "right"; "declined" if the question has an answer but was refused; "wrong" if another
// question was answered; or "unjudged" if the form of its truth is unknown, or the run has
// no value for one of its slots.
type JudgedAnswer struct {
	ID, Asked     string
	Canonical     bool
	Kind, Verdict string
	Read          string

	answer query.Answer
}

//go:embed set.json
var questionSetSchema []byte

var questionSetFile = yamlschema.SchemaKind{Reader: "bench", FileKind: "set of questions", Docs: "docs/ask.md", Schema: questionSetSchema}

// ReadQuestions parses a question set. Errors name file, line and field.
func ReadQuestions(file string, text []byte) ([]BenchQuestion, error) {
	page, err := questionSetFile.ParsePage(file, text)
	if err != nil {
		return nil, err
	}
	var set struct {
		Questions []BenchQuestion `yaml:"questions"`
	}
	err = page.DecodeInto(&set)
	return set.Questions, err
}

// JudgeQuestions asks a run every wording of every question, with names of the run in place of
// slots such as $D and $J.
func JudgeQuestions(l *query.Dataset, b *history.History, all []BenchQuestion) []JudgedAnswer {
	names := bindSlots(b)
	var out []JudgedAnswer
	for _, q := range all {
		// The first wording is the canonical one.
		for i, words := range append([]string{q.Q}, q.Alt...) {
			if words == "" {
				continue
			}
			e := JudgedAnswer{ID: q.ID, Asked: names.fillSlots(words), Canonical: i == 0, Verdict: "unjudged"}
			// Without a value for a slot the question cannot be asked of this run.
			if names.hasUnfilledSlot(words + strings.Join(q.After, " ")) {
				out = append(out, e)
				continue
			}
			talk := l.NewSession()
			for _, before := range q.After {
				talk.AnswerQuestion(names.fillSlots(before))
			}
			a := talk.AnswerQuestion(e.Asked)
			e.Kind, e.Read, e.answer = a.Kind, a.Read, a
			e.Verdict = names.judgeReading(words, q.Truth, a)
			out = append(out, e)
		}
	}
	return out
}

// expectedReadings maps a prefix of a truth to the accepted readings: names of queries, or
// kinds of answers after "!". Invariant: the first matching row counts, so a longer prefix
// stands before a shorter one.
var expectedReadings = []struct{ truth, want string }{
	{"sum(carbon,$DAY)/sum(", "mix"}, {"sum(extra", "no-arbitration"}, {"sum_by(", "bill"}, {"sum(", "bill"}, {"argmax(sum_by", "bill"}, {"top(", "top"},
	{"job($J).site", "where"}, {"job($J).decision", "decision"}, {"job($J).start", "times"}, {"job($J).wait", "waited"},
	{"bids(", "offers"}, {"count(bids", "offer-count"}, {"ineligible(", "unable"}, {"why_not($D4,greenest", "why-not-greenest"},
	{"why_not(", "why-not"}, {"why_deferred(", "held"}, {"why_waiting(", "held"}, {"why(", "why"}, {"largest_term(", "differ"},
	{"decision($D3).", "no-arbitration"}, {"count(decisions($DAY,path=judge", "no-arbitration"}, {"force(", "elsewhere-at"},
	{"rerun($D,{carbon_price", "reprice"}, {"breakeven(", "breakeven"}, {"rerun($D,{slack", "slack"}, {"rerun($D2,{drop:residency", "unbound"}, {"rerun(", "without slack unbound"}, {"replay($DAY,{down", "day-without"},
	{"replay($DAY,{policy", "policies !not-found"}, {"compare($DAY", "policies !not-found"}, {"compare_days(", "no-day-before"},
	{"count(late", "late"}, {"late(", "late"}, {"mean(wait", "waits"}, {"p95(wait", "waits"},
	{"site($S).ci", "intensity"}, {"argmin(ci)", "greenest"}, {"free_gpus(", "free"}, {"largest_fit(", "block"}, {"site($S).fragmentation", "no-fragments"},
	{"queue(", "pending"}, {"site($S).kw", "power"}, {"site($S).age", "report"}, {"argmin(forecast", "best-hour"}, {"forecast(", "intensity forecast"},
	{"mae(", "forecast-error"}, {"best_window(", "best-start"}, {"rules(", "weights"}, {"policy_log(", "no-policy-log"}, {"quota(", "no-quota"},
	{"affected(", "no-rule"}, {"diff:", "!refused"}, {"bid_error", "bid-error"}, {"silent(", "silent"}, {"false_premise", "why"},
	{"no_such_decision", "!not-found"}, {"not_recorded", "!refused"}, {"beyond_horizon", "!refused"}, {"opinion", "!refused"},
	{"read_only", "!refused"}, {"nothing", "!unclear !ambiguous !not-found !refused"}, {"ambiguous_name", "!not-found !ambiguous"},
}

// judgeReading returns the verdict on a reading: the query must be one that the truth
// accepts, and must hold the names of the question.
func (n slotNames) judgeReading(words, truth string, a query.Answer) string {
	if truth == "none" || strings.HasPrefix(truth, "read(") || strings.HasPrefix(truth, "refuse(") {
		return n.judgeSpokenTruth(truth, a)
	}
	i := slices.IndexFunc(expectedReadings, func(r struct{ truth, want string }) bool { return strings.HasPrefix(truth, r.truth) })
	if i < 0 {
		return "unjudged"
	}
	want := strings.Fields(expectedReadings[i].want)
	// An expected kind of refusal is right.
	if slices.Contains(want, "!"+a.Kind) {
		return "right"
	}
	if a.Query == nil {
		if a.Kind == "refused" {
			return "wrong"
		}
		return "declined"
	}
	if !slices.Contains(want, a.Query.Ask) {
		return "wrong"
	}
	if a.Kind != "absent" && !n.queryHasAllNames(words, *a.Query) {
		return "wrong"
	}
	return "right"
}

// queryHasAllNames reports whether the query holds every name of the question.
func (n slotNames) queryHasAllNames(words string, q ask.Query) bool {
	in := fmt.Sprint(string(q.Job), " ", q.Site, " ", q.Other, " ", q.Tenant, " D-", q.Decision, " ")
	for _, x := range n {
		if !strings.Contains(words, x.slot) {
			continue
		}
		// A longer slot is taken out, so that a shorter one does not match within it.
		words = strings.ReplaceAll(words, x.slot, "")
		switch {
		case x.slot == "$DAY" || x.slot == "$H":
			if q.From == 0 && q.At == 0 {
				return false
			}
		case x.slot == "$A" && (q.Ask == "breakeven" || q.Ask == "why-not" || q.Ask == "reprice"): // it is the site that won
		case !strings.Contains(in, x.name+" "):
			return false
		}
	}
	return true
}

// slotNames are the values of the slots of a question set. Invariant: longer slots stand
// first, so that $D2 is not replaced as $D.
type slotNames []struct{ slot, name string }

// fillSlots returns words with every slot replaced by its value.
func (n slotNames) fillSlots(words string) string {
	for _, x := range n {
		words = strings.ReplaceAll(words, x.slot, x.name)
	}
	return words
}

// hasUnfilledSlot reports whether words have a slot for which the run has no value.
func (n slotNames) hasUnfilledSlot(words string) bool {
	for _, x := range n {
		if strings.Contains(words, x.slot) && x.name == "" {
			return true
		}
		words = strings.ReplaceAll(words, x.slot, "")
	}
	return false
}

// bindSlots finds values for the slots in a run: decisions with at least two other offers,
// a job that still waits ($JW), and so on. If no job still waits, $JW is an awarded one.
func bindSlots(b *history.History) slotNames {
	found := map[string]string{"$D": "", "$D2": "", "$D3": "", "$D4": "", "$D5": "", "$J": "", "$JW": "", "$A": "", "$B": "", "$C": "", "$S": "", "$T": "", "$DAY": "", "$H": "14:00"}
	// set keeps the first value of a slot.
	set := func(slot, name string) {
		if found[slot] == "" {
			found[slot] = name
		}
	}
	for _, s := range b.SiteRecords() {
		set("$S", s.Site)
	}
	for _, id := range b.JobIDs() {
		r, _ := b.LatestJob(id)
		d := r.CurrentAward()
		set("$DAY", r.Job.Arrival.StdTime().Format("2006-01-02"))
		set("$T", r.Job.Tenant)
		if d == nil || len(r.FullRounds) == 0 {
			set("$JW", string(id))
			continue
		}
		decision := fmt.Sprintf("D-%d", d.Message.Seq)
		last := r.FullRounds[len(r.FullRounds)-1]
		feasible := 0
		other := ""
		for _, x := range last.Answers {
			switch {
			case len(x.Options) > 0 && x.Site != d.Site:
				feasible, other = feasible+1, x.Site
			case x.Why.Code == protocol.NotAllowed:
				set("$D2", decision)
				if found["$D2"] == decision {
					set("$C", x.Site)
				}
			}
		}
		// With two other offers, questions about alternatives have answers.
		if feasible >= 2 {
			for _, slot := range []string{"$D", "$D3", "$D4"} {
				set(slot, decision)
			}
			if found["$D"] == decision {
				set("$J", string(id))
				set("$A", d.Site)
				set("$B", other)
			}
		}
		if len(r.FullRounds) > 1 && r.FullRounds[0].Decision.Why.Code == protocol.CheaperLater {
			set("$D5", decision)
		}
	}
	set("$JW", found["$J"])
	var n slotNames
	for _, slot := range []string{"$DAY", "$D2", "$D3", "$D4", "$D5", "$JW", "$D", "$J", "$A", "$B", "$C", "$S", "$T", "$H"} {
		n = append(n, struct{ slot, name string }{slot, found[slot]})
	}
	return n
}

// WriteJudgedAnswers writes the verdicts on a question set: counts by verdict, then every
// wording that was not read right.
func WriteJudgedAnswers(w io.Writer, all []JudgedAnswer) error {
	var b bytes.Buffer
	for _, canonical := range []bool{true, false} {
		sums, n := make(map[string]int), 0
		for _, e := range all {
			if e.Canonical == canonical {
				sums[e.Verdict]++
				n++
			}
		}
		what := "paraphrases"
		if canonical {
			what = "questions"
		}
		fmt.Fprintf(&b, "%-12s %4d   right %4d   declined %4d   wrong %4d   unjudged %4d\n", what, n, sums["right"], sums["declined"], sums["wrong"], sums["unjudged"])
	}
	for _, e := range all {
		if e.Verdict != "right" {
			fmt.Fprintf(&b, "%-9s %-4s %q: %s %q\n", e.Verdict, e.ID, e.Asked, e.Kind, e.Read)
		}
	}
	_, err := b.WriteTo(w)
	return err
}
