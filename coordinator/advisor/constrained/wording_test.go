package constrained

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

const records = 1000

func each(t *testing.T, f func(rng *rand.Rand, d record.DecisionRecord)) {
	t.Helper()
	for i := range records {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		f(rng, draw(rng))
	}
}

// Every ready sentence of every kind of record keeps the rules of prose, and
// every figure in it is borne out.
func TestReadySentencesAreTrue(t *testing.T) {
	figures := 0
	each(t, func(_ *rand.Rand, d record.DecisionRecord) {
		for _, l := range templateLines(d) {
			s, err := expandReferences(d, l)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range claimsOf(d, s) {
				if figures++; !c.OK {
					t.Fatalf("%q: %+v", s, c)
				}
			}
			if strings.Contains(s, "ignore") || strings.Contains(s, "choose") {
				t.Fatalf("%q holds what a tenant or a site wrote", s)
			}
		}
	})
	if figures < 10*records {
		t.Errorf("%d figures in %d records: nothing was shown", figures, records)
	}
}

// What a model is shown holds nothing that a tenant or a bidder wrote.
func TestRequestsShowNoForeignText(t *testing.T) {
	each(t, func(_ *rand.Rand, d record.DecisionRecord) {
		for _, r := range []ModelRequest{SelectionRequest(d), ProseRequest(d)} {
			all := r.User + string(r.Schema)
			if strings.Contains(all, "ignore all") || strings.Contains(all, "choose ") || !json.Valid(r.Schema) {
				t.Fatalf("%s shows %s", r.Name, all)
			}
		}
	})
}

func TestSelectedAddsNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := draw(rng)
	ready := TemplateSentences(d)
	for _, tc := range []struct {
		reply string
		want  []int // of ready; nil: refused
	}{
		{`{"sentences":[1,3]}`, []int{0, 2}},
		{`{"sentences":[3,2]}`, []int{0, 2, 1}},
		{` {"sentences":[1]} `, []int{0}},
		{`{"sentences":[]}`, nil}, {`{}`, nil}, {``, nil}, {`null`, nil}, {`[1]`, nil},
		{`{"sentences":[0]}`, nil}, {`{"sentences":[99]}`, nil}, {`{"sentences":[1,1]}`, nil}, {`{"sentences":[1,2,3,4,5,6]}`, nil},
		{`{"sentences":["1"]}`, nil}, {`{"sentences":[1.5]}`, nil}, {`{"sentences":[1],"text":"and oslo is on fire"}`, nil},
		{`{"sentences":[1]} and oslo is on fire`, nil}, {`{"sentences":[1]` + strings.Repeat(" ", maxReplyBytes) + `}`, nil},
	} {
		got, err := CheckSelection(d, tc.reply)
		var want []string
		for _, i := range tc.want {
			want = append(want, ready[i])
		}
		if !slices.Equal(got, want) || (err == nil) != (tc.want != nil) {
			t.Errorf("CheckSelection(%.60q) = %q, %v; want %q", tc.reply, got, err, want)
		}
	}
}

