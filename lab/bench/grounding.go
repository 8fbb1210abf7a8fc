package bench

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// A GroundingCheck checks that every claim of a text (figure, time or name) has a source: the
// figures of its answer, the question itself, the records of the decisions that the answer
// cites, or the names of the run.
type GroundingCheck struct {
	log   *query.Dataset
	names map[string]string // names of the run, with their kind: "site", "job", "tenant", "model", "node"
	sites []string
	span  [2]protocol.Time        // first and last instant of the ledger
	cited map[string][]groundFact // cache: facts of decisions by id
}

// SurfaceGrounding counts the claims that a run's texts make on one surface, such as answers
// or the page, and lists those without a source.
type SurfaceGrounding struct {
	Surface       string            `json:"surface"`
	Texts, Claims int               `json:",omitempty"`
	Loose         []UngroundedClaim `json:"loose,omitempty"`
}

// CheckAnswersAndReasons checks the answers of judged questions, and the output of `gridbid
// why` for every job.
func (g *GroundingCheck) CheckAnswersAndReasons(all []JudgedAnswer) []SurfaceGrounding {
	answers, whys := SurfaceGrounding{Surface: "answers"}, SurfaceGrounding{Surface: "why"}
	for _, e := range all {
		n, loose := g.CheckAnswer(e.Asked, e.answer)
		for i := range loose {
			loose[i].ID, loose[i].Asked = e.ID, e.Asked
		}
		answers.addChecked(n, loose)
	}
	for _, id := range g.log.History().JobIDs() {
		n, loose := g.CheckJobReasons(id)
		for i := range loose {
			loose[i].ID = format.CleanText(string(id))
		}
		whys.addChecked(n, loose)
	}
	return []SurfaceGrounding{answers, whys}
}

// addChecked adds one text with its number of claims and the claims without a source.
func (x *SurfaceGrounding) addChecked(n int, loose []UngroundedClaim) {
	x.Texts, x.Claims, x.Loose = x.Texts+1, x.Claims+n, append(x.Loose, loose...)
}

// WriteGrounding writes what is grounded, and each claim that is not.
func WriteGrounding(w io.Writer, all []SurfaceGrounding) error {
	var b bytes.Buffer
	for _, x := range all {
		fmt.Fprintf(&b, "grounding    %-8s %6d texts   %7d claims   not borne out %d\n", x.Surface, x.Texts, x.Claims, len(x.Loose))
		for _, l := range x.Loose {
			fmt.Fprintf(&b, "  LOOSE %s %q: %q in %q: %s\n", l.ID, l.Asked, l.Claim, l.In, l.Why)
		}
	}
	_, err := b.WriteTo(w)
	return err
}

// NewGroundingCheck returns a check for the run of l, whose ledger spans first to last.
func NewGroundingCheck(l *query.Dataset, first, last protocol.Time) *GroundingCheck {
	g := &GroundingCheck{log: l, names: make(map[string]string), span: [2]protocol.Time{first, last}, cited: make(map[string][]groundFact)}
	for _, s := range l.History().SiteRecords() {
		g.names[format.CleanText(s.Site)] = "site"
		g.sites = append(g.sites, s.Site)
		for _, p := range s.Pools {
			g.names[p.Model] = "model"
		}
	}
	for _, id := range l.History().JobIDs() {
		r, _ := l.History().LatestJob(id)
		g.names[format.CleanText(string(id))] = "job"
		g.names[format.CleanText(r.Job.Tenant)] = "tenant"
		if r.Run != nil {
			g.names[format.CleanText(r.Run.Node)] = "node"
			g.names[r.Run.Model] = "model"
		}
	}
	return g
}

// An UngroundedClaim is a claim of a text for which no source was found.
type UngroundedClaim struct{ ID, Asked, Claim, In, Why string }

// A groundFact is a value that a claim may print: its unit, and the subject it is about ("" if any).
type groundFact struct {
	v       int64
	unit    string
	subject string
}

