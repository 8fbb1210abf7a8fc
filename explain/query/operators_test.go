package query

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
)

// Operators are held to the figures without them: what is left out and what remains are the whole,
// groups of two splits add up to those of one, two that are compared have what each has alone.
func TestOperatorsAgreeWithTheFiguresWithoutThem(t *testing.T) {
	l := day().buildDataset()
	figure := func(q ask.Query, subject, name string) int64 {
		t.Helper()
		a := l.AnswerQuery(q)
		if a.Kind != "answer" {
			t.Fatalf("%+v: %s %q", q, a.Kind, a.Text)
		}
		return figureOfAnswer(t, a, subject, name)
	}
	oslo := figure(ask.Query{Ask: "bill", Metric: "carbon", Site: "oslo"}, "site/oslo", "carbon")
	lyon := figure(ask.Query{Ask: "bill", Metric: "carbon", Site: "lyon"}, "site/lyon", "carbon")
	all := figure(ask.Query{Ask: "bill", Metric: "carbon"}, "run", "carbon")
	if but := figure(ask.Query{Ask: "bill", Metric: "carbon", ExceptSites: []string{"oslo"}}, "run", "carbon"); but != all-oslo || oslo == 0 {
		t.Errorf("all but oslo is %d; want %d less %d", but, all, oslo)
	}
	against := l.AnswerQuery(ask.Query{Ask: "bill", Metric: "carbon", Site: "oslo", Against: "lyon"})
	if x, y, by := figureOfAnswer(t, against, "site/oslo", "carbon"), figureOfAnswer(t, against, "site/lyon", "carbon"), figureOfAnswer(t, against, "run", "difference"); x != oslo || y != lyon || by != max(x-y, y-x) {
		t.Errorf("oslo %d against lyon %d is %d apart; want %d and %d", x, y, by, oslo, lyon)
	}
	two, sum := l.AnswerQuery(ask.Query{Ask: "bill", Metric: "carbon", By: "site", Then: "hour"}), int64(0)
	for _, f := range two.Figures {
		if strings.HasPrefix(f.Subject, "site/") && f.Name == "carbon" {
			sum += f.Value
		}
	}
	if sum != all {
		t.Errorf("by site and hour it is %d in all; want %d", sum, all)
	}
	share := l.AnswerQuery(ask.Query{Ask: "bill", Metric: "carbon", Site: "oslo", Pick: "share"})
	if got, want := figureOfAnswer(t, share, "site/oslo", "share"), (oslo*1000+all/2)/all; got != want {
		t.Errorf("oslo has a share of %d; want %d", got, want)
	}
	jobs := figure(ask.Query{Ask: "bill", Metric: "carbon", Site: "oslo"}, "site/oslo", "jobs")
	mine := figure(ask.Query{Ask: "bill", Metric: "carbon", Site: "oslo"}, "run", "jobs-carbon")
	if per := figure(ask.Query{Ask: "bill", Metric: "carbon", Site: "oslo", Per: "job"}, "site/oslo", "carbon-per-job"); per != mine/jobs {
		t.Errorf("carbon per job is %d; want %d by %d", per, mine, jobs)
	}
}

// A bound is of what the question bounds: jobs by their own quantity, sites by what is listed.
func TestABoundCountsWhatIsOnItsSide(t *testing.T) {
	l := day().buildDataset()
	for _, tc := range []struct {
		text, says string
		rows       int
	}{
		{"jobs that waited more than 2 h", "1 job with a wait of more than 2 h", 1}, // train-2 waited 3 h, train-1 one
		{"jobs that waited at least 1 h", "2 jobs with a wait of at least 1 h", 2},
		{"jobs that waited less than 30 minutes", "0 jobs", 0},
		{"jobs with more than 2 gpus", "0 jobs with more than 2 GPUs", 0},
		{"late jobs by more than an hour", "missed their deadline with a lateness of more than 1 h", 1},
		{"sites above 50 g", "2 of 3 sites with more than 50.0 g/kWh", 2},
		{"jobs in state running", "0 jobs running", 0},
		{"which jobs were refused", "1 job refused", 1},
		{"how many jobs are done", "2 jobs done", 2},
		{"which jobs are planned", "1 job planned", 1},
		{"late jobs by tenant", "In all: 1", 1},
		{"is oslo greener than lyon", "lyon has", 2},
		{"free V100s except oslo", "16 of 16 GPUs", 2},
		{"what is a round", "Round: one call for bids", 0},
		{"which jobs wait", "1 pending and 1 planned", 2},
	} {
		a := l.AnswerQuestion(tc.text)
		rows := 0
		if a.Table != nil {
			rows = len(a.Table.Rows)
		}
		if text := strings.Join(a.Text, " "); a.Kind != "answer" || !strings.Contains(text, tc.says) || rows != tc.rows {
			t.Errorf("%q: %s %q (read %q) with %d rows; want %q and %d", tc.text, a.Kind, text, a.Read, rows, tc.says, tc.rows)
		}
		if _, loose, _ := a.CheckGrounding(); len(loose) > 0 {
			t.Errorf("%q: %q", tc.text, loose)
		}
	}
}

