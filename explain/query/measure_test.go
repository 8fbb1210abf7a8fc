package query

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
)

// A measure is held to the older questions that ask a part of it, and its groups to the whole.
func TestMeasuresAgreeWithWhatTheyAreMadeOf(t *testing.T) {
	l := day().buildDataset()
	figure := func(q ask.Query, subject, name string) int64 {
		t.Helper()
		a := l.AnswerQuery(q)
		if a.Kind != "answer" {
			t.Fatalf("%+v: %s %q", q, a.Kind, a.Text)
		}
		return figureOfAnswer(t, a, subject, name)
	}
	if jobs, old := figure(ask.Query{Ask: "measure", Metric: "wait", Statistic: "mean"}, "run", "mean-wait"), figure(ask.Query{Ask: "waits"}, "run", "mean-wait"); jobs != old || jobs == 0 {
		t.Errorf("jobs waited %d on average; waits has %d", jobs, old)
	}
	all := figure(ask.Query{Ask: "measure", Metric: "energy", Statistic: "total"}, "run", "total-energy")
	if old := figure(ask.Query{Ask: "bill", Metric: "energy"}, "run", "jobs-energy"); all != old || all == 0 {
		t.Errorf("jobs took %d; the bill has %d", all, old)
	}
	for _, by := range []string{"site", "tenant", "model", "urgency", "home"} {
		a, sum := l.AnswerQuery(ask.Query{Ask: "measure", Metric: "energy", Statistic: "total", By: by}), int64(0)
		for _, f := range a.Figures {
			if f.Name == "total-energy" && f.Subject != "run" {
				sum += f.Value
			}
		}
		if sum != all {
			t.Errorf("by %s it is %d; want %d", by, sum, all)
		}
	}
	ended := figure(ask.Query{Ask: "measure", Event: "ended"}, "run", "jobs")
	late, onTime := figure(ask.Query{Ask: "measure", Where: []string{"late"}}, "run", "late"), figure(ask.Query{Ask: "measure", Where: []string{"on-time"}}, "run", "jobs")
	if late+onTime != ended || late == 0 {
		t.Errorf("%d late and %d on time; want %d", late, onTime, ended)
	}
	if share := figure(ask.Query{Ask: "measure", Where: []string{"late"}, Event: "ended", Pick: "share"}, "run", "share"); share != (late*1000+ended/2)/ended {
		t.Errorf("%d of 1000 were late; want %d of %d", share, late, ended)
	}
	talks(t, [][2]string{{"how many jobs waited more than 1 h", "how many jobs ran with wait more than 1 h"},
		{"same for 30 minutes", "how many jobs ran with wait more than 30 min"}, {"which of them were late", "late jobs with wait more than 30 min"}, {"and of vision", "late jobs with wait more than 30 min of tenant vision"}})
}

// The time of a query is that of its event: what ended in an hour may have arrived long before.
func TestAWindowIsThatOfTheEvent(t *testing.T) {
	l := day().buildDataset()
	whole := l.allInstances()
	from, to := l.firstTime(), l.lastTime().Add(-time.Hour)
	for _, event := range []string{"arrived", "started", "ended"} {
		n, hours := 0, int64(0)
		for _, r := range whole {
			at, ok := r.Job.Arrival, true
			if first, started := firstSegment(r); event == "started" {
				if ok = started; ok {
					at = first.Run.Started
				}
			} else if event == "ended" {
				at, ok = lastEnd(r), r.HasEnded()
			}
			if ok && at >= from && at < to {
				n++
			}
		}
		a := l.AnswerQuery(ask.Query{Ask: "measure", Event: event, From: from, To: to})
		if hours = figureOfAnswer(t, a, "run", "jobs"); hours != int64(n) || n == 0 {
			t.Errorf("%d %s; want %d", hours, event, n)
		}
	}
}

// The least, the most and the mean of the hours of a grid are those of its hours one by one.
func TestTheHoursOfAGridAreWhatEachWas(t *testing.T) {
	l := day().buildDataset()
	a := l.AnswerQuery(ask.Query{Ask: "intensity-hours", Site: "oslo"})
	var values []int64
	for at := l.firstTime(); at < l.lastTime(); at = at.Add(time.Hour) {
		if b := l.AnswerQuery(ask.Query{Ask: "intensity", Site: "oslo", At: at}); len(b.Figures) > 0 {
			if i := slices.IndexFunc(b.Figures, func(f Figure) bool { return f.Name == "carbon-intensity" }); i >= 0 {
				values = append(values, b.Figures[i].Value)
			}
		}
	}
	n := figureOfAnswer(t, a, "site/oslo", "hours")
	if int64(len(values)) != n || n == 0 {
		t.Fatalf("%d hours; asked one by one %d", n, len(values))
	}
	sum := int64(0)
	for _, v := range values {
		sum += v
	}
	if mean := figureOfAnswer(t, a, "site/oslo", "mean-carbon-intensity"); mean != (2*sum+n)/(2*n) {
		t.Errorf("the mean is %d; want %d of %v", mean, (2*sum+n)/(2*n), values)
	}
}

// A list of the first jobs cites the decisions on those alone.
func TestTheFirstJobsAreCited(t *testing.T) {
	l := day().buildDataset()
	if a := l.AnswerQuestion("top 1 jobs by carbon"); len(a.Cites) != 1 || len(a.Table.Rows) != 1 || a.Cites[0] != a.Table.Rows[0][8] {
		t.Errorf("the first job: %v cites %v; want its decision alone", a.Table.Rows, a.Cites)
	}
}
