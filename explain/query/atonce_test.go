package query

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// The most jobs that ran or waited at one time in an hour are those that a count at every minute of it finds.
func TestTheMostAtOneTimeAreThoseOfACountAtEachMinute(t *testing.T) {
	l := day().buildDataset()
	for state, holds := range map[string]func(history.JobRecord, protocol.Time) bool{
		"running": func(r history.JobRecord, at protocol.Time) bool {
			return slices.ContainsFunc(r.RunSegments(), func(x history.RunSegment) bool {
				return x.Run.Started != 0 && x.Run.Started <= at && (!x.Over || at < x.Run.Ended)
			})
		},
		"pending": func(r history.JobRecord, at protocol.Time) bool {
			first, started := firstSegment(r)
			return r.Job.Arrival <= at && (!started || at < first.Run.Started) && (r.Refusal == nil || at < r.Refusal.Message.At)
		},
	} {
		a := l.AnswerQuery(ask.Query{Ask: "measure", State: state, By: "hour"})
		best := 0
		for hour := l.firstTime().Floor(time.Hour); hour < l.lastTime(); hour = hour.Add(time.Hour) {
			most := 0
			for at := max(hour, l.firstTime()); at < min(hour.Add(time.Hour), l.lastTime()); at = at.Add(time.Second) {
				most = max(most, len(l.jobsWhere(func(r history.JobRecord) bool { return holds(r, at) })))
			}
			if got := figureOfAnswer(t, a, "hour/"+hour.String(), a.Table.Head[1][:strings.Index(a.Table.Head[1], ",")]); got != int64(most) {
				t.Errorf("%s in the hour of %s: %d at one time; want %d", state, hour, got, most)
			}
			best = max(best, most)
		}
		if best == 0 {
			t.Errorf("no job was %s, so nothing was tested", state)
		}
	}
}

// The GPU time of models, and that of hours, is that of the sites.
func TestUtilizationIsTheSameHoweverItIsSplit(t *testing.T) {
	l := day().buildDataset()
	sum := func(q ask.Query, name string) (sum int64) {
		q.Ask = "utilization"
		a := l.AnswerQuery(q)
		for _, f := range a.Figures {
			if f.Name == name && f.Subject != "run" {
				sum += f.Value
			}
		}
		return sum
	}
	for _, name := range []string{"held", "there"} {
		sites := sum(ask.Query{}, name)
		if sites == 0 || sum(ask.Query{By: "model"}, name) != sites || sum(ask.Query{By: "hour"}, name) != sites || sum(ask.Query{Model: "V100"}, name) != sites {
			t.Errorf("%s: %d at the sites, %d by model, %d by hour, %d of the only model", name, sites, sum(ask.Query{By: "model"}, name), sum(ask.Query{By: "hour"}, name), sum(ask.Query{Model: "V100"}, name))
		}
	}
}

// Decisions by site and by tenant add up to all of a kind, and the last few are the newest.
func TestDecisionsAreCountedAndTheLastAreTheNewest(t *testing.T) {
	l := day().buildDataset()
	all, kinds := l.decisionsIn(ask.Query{})
	for event, want := range map[string]int{"awards": kinds["award"], "holds": kinds["hold"], "refusals": kinds["refuse"], "decisions": len(all)} {
		if got := figureOfAnswer(t, l.AnswerQuery(ask.Query{Ask: "measure", Event: event, By: "tenant"}), "run", event); got != int64(want) || want == 0 {
			t.Errorf("%d %s by tenant; want %d", got, event, want)
		}
	}
	last := l.AnswerQuery(ask.Query{Ask: "measure", Event: "decisions", Pick: "most", Number: 2})
	if want := []string{decisionLabel(all[len(all)-2].Number), decisionLabel(all[len(all)-1].Number)}; !slices.Equal(last.Cites, want) {
		t.Errorf("the last two decisions are %v; want %v", last.Cites, want)
	}
	if a := l.AnswerQuery(ask.Query{Ask: "measure", Event: "awards", Site: "oslo"}); figureOfAnswer(t, a, "site/oslo", "awards") != 1 {
		t.Errorf("awards at oslo: %q; want one", a.Text)
	}
}

