package bench

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A played day is what was said on it, and what came of it.
type played struct {
	said   []protocol.Message
	totals history.Totals
}

// shortDay is played once for all tests.
var shortDay = sync.OnceValues(func() (p played, err error) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 60})
	if err != nil {
		return p, err
	}
	s.Weights.WaitStandard, s.Weights.WaitLimit = 1_000, 0 // so that jobs are held for hours, which questions are about
	res, err := scenarios.Replay(context.Background(), s, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{
		Record: func(m protocol.Message) error { p.said = append(p.said, m); return nil },
	})
	p.totals = res.Totals
	return p, err
})

// asked returns the short day, to be asked about.
func asked(t *testing.T, totals ...history.Totals) (*query.Dataset, *history.History) {
	t.Helper()
	day, err := shortDay()
	if err != nil {
		t.Fatal(err)
	}
	l, b := query.NewDataset(totals), history.New(history.Config{})
	for _, m := range day.said {
		l.AddMessage(m)
		b.AddMessage(m)
	}
	return l, b
}

// ground holds answers from a log of the short day to its record.
func ground(l *query.Dataset) *GroundingCheck {
	day, _ := shortDay() // it was asked for
	first, last := day.said[0].At, day.said[0].At
	for _, m := range day.said {
		first, last = min(first, m.At), max(last, m.At)
	}
	return NewGroundingCheck(l, first, last)
}

func TestTheQuestionSetIsReadRight(t *testing.T) {
	text, err := os.ReadFile("../../../shared/bench/questions.yaml")
	if err != nil {
		t.Skipf("no question set: %v", err)
	}
	all, err := ReadQuestions("set.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	l, b := asked(t)
	read := JudgeQuestions(l, b, all)
	for _, e := range read {
		if e.Verdict != "right" && (e.Canonical || e.Verdict != "declined") {
			t.Errorf("%s %q is %s: %s, read as %q", e.ID, e.Asked, e.Verdict, e.Kind, e.Read)
		}
	}
	var out bytes.Buffer
	if err := WriteJudgedAnswers(&out, read); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", out.String())
}

// The judge itself is tried: a reading that is off has to be seen.
func TestAWrongReadingIsSeen(t *testing.T) {
	l, b := asked(t)
	for _, tc := range []struct{ name, q, truth, want string }{
		{"another question", "when did $J start", "job($J).site", "wrong"},
		{"what is asked", "why not $B for $D", "why_not($D,$B)", "right"},
		{"another question of the same job", "how long did $J wait", "why($D)", "wrong"},
		{"not understood", "whither went $J", "job($J).site", "declined"},
		{"refused though there is an answer", "move $J", "job($J).site", "wrong"},
		{"answered though it must not be", "carbon of $T", "not_recorded: water", "wrong"},
		{"a site too many", "why $B for $D", "read(why, decision=$D)", "wrong"},
		{"a limit that got lost", "late jobs of $T", "read(late)", "wrong"},
		{"a time that got lost", "carbon by site", "read(bill, by=site, from=2026-03-11T12:00)", "wrong"},
		{"another split", "carbon by tenant", "read(bill, metric=carbon, by=site)", "wrong"},
		{"the whole query", "carbon by site", "read(bill, metric=carbon, by=site)", "right"},
		{"figures where there must be none", "carbon by site", "none", "wrong"},
		{"a truth of another day", "late jobs", "unheard_of()", "unjudged"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := JudgeQuestions(l, b, []BenchQuestion{{ID: "X", Q: tc.q, Truth: tc.truth}})
			if got[0].Verdict != tc.want {
				t.Errorf("%q with truth %s is %+v; want %s", tc.q, tc.truth, got[0], tc.want)
			}
		})
	}
	lost := query.Answer{Kind: "answer", Query: &ask.Query{Ask: "bill"}}
	if got := bindSlots(b).judgeReading("carbon of $T", "sum(carbon)", lost); got != "wrong" {
		t.Errorf("a tenant that got lost is %s; want wrong", got)
	}
}

func TestAQuestionSetIsChecked(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no YAML", "\t:", "correct the YAML"},
		{"nothing", "", "empty"},
		{"no questions", "questions: []", "my.yaml:1: questions"},
		{"a question without words", "questions:\n- {id: A, q: x, truth: t}\n- {id: B, truth: t}", "my.yaml:3: questions/1"},
		{"a number for a question", "questions:\n- id: A\n  q: 7\n  truth: t", "my.yaml:3: questions/0/q"},
		{"words that are no list", "questions:\n- {id: A, q: x, truth: t, alt: y}", "my.yaml:2: questions/0/alt"},
		{"a question without a truth", "questions:\n- {id: A, q: x}", "my.yaml:2: questions/0"},
	} {
		if _, err := ReadQuestions("my.yaml", []byte(tc.text)); err == nil || !strings.Contains(err.Error(), "bench: my.yaml") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q in it", tc.name, err, tc.want)
		}
	}
	if all, err := ReadQuestions("my.yaml", []byte("bindings: {$D: any}\nquestions:\n- {id: A, q: x, truth: t, kind: number, note: kept, cite: [$D]}")); err != nil || len(all) != 1 {
		t.Errorf("a set with more than we read: %v", err)
	}
}