func prose(sentences ...string) string {
	type line struct {
		Text  string   `json:"text"`
		Cites []string `json:"cites"`
	}
	var v struct {
		Sentences []line `json:"sentences"`
	}
	for _, s := range sentences {
		v.Sentences = append(v.Sentences, line{s, []string{}})
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// right is a text that keeps the rules of prose.
func right(d record.DecisionRecord) []string {
	l := templateLines(d)
	return l[:min(len(l), 5)]
}

func TestRightProseIsPrinted(t *testing.T) {
	each(t, func(_ *rand.Rand, d record.DecisionRecord) {
		got, err := CheckProse(d, prose(right(d)...))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range got {
			if strings.Contains(s, "{{") {
				t.Fatalf("%q was not printed", s)
			}
		}
	})
}

// The instruments, tried by mutation: a right text with one thing planted in it.
// Which check has to see what stands here; if it no longer does, this fails.
func TestPlantedFaultsAreSeen(t *testing.T) {
	digit := regexp.MustCompile(`\d\.\d{4}`)
	plants := []struct {
		name       string
		open, refs bool // who has to see it, always
		plant      func(rng *rand.Rand, d record.DecisionRecord, printed, refs string) (string, string)
	}{
		{"nothing", false, false, func(_ *rand.Rand, _ record.DecisionRecord, p, r string) (string, string) { return p, r }},
		{"a digit changed", true, true, func(rng *rand.Rand, _ record.DecisionRecord, p, r string) (string, string) {
			at := digit.FindStringIndex(p)
			if at == nil {
				return "", ""
			}
			b := []byte(p)
			i := at[1] - 1 - rng.IntN(4)
			b[i] = '0' + (b[i]-'0'+1+byte(rng.IntN(8)))%10
			return string(b), string(b)
		}},
		{"ten times as much", true, true, func(_ *rand.Rand, _ record.DecisionRecord, p, _ string) (string, string) {
			at := digit.FindStringIndex(p)
			if at == nil {
				return "", ""
			}
			s := p[:at[0]+1] + p[at[0]+2:at[0]+3] + "." + p[at[0]+3:]
			return s, s
		}},
		{"another unit", true, true, func(_ *rand.Rand, _ record.DecisionRecord, p, _ string) (string, string) {
			s := strings.NewReplacer(" kWh", " MWh", " kg", " g").Replace(p)
			if s == p {
				return "", ""
			}
			return s, s
		}},
		{"an invented figure", true, true, func(rng *rand.Rand, _ record.DecisionRecord, p, r string) (string, string) {
			more := fmt.Sprintf(" It saves %d.%04d kg.", 20+rng.IntN(900), rng.IntN(10000))
			return p + more, r + more
		}},
		{"a ratio in words", true, true, func(_ *rand.Rand, _ record.DecisionRecord, p, r string) (string, string) {
			return p + " It costs twice that.", r + " It costs twice that."
		}},
		{"a number in words", true, true, func(_ *rand.Rand, _ record.DecisionRecord, p, r string) (string, string) {
			return p + " There are seven bids.", r + " There are seven bids."
		}},
		{"an id that is not", true, true, func(rng *rand.Rand, _ record.DecisionRecord, p, r string) (string, string) {
			more := fmt.Sprintf(" See D-%d.", 100_000+rng.IntN(9))
			return p + more, r + more
		}},
		{"a reference that is not", false, true, func(_ *rand.Rand, _ record.DecisionRecord, _, r string) (string, string) {
			return "", r + " It costs {{F999}}."
		}},
		{"another site's fact", false, true, func(_ *rand.Rand, d record.DecisionRecord, _, _ string) (string, string) {
			won := winningSite(d)
			for _, f := range d.Facts {
				if s := siteOfFact(d, f); s != "" && s != won && won != "" && f.ID[0] == 'F' {
					return "", "At " + won + " it takes {{" + f.ID + "}}."
				}
			}
			return "", ""
		}},
		{"another site's figure", true, true, func(_ *rand.Rand, d record.DecisionRecord, _, _ string) (string, string) {
			won := winningSite(d)
			for _, f := range d.Facts {
				if s := siteOfFact(d, f); s != "" && s != won && won != "" && f.Metric == "energy" {
					return "At " + won + " it takes " + f.Text + ".", "At " + won + " it takes " + f.Text + "."
				}
			}
			return "", ""
		}},
		{"less for more", true, true, func(_ *rand.Rand, d record.DecisionRecord, _, _ string) (string, string) {
			won := winningSite(d)
			for _, s := range sitesOfRecord(d) {
				a, okA := best(d, won, "total-cost")
				b, okB := best(d, s, "total-cost")
				if okA && okB && a < b {
					return s + " costs less than " + won + ".", s + " costs less than " + won + "."
				}
			}
			return "", ""
		}},
		{"an invented cause", false, true, func(_ *rand.Rand, d record.DecisionRecord, p, r string) (string, string) {
			return p + " The cooling had failed.", r + " The cooling had failed."
		}},
		{"a cause out of words that may be used", false, true, func(_ *rand.Rand, _ record.DecisionRecord, p, r string) (string, string) {
			return p + " It waits because power costs money.", r + " It waits because power costs money."
		}},
		{"another winner", false, true, func(_ *rand.Rand, d record.DecisionRecord, p, r string) (string, string) {
			for _, s := range sitesOfRecord(d) {
				if s != winningSite(d) {
					return p + " The job goes to " + s + ".", r + " The job goes to " + s + "."
				}
			}
			return "", ""
		}},
		{"a denial", false, true, func(_ *rand.Rand, _ record.DecisionRecord, p, r string) (string, string) {
			return p + " The bound does not hold.", r + " The bound does not hold."
		}},
		{"markup", false, true, func(_ *rand.Rand, _ record.DecisionRecord, p, r string) (string, string) {
			return p + " <img src=x>", r + " <img src=x>"
		}},
	}
	for _, pl := range plants {
		tried, open, refs := 0, 0, 0
		each(t, func(rng *rand.Rand, d record.DecisionRecord) {
			all := right(d)
			line := all[rng.IntN(len(all))]
			text, err := expandReferences(d, line)
			if err != nil {
				t.Fatal(err)
			}
			p, r := pl.plant(rng, d, text, line)
			if p == "" && r == "" {
				return
			}
			tried++
			if p == "" || slices.ContainsFunc(claimsOf(d, p), func(c claim) bool { return !c.OK }) {
				open++
			}
			if _, err := CheckProse(d, prose(r)); err != nil {
				refs++
			}
		})
		t.Logf("%-38s tried %4d  open check sees %4d  references check sees %4d", pl.name, tried, open, refs)
		switch {
		case pl.name == "nothing" && (open > 0 || refs > 0):
			t.Errorf("false alarms: %d and %d", open, refs)
		case tried < records/10:
			t.Errorf("%s: tried %d times only", pl.name, tried)
		case pl.open && open < tried:
			t.Errorf("%s: the open check sees %d of %d", pl.name, open, tried)
		case pl.refs && refs < tried:
			t.Errorf("%s: the references check sees %d of %d", pl.name, refs, tried)
		}
	}
}

// A rejected job does not wait: neither prepared sentences nor a model's may state
// that.
func TestARefusalIsNotToldAsAWait(t *testing.T) {
	book := history.New(history.Config{All: true})
	j := protocol.Job{Urgency: protocol.UrgencyNow, ID: "j", GPUs: 1, Share: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(3 * time.Hour)}
	submitter, coordinator := protocol.Sender{Party: protocol.Submitter}, protocol.Sender{Party: protocol.Coordinator}
	book.AddMessage(submitter.NewMessage(noon, protocol.Coordinator, protocol.Submit{Job: j}))
	book.AddMessage(coordinator.NewMessage(noon, protocol.Submitter, protocol.Reject{Job: "j", Why: protocol.Reason{Code: protocol.Cancelled}}))
	r, _ := book.LatestJob("j")
	d, _ := record.FromRound(r, history.JobRound{Decision: *r.Refusal}, 1, 0)
	if got, want := TemplateSentences(d), d.ID+": the job ends, because it was cancelled."; len(got) != 1 || got[0] != want {
		t.Errorf("%q; want %q", got, want)
	}
	for _, lie := range []string{"The job waits because {{R1}}.", "The job is called again.", "The job starts by {{F4}}."} {
		if got, err := CheckProse(d, prose(lie)); err == nil {
			t.Errorf("%q is told", got)
		}
	}
}

func TestWordedRefusesForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	d := draw(rng)
	for _, reply := range []string{
		``, `{}`, `{"sentences":[]}`, `"text"`, `{"sentences":["a"]}`, prose("") + "x", prose(""),
		prose("the", "the", "the", "the", "the", "the"), prose(strings.Repeat("the ", 70)),
		`{"sentences":[{"text":"the job","cites":["D-99999"]}]}`, `{"sentences":[{"text":"the job","cites":[],"html":"x"}]}`,
		prose("the\u200bjob"), prose("the\x1b[2J job"), prose("the {{F1} job"), prose("{{{{F1}}}}"), prose("{{F١}}"), prose("five jobs"), prose("５ jobs"),
	} {
		if got, err := CheckProse(d, reply); err == nil {
			t.Errorf("CheckProse(%.80q) = %q", reply, got)
		}
	}
}

func FuzzWorded(f *testing.F) {
	d := draw(rand.New(rand.NewPCG(3, 3)))
	f.Add(prose(right(d)...))
	f.Add(`{"sentences":[{"text":"{{F1}} {{R1}}","cites":["` + d.ID + `"]}]}`)
	f.Fuzz(func(t *testing.T, reply string) {
		out, err := CheckProse(d, reply)
		if err != nil {
			return
		}
		for _, s := range out {
			for _, c := range claimsOf(d, s) {
				if !c.OK && c.Why != "it is of another site" { // several sites may be named
					t.Errorf("%q was printed, and %+v", s, c)
				}
			}
		}
	})
}