// Two jobs that are compared have what each has alone, and held and never held are all jobs.
func TestTwoJobsHaveWhatEachHasAlone(t *testing.T) {
	l := day().buildDataset()
	a := l.AnswerQuestion("was train-1 cheaper than train-2")
	for id, alone := range map[string]string{"train-1": "what did train-1 cost", "train-2": "what did train-2 cost"} {
		if got, want := figureOfAnswer(t, a, "job/"+id, "cost"), figureOfAnswer(t, l.AnswerQuestion(alone), "job/"+id, "cost"); got != want {
			t.Errorf("%s costs %d beside the other, and %d alone", id, got, want)
		}
	}
	held := len(l.measuredJobs(ask.Query{Where: []string{"held"}}))
	never := len(l.measuredJobs(ask.Query{Where: []string{"never-held"}}))
	if held != 1 || held+never != len(l.allInstances()) {
		t.Errorf("%d jobs were held and %d never, of %d; want 1 held", held, never, len(l.allInstances()))
	}
}

// What was is told from the record, and what will be from forecasts.
func TestTheCheapestHourThatWasIsNotThatOfAForecast(t *testing.T) {
	l := day().buildDataset()
	if a := l.AnswerQuestion("when was power cheapest at oslo"); a.Query.Ask != "price-hours" {
		t.Errorf("what was is read as %s", a.Read)
	}
	if a := l.AnswerQuestion("when will power be cheapest at oslo"); a.Query.Ask != "best-price" {
		t.Errorf("what will be is read as %s", a.Read)
	}
}

// A site's state is told in a sentence, its refusals are ranked, and a name that is not known has each
// neighbour once.
func TestASiteHasAStateAndANameHasEachNeighbourOnce(t *testing.T) {
	l := day().buildDataset()
	if a := l.AnswerQuestion("is oslo healthy"); !strings.HasPrefix(a.Text[0], "The state of oslo is ok since") {
		t.Errorf("the state of oslo: %q", a.Text)
	}
	a := l.AnswerQuestion("which site turned down the most jobs")
	counts := make([]int64, len(a.Table.Rows))
	for i, cells := range a.Table.Rows {
		counts[i] = figureOfAnswer(t, a, "site/"+cells[0], "jobs without an offer")
	}
	if len(counts) == 0 || !slices.IsSortedFunc(counts, func(x, y int64) int { return int(y - x) }) {
		t.Errorf("refusals by site: %v; want the most first", a.Table.Rows)
	}
	s := &runBuilder{now: noon}
	s.addRegistration("north-isles", "south")
	for _, line := range s.buildDataset().AnswerQuestion("carbon of site nroth-islse").Text {
		if strings.Count(line, `"north-isles"`) > 1 {
			t.Errorf("a neighbour is named twice: %q", line)
		}
	}
}

// A job that runs has the end and the cost of its bid.
func TestAJobThatRunsHasTheEndAndTheCostOfItsBid(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo")
	j := task("train-1", "vision")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(1, j)
	s.addOffer("oslo", 1, "train-1", "", option(0, 2, 50))
	s.addAward("oslo", 1, j, option(0, 2, 50), "o1", nil, 0)
	l := s.buildDataset()
	if got := figureOfAnswer(t, l.AnswerQuestion("when will train-1 be done"), "job/train-1", "ends-by-bid"); got != int64(after(time.Hour)) {
		t.Errorf("it ends at %s; want an hour after noon", protocol.Time(got))
	}
	if got := figureOfAnswer(t, l.AnswerQuestion("what will train-1 cost"), "job/train-1", "cost-bid"); got != 20_000 {
		t.Errorf("it costs %d microdollars; want 2 cents", got)
	}
}