// CheckAnswer checks every figure, time and name in the text of an answer. It returns the
// number of claims, and those without a source.
//
// An answer is checked as data. What says that there is none is read again as a reader
// would. What the person asked is no claim of it, and neither is an example of how to ask.
func (g *GroundingCheck) CheckAnswer(asked string, a query.Answer) (claims int, loose []UngroundedClaim) {
	claims, bad, typed := a.CheckGrounding()
	for _, why := range bad {
		loose = append(loose, UngroundedClaim{Claim: why, In: strings.Join(a.Text, " "), Why: "not among the answer's figures"})
	}
	if !typed {
		facts := g.factsOfAnswer(a)
		for _, s := range append([]string{a.Read}, a.Text...) {
			n, bad := g.checkText(a, facts, exampleText.ReplaceAllString(strings.ReplaceAll(s, format.CleanText(asked), ""), ""), false)
			claims, loose = claims+n, append(loose, bad...)
		}
		if a.Query == nil { // given back: names that it may have meant
			loose = slices.DeleteFunc(loose, func(x UngroundedClaim) bool { return x.Why == notInAnswer || strings.Contains(asked, x.Claim) })
		}
	}
	// Answers within an answer are checked likewise.
	for _, more := range a.More {
		n, bad := g.CheckAnswer(asked, more)
		claims, loose = claims+n, append(loose, bad...)
	}
	return claims, loose
}

// factsOfAnswer returns the facts that an answer's claims may come from.
func (g *GroundingCheck) factsOfAnswer(a query.Answer) (all []groundFact) {
	for _, f := range a.Figures {
		all = append(all, groundFact{f.Value, f.Unit, f.Subject})
		if at, err := time.Parse(time.RFC3339, strings.TrimPrefix(f.Subject, "hour/")); err == nil {
			all = append(all, groundFact{int64(protocol.FromStdTime(at)), "instant", ""})
		}
	}
	all = append(all, groundFact{int64(g.span[0]), "instant", ""}, groundFact{int64(g.span[1]), "instant", ""})
	if q := a.Query; q != nil {
		all = append(all, groundFact{q.Number, "count", ""}, groundFact{q.Long.Milliseconds(), "ms", ""}, groundFact{q.Within.Milliseconds(), "ms", ""},
			groundFact{int64(q.At), "instant", ""}, groundFact{int64(q.From), "instant", ""}, groundFact{int64(q.To), "instant", ""})
		if r, ok := g.log.History().LatestJob(q.Job); ok {
			all = append(all, groundFact{int64(r.Job.Arrival), "instant", ""}, groundFact{int64(r.Job.Deadline), "instant", ""})
		}
	}
	if len(a.Cites) > 60 { // an aggregate: it makes no claim about one decision
		return all
	}
	return append(all, g.factsOfDecisions(a.Cites)...)
}

// factsOfDecisions returns the facts of the cited decisions, each computed once.
func (g *GroundingCheck) factsOfDecisions(cites []string) (all []groundFact) {
	for _, c := range cites {
		known, ok := g.cited[c]
		if !ok {
			id, _ := strconv.ParseUint(strings.TrimPrefix(c, "D-"), 10, 63)
			if d, there := g.log.DecisionDocument(id); there {
				known = factsOfRecord(d)
			}
			g.cited[c] = known
		}
		all = append(all, known...)
	}
	return all
}

// factsOfRecord returns the facts of one decision record.
func factsOfRecord(d record.DecisionRecord) (all []groundFact) {
	site := make(map[string]string)
	for _, b := range d.Bids {
		site[b.ID] = "site/" + b.Site
	}
	for _, f := range d.Facts {
		if v, is := f.Value.(int64); is {
			all = append(all, groundFact{v, f.Unit, site[f.Subject]})
		}
	}
	return append(all, groundFact{int64(protocol.FromStdTime(d.At)), "instant", ""}, groundFact{int64(protocol.FromStdTime(d.Job.Deadline)), "instant", ""})
}

// Patterns of claims; exampleText matches what is none.
var (
	exampleText    = regexp.MustCompile("`[^`]*`|[Ss]ay \"[^\"]*\"(?:, \"[^\"]*\")*|or \"[^\"]*\"|\\bp95\\b|\\b95th percentile\\b")
	instantPattern = regexp.MustCompile(`\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d\d:\d\d(?::\d\d)?\b|\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?Z)?|\b\d{4}-\d\d-\d\d\b`)
	spanPattern    = regexp.MustCompile(`-?\b\d+ (?:d|h|min|s|minutes)\b(?: \d+ (?:h|min|s)\b)?`)
	amountPattern  = regexp.MustCompile(`(-?)(\$?)(\d[\d,]*(?:\.\d+)?)(/MWh)?(?: ?(kWh|kg CO2e per kWh|kg|g/kWh|g|%|GPU-hours?|GPUs?|cores?|kW|W|per tonne|per GPU-hour)\b| ?%)?`)
	wordPattern    = regexp.MustCompile(`[\pL\d_][\pL\d_.·-]*[\pL\d_·]|[\pL\d_]`)
)