// Why one policy is better is told by the terms of the objective, and a false premise is corrected.
func TestWhyAPolicyIsBetterIsToldByItsTerms(t *testing.T) {
	totals := []history.Totals{
		{Policy: "auction", ObjectiveUSD: 22.47, CostUSD: 12.4, DelayUSD: 4.2, WaitS: history.Spread{Mean: 13_860}},
		{Policy: "greenest-now", ObjectiveUSD: 30.88, CostUSD: 12.3, DelayUSD: 12.8, WaitS: history.Spread{Mean: 600}},
	}
	l := NewDataset(totals)
	for _, m := range day().messages {
		l.AddMessage(m)
	}
	for text, says := range map[string]string{
		"why is auction better than greenest-now":   "auction is better by the objective: $8.4100 less than greenest-now",
		"why is greenest-now better than auction":   "It is not",
		"how long did jobs wait under greenest-now": "Under greenest-now jobs waited 10 min on average",
		"how many jobs would be late under auction": "Under auction 0 jobs were late",
	} {
		a := l.AnswerQuestion(text)
		if a.Kind != "answer" || !strings.Contains(strings.Join(a.Text, " "), says) {
			t.Errorf("%q: %s %q (read %q); want %q", text, a.Kind, a.Text, a.Read, says)
		}
	}
	a := l.AnswerQuestion("why is auction better than greenest-now")
	if text := strings.Join(a.Text, " "); !strings.Contains(text, "$8.6000 less for waiting") || !strings.Contains(text, "$0.1000 more for energy") {
		t.Errorf("%q names not the terms", text)
	}
}

// An order is no question: the answer names the command, and nothing is done.
func TestAnOrderNamesItsCommand(t *testing.T) {
	l := day().buildDataset()
	for text, command := range map[string]string{
		"cancel train-1": "gridbid cancel train-1", "please kill job train-1": "gridbid cancel train-1", "drain oslo": "gridbid drain oslo", "submit a job": "gridbid submit",
	} {
		if a := l.AnswerQuestion(text); a.Kind != "refused" || !strings.Contains(strings.Join(a.Text, " "), command) {
			t.Errorf("%q: %s %q; want a refusal that names %q", text, a.Kind, a.Text, command)
		}
	}
}

// A question that goes on keeps the place and the time of the answer before.
func TestAFollowUpKeepsPlaceAndTime(t *testing.T) {
	for _, talk := range [][][2]string{
		{{"where did train-1 run", "where did job train-1 run"}, {"why there?", "why job train-1 at site oslo"}},
		{{"carbon intensity at oslo at 13:00", "carbon intensity at site oslo at 2022-04-13T13:00:00Z"}, {"and the price?", "electricity price at site oslo at 2022-04-13T13:00:00Z"}},
		{{"greenest site at 13:00", "greenest site at 2022-04-13T13:00:00Z"}, {"how many gpus were free there?", "free gpus at site oslo at 2022-04-13T13:00:00Z"}, {"and an hour later?", "free gpus at site oslo at 2022-04-13T14:00:00Z"}},
		{{"what is a round", "define \"round\""}, {"and a lot?", "define lot"}},
		{{"jobs that waited more than 1 h", "how many jobs ran with wait more than 1 h"}, {"and more than 2 hours?", "how many jobs ran with wait more than 2 h"}, {"by site", "how many jobs ran by site with wait more than 2 h"}},
		{{"carbon of vision", "carbon used of tenant vision"}, {"what share is that?", "carbon used share of tenant vision"}},
	} {
		talks(t, talk)
	}
}

// What a bound is of has a unit of its own; a query with another is refused, and not misread.
func TestABoundOfAnotherUnitIsRefused(t *testing.T) {
	for _, q := range []ask.Query{
		{Ask: "jobs", Bounded: "wait", Bound: "more", Amount: "5 kWh"}, {Ask: "jobs", Bound: "more", Amount: "2 h"}, {Ask: "bill", Metric: "carbon", Bound: "more", Amount: "2 h"},
		{Ask: "jobs", Bounded: "wait", Amount: "2 h"}, {Ask: "bill", By: "site", Then: "site"}, {Ask: "bill", Site: "oslo", Against: "oslo"}, {Ask: "intensity", Bounded: "wait", Bound: "more", Amount: "2 h"},
	} {
		if a := day().buildDataset().AnswerQuery(q); a.Kind == "answer" {
			t.Errorf("%+v is answered: %q", q, a.Text)
		}
	}
}