// checkText holds one sentence, or one line of a table, to facts.
func (g *GroundingCheck) checkText(a query.Answer, facts []groundFact, text string, inTable bool) (n int, loose []UngroundedClaim) {
	in := text
	claim := func(what, why string) {
		n++
		if why != "" {
			loose = append(loose, UngroundedClaim{Claim: strings.TrimSpace(what), In: in, Why: why})
		}
	}
	// A claim is blanked once checked, so that no later pattern reads its digits; positions stay.
	blank := func(s string) string { return strings.Repeat(" ", len(s)) }
	near := g.subjectsOf(text)
	text = instantPattern.ReplaceAllStringFunc(text, func(m string) string {
		claim(m, matchFact(facts, "instant", func(v int64) bool { return printsInstant(protocol.Time(v), m) }, nil))
		return blank(m)
	})
	text = spanPattern.ReplaceAllStringFunc(text, func(m string) string {
		claim(m, matchFact(facts, "ms", func(v int64) bool { return printsDuration(v, m) }, nil))
		return blank(m)
	})
	// Words that contain digits but do not begin with one are names; names of sites are checked
	// in any case.
	text = wordPattern.ReplaceAllStringFunc(text, func(m string) string {
		if !strings.ContainsAny(m, "0123456789") || m[0] >= '0' && m[0] <= '9' {
			if g.names[m] == "site" {
				claim(m, g.siteMentionFault(a, m))
			}
			return m
		}
		claim(m, g.nameFault(m, facts))
		return blank(m)
	})
	// What is left with digits is an amount and its unit.
	for _, m := range amountPattern.FindAllStringSubmatch(text, -1) {
		unit := m[2] + m[4]
		if unit == "" || unit == "$" {
			unit += strings.TrimSpace(m[5])
		}
		if strings.HasSuffix(m[0], "%") {
			unit = "%"
		}
		claim(m[0], matchAmount(facts, m[1]+m[3], unit, inTable, near))
	}
	return n, loose
}

// subjectsOf returns the subjects that a figure in a text may have; nil for any.
func (g *GroundingCheck) subjectsOf(text string) []string {
	var all []string
	for _, s := range g.sites {
		if strings.Contains(text, s) {
			all = append(all, "site/"+s)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return append(all, "", "run")
}

// siteMentionFault returns why an answer may not mention a site; "" if the question names the
// site, a figure is about it or about a job, or the answer cites decisions or has a table.
func (g *GroundingCheck) siteMentionFault(a query.Answer, site string) string {
	if q := a.Query; q != nil && (format.CleanText(q.Site) == site || format.CleanText(q.Other) == site) {
		return ""
	}
	for _, f := range a.Figures {
		if f.Subject == "site/"+site || strings.HasPrefix(f.Subject, "job/") {
			return ""
		}
	}
	if len(a.Cites) > 0 || a.Table != nil {
		return ""
	}
	return notInAnswer
}

const notInAnswer = "no figure or citation of the answer is about that site"

// nameFault returns why a name with digits is no name of the run, of a policy or of a
// decision; "" if it is one.
func (g *GroundingCheck) nameFault(word string, facts []groundFact) string {
	if strings.HasPrefix(word, "CO2") || g.names[word] != "" {
		return ""
	}
	for _, f := range facts { // a policy's name may have a suffix after a slash, such as auction/perfect
		policy, ok := strings.CutPrefix(f.subject, "policy/")
		if policy, _, _ = strings.Cut(policy, "/"); ok && policy == word {
			return ""
		}
	}
	if _, err := strconv.ParseUint(strings.TrimPrefix(word, "D-"), 10, 63); err == nil {
		if len(g.factsOfDecisions([]string{word})) > 0 {
			return ""
		}
		return "no such decision"
	}
	return "no such name in the run"
}

// matchFact returns "" if fits accepts the value of a fact of this unit; otherwise why not.
// With near, facts about sites count only if their subject is in it.
func matchFact(facts []groundFact, unit string, fits func(int64) bool, near []string) string {
	for _, f := range facts {
		if f.unit == unit && fits(f.v) && (near == nil || slices.Contains(near, f.subject) || !strings.HasPrefix(f.subject, "site/")) {
			return ""
		}
	}
	return "no such " + unit
}

// printsInstant reports whether a text is how some surface prints an instant; 0 is no instant.
func printsInstant(at protocol.Time, text string) bool {
	return at != 0 && (format.FormatInstant(at) == text || at.StdTime().Format("2 Jan 15:04") == text || at.StdTime().Format("2 Jan 15:04:05") == text || strings.HasPrefix(at.String(), strings.TrimSuffix(text, "Z")))
}

// printsDuration reports whether a text is how some surface prints a duration in milliseconds.
func printsDuration(ms int64, text string) bool {
	d := time.Duration(ms) * time.Millisecond
	return ms != 0 && (format.FormatDuration(d) == text || format.FormatDuration(-d) == text || fmt.Sprintf("%d minutes", d/time.Minute) == text || fmt.Sprintf("%.0f min", d.Minutes()) == text) || ms == 0 && text == "0 s"
}

// unitMeasures maps a printed unit to the units of facts that it can show, and to how many of
// these make one printed unit.
var unitMeasures = map[string][]struct {
	unit string
	per  float64
}{
	"$": {{"microdollars", 1e6}, {"dollars-per-tonne", 1}}, "$per tonne": {{"microdollars-per-kg", 1e3}, {"dollars-per-tonne", 1}}, "$per GPU-hour": {{"microdollars-per-gpu-hour", 1e6}},
	"$/MWh": {{"microdollars-per-kwh", 1e3}}, "kWh": {{"millijoules", 3.6e9}}, "W": {{"milliwatts", 1e3}}, "kW": {{"millijoules", 3.6e9}, {"milliwatts", 1e6}}, "kg": {{"milligrams", 1e6}}, "g/kWh": {{"milligrams-per-kwh", 1e3}},
	"kg CO2e per kWh": {{"milligrams-per-kwh", 1e6}}, "%": {{"thousandths", 10}, {"percent", 1}}, "GPU-hours": {{"gpu-ms", 3.6e6}}, "GPU": {{"thousandths", 1e3}, {"count", 1}}, "cores": {{"thousandths", 1e3}},
	"": {{"count", 1}, {"thousandths", 1e3}, {"dollars-per-tonne", 1}},
}

// matchAmount returns "" if a fact fits what is printed. In a line of a table a figure
// without a unit may be of any that tables have.
func matchAmount(facts []groundFact, digits, unit string, inTable bool, near []string) string {
	unit = strings.TrimSuffix(unit, "s")
	if unit == "core" || unit == "GPU-hour" {
		unit += "s"
	}
	digits = strings.ReplaceAll(digits, ",", "")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return "no number"
	}
	// The text's last place decides how much rounding may hide: half of it.
	places := 0
	if i := strings.IndexByte(digits, '.'); i >= 0 {
		places = len(digits) - i - 1
	}
	like := unitMeasures[unit]
	if unit == "" && inTable {
		like = slices.Concat(unitMeasures["$"], unitMeasures["kWh"], unitMeasures["kg"], unitMeasures["W"], unitMeasures["GPU-hours"], unitMeasures[""])
	}
	for _, m := range like {
		slack := float64(0.5*math.Pow10(-places)*m.per) * (1 + 1e-9)
		for _, f := range facts {
			same := f.unit == m.unit && (near == nil || slices.Contains(near, f.subject) || !strings.HasPrefix(f.subject, "site/"))
			// A text may print a saving without its sign.
			if same && (math.Abs(float64(f.v)-float64(v*m.per)) <= slack || math.Abs(float64(-f.v)-float64(v*m.per)) <= slack) {
				return ""
			}
		}
	}
	return "no such figure in " + strconv.Quote(unit)
}

// CheckJobReasons checks what `gridbid why` says of a job: as it checks answers, and its text against the records
// of the job's decisions, its offers and what was measured. The card's own figures are no source of its text there,
// since they come from the code that words it.
func (g *GroundingCheck) CheckJobReasons(id protocol.JobID) (claims int, loose []UngroundedClaim) {
	r, ok := g.log.History().LatestJob(id)
	if !ok {
		return 0, nil
	}
	card := query.ExplainJob(g.log.History(), r)
	claims, loose = g.CheckAnswer(string(id), card)
	n, bad := g.checkCardText(g.factsOfCard(r), card)
	return claims + n, append(loose, bad...)
}

// factsOfCard returns the facts of a job's records: its decisions, its offers and what was measured.
func (g *GroundingCheck) factsOfCard(r history.JobRecord) []groundFact {
	var decisions []string
	for _, h := range r.FullRounds {
		decisions = append(decisions, record.DecisionID(h.Decision.Message.Seq))
	}
	return append(g.factsOfDecisions(decisions), g.factsOfRecords(r)...)
}

// checkCardText checks the sentences and tables of a card against the facts of its job.
func (g *GroundingCheck) checkCardText(facts []groundFact, card query.Answer) (claims int, loose []UngroundedClaim) {
	about := query.Answer{Cites: card.Cites, Table: card.Table}
	check := func(text string, inTable bool) {
		n, bad := g.checkText(about, facts, exampleText.ReplaceAllString(text, ""), inTable)
		claims, loose = claims+n, append(loose, bad...)
	}
	for _, a := range append([]query.Answer{card}, card.More...) {
		for _, sentence := range a.Text {
			check(sentence, false)
		}
		if a.Table == nil {
			continue
		}
		for _, cells := range a.Table.Rows {
			check(strings.Join(cells, "  "), true)
		}
	}
	return claims, loose
}

// factsOfBids returns the offers of sites for a job in every round, by how much their cost terms differ from those
// of the decision and of the award in force, and how long it waited.
func factsOfBids(r history.JobRecord) (all []groundFact) {
	all = append(all, groundFact{int64(r.Job.CPU), "thousandths", ""}, groundFact{r.Job.Run.Milliseconds(), "ms", ""}, groundFact{int64(len(r.FullRounds)), "count", ""})
	if r.Run != nil {
		for _, d := range r.Run.Devices {
			all = append(all, groundFact{int64(d), "count", ""})
		}
	}
	if wait, started := r.WaitTime(); started {
		all = append(all, groundFact{wait.Milliseconds(), "ms", ""})
	}
	award := r.CurrentAward()
	// holds counts how often the market deferred the job, by reason.
	holds := make(map[protocol.Code]int64)
	for _, h := range r.FullRounds {
		all = append(all, groundFact{int64(h.Round), "count", ""}, groundFact{int64(h.Weights.Carbon), "microdollars-per-kg", ""}, groundFact{int64(h.Weights.ForRanking().Late), "microdollars-per-gpu-hour", ""}, groundFact{int64(h.Decision.Answered.At), "instant", ""})
		if h.Decision.Kind == "award" {
			all = append(all, groundFact{h.Decision.Option.Start.Sub(r.Job.Arrival).Milliseconds(), "ms", ""})
		}
		if h.Decision.Kind == "hold" {
			holds[h.Decision.Why.Code]++
			all = append(all, groundFact{holds[h.Decision.Why.Code], "count", ""})
		}
	}
	for n, h := range r.FullRounds {
		won := h.Decision.Option.Terms
		for _, s := range h.Answers {
			of := func(v int64, unit string) { all = append(all, groundFact{v, unit, "site/" + s.Site}) }
			of(int64(len(s.Options)), "count")
			for _, p := range s.Options {
				of(int64(p.Start), "instant")
				of(int64(p.Finish), "instant")
				of(int64(p.Energy), "millijoules")
				of(int64(p.Carbon), "milligrams")
				of(int64(p.Cap), "milliwatts")
				of(int64(p.Room), "microdollars")
				of(int64(p.Terms.Total()), "microdollars")
				of(int64(p.Terms.Total()-won.Total()), "microdollars")
				if n == 0 && award != nil { // what waiting saved
					all = append(all, groundFact{int64(p.Terms.Total() - award.Option.Terms.Total()), "microdollars", ""}, groundFact{int64(p.Carbon - award.Option.Carbon), "milligrams", ""})
				}
				for _, c := range narrate.CostCauses() {
					of(int64(c.Of(p.Terms)), "microdollars")
					of(int64(c.Of(p.Terms)-c.Of(won)), "microdollars")
				}
			}
		}
	}
	return all
}

// factsOfRuns returns when a job's runs began and ended, and what they took and were paid, each and together.
func factsOfRuns(r history.JobRecord) (all []groundFact) {
	var sum protocol.Usage
	var paid protocol.Microdollars
	add := func(u protocol.Usage, paid protocol.Microdollars) {
		all = append(all, groundFact{int64(u.Energy), "millijoules", ""}, groundFact{int64(u.Carbon), "milligrams", ""}, groundFact{int64(u.Money), "microdollars", ""}, groundFact{int64(paid), "microdollars", ""})
	}
	for _, s := range r.RunSegments() {
		x := s.Run
		all = append(all, groundFact{int64(x.Started), "instant", ""}, groundFact{int64(x.Ended), "instant", ""}, groundFact{x.Ended.Sub(x.Started).Milliseconds(), "ms", ""}, groundFact{r.Job.Deadline.Sub(x.Ended).Milliseconds(), "ms", ""})
		add(x.Cost, x.Settled.Paid)
		sum.Energy, sum.Carbon, sum.Money, paid = sum.Energy+x.Cost.Energy, sum.Carbon+x.Cost.Carbon, sum.Money+x.Cost.Money, paid+x.Settled.Paid
	}
	add(sum, paid)
	return all
}
