package timeline_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/protocol"
)

// heldAgain has the coordinator hold each held job so many times, a minute apart, each in a round of its own.
func heldAgain(day []protocol.Message, times int) (all []protocol.Message) {
	type said struct {
		at   protocol.Time
		to   protocol.Party
		body protocol.Body
	}
	var spoken []said
	jobs := make(map[protocol.JobID]protocol.Job)
	for _, m := range day {
		switch b := m.Body.(type) {
		case protocol.Submit:
			jobs[b.Job.ID] = b.Job
		case protocol.Defer:
			for i := range times - 1 {
				at := m.At.Add(time.Duration(i+1) * time.Minute)
				b.Round += 1000
				spoken = append(spoken, said{at, "", protocol.CallForBids{Round: b.Round, Closes: at, Jobs: []protocol.Job{jobs[b.Job]}}}, said{at, m.To, b})
			}
		}
		if m.From != protocol.Coordinator {
			all = append(all, m)
			continue
		}
		spoken = append(spoken, said{m.At, m.To, m.Body})
	}
	slices.SortStableFunc(spoken, func(a, b said) int { return int(a.at - b.at) })
	coordinator := &protocol.Sender{Party: protocol.Coordinator}
	for _, x := range spoken {
		all = append(all, coordinator.NewMessage(x.at, x.to, x.body))
	}
	slices.SortStableFunc(all, func(a, b protocol.Message) int { return int(a.At - b.At) })
	return all
}

// Of holds of one job that come one after another the list has the last, which counts them; what
// is read in parts is what is read at once.
func TestHoldsOfOneJobAreFolded(t *testing.T) {
	d := read(heldAgain(historytest.GenerateDay(20, 10*time.Minute), 7))
	_, last := d.TimeSpan()
	holds := 0
	all := d.DecisionsUntil(last, 0, 1000)
	for _, e := range all {
		if e.Kind == "hold" {
			holds++
			if e.Held != 7 || e.At.Sub(e.Since) != 6*time.Minute {
				t.Errorf("%s is held %d times over %v; want 7 times over 6 min", e.Job, e.Held, e.At.Sub(e.Since))
			}
		}
	}
	if holds != 5 || len(all) != 25 {
		t.Errorf("%d holds among %d decisions; want 5 among 25", holds, len(all))
	}
	var parts []timeline.Entry
	for before := uint64(0); ; before = parts[len(parts)-1].N {
		some := d.DecisionsUntil(last, before, 4)
		if parts = append(parts, some...); len(some) == 0 {
			break
		}
	}
	if len(parts) != len(all) {
		t.Errorf("%d decisions in parts; want %d", len(parts), len(all))
	}
	// Between two holds the newest until then stands for those before it.
	e := all[slices.IndexFunc(all, func(e timeline.Entry) bool { return e.Kind == "hold" })]
	if then := d.DecisionsUntil(e.Since.Add(3*time.Minute), 0, 1); then[0].Job != e.Job || then[0].Held != 4 {
		t.Errorf("three minutes after the first hold: %+v", then[0])
	}
}

// The list of jobs at an instant agrees with the figures beside it, whatever the filter.
func TestJobsAreListedAsTheyStood(t *testing.T) {
	d := read(historytest.GenerateDay(60, 6*time.Minute))
	first, last := d.TimeSpan()
	for at := first; at <= last; at = at.Add(17 * time.Minute) {
		now, all := d.InstantAt(at), d.JobsAt(at, timeline.JobFilter{}, 0, 1000)
		if all.All != all.Matches || all.Matches != len(all.Jobs) {
			t.Fatalf("at %s %d jobs match, %d are listed, of %d", at, all.Matches, len(all.Jobs), all.All)
		}
		for state, n := range map[history.State]int{history.Pending: now.Pending, history.Planned: now.Planned, history.Running: now.Running, history.Done: now.Done} {
			if got := d.JobsAt(at, timeline.JobFilter{State: string(state)}, 0, 1000); got.Matches != n || all.States[state] != n {
				t.Fatalf("at %s %d jobs are listed as %s; want %d", at, got.Matches, state, n)
			}
		}
		for _, s := range now.Sites {
			running := d.JobsAt(at, timeline.JobFilter{State: "running", Site: s.Name}, 0, 1000)
			if running.Matches != s.Running {
				t.Fatalf("at %s %d jobs run at %s by the list; want %d", at, running.Matches, s.Name, s.Running)
			}
		}
		for _, x := range all.Jobs {
			if x.Start > at && x.State == history.Running || x.End > at || x.Decision == "" && x.State != history.Pending {
				t.Fatalf("at %s: %+v", at, x)
			}
			if x.State == history.Planned && (x.Place < 1 || x.Place > x.Of) {
				t.Fatalf("at %s %s is planned, and in place %d of %d", at, x.Job.ID, x.Place, x.Of)
			}
		}
	}
	if l := d.JobsAt(last, timeline.JobFilter{Find: "00017"}, 0, 10); len(l.Jobs) != 1 || l.Jobs[0].Job.ID != "job-00017" || l.Jobs[0].Decision == "" {
		t.Errorf("a search for 00017 finds %+v", l.Jobs)
	}
	if l := d.JobsAt(last, timeline.JobFilter{Tenant: "team-b"}, 3, 4); l.Matches != 12 || len(l.Jobs) != 4 {
		t.Errorf("of team-b %d jobs match and %d are listed; want 12 and 4", l.Matches, len(l.Jobs))
	}
	if l := d.JobsAt(first-1, timeline.JobFilter{}, 0, 10); l.All != 0 {
		t.Errorf("before the run there are %d jobs", l.All)
	}
}

// A recording opens where most of it happens.
func TestTheBusiestHourHasMostGPUs(t *testing.T) {
	d := read(historytest.GenerateDay(60, 6*time.Minute))
	first, last := d.TimeSpan()
	held := func(at protocol.Time) (sum protocol.Milli) {
		for _, s := range d.InstantAt(at).Sites {
			sum += s.Held
		}
		return sum
	}
	at := d.BusiestHour()
	if at <= first || at >= last || held(at) == 0 {
		t.Errorf("the busiest hour is %s, with %d held", at, held(at))
	}
	if at != d.BusiestHour() {
		t.Error("the busiest hour differs from itself")
	}
	if at := timeline.New(nil).BusiestHour(); at != 0 {
		t.Errorf("an empty run is busiest at %s", at)
	}
}

// What the charts of sites show until an instant adds up to the figures of that instant.
func TestSiteChartsEndAtTheInstant(t *testing.T) {
	d := read(historytest.GenerateDay(60, 6*time.Minute))
	first, last := d.TimeSpan()
	for at := first; at <= last; at = at.Add(31 * time.Minute) {
		now := d.InstantAt(at)
		for name, want := range map[string]float64{"site-carbon": now.Carbon.InKilograms(), "site-energy": now.Energy.InKWh(), "site-cost": now.Money.InDollars()} {
			c, err := d.DrawChart(timeline.Drawing{Chart: name, At: at})
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for i, r := range c.(chart.BarChart).Rows {
				sum += r.Values[0] + r.Values[1]
				if r.Ink != chart.SeriesInk(i) {
					t.Errorf("%s has not the colour of its site", r.Name)
				}
			}
			if math.Abs(sum-want) > 1e-6 {
				t.Errorf("%s at %s adds up to %v; want %v", name, at, sum, want)
			}
		}
	}
}

// The Gantt chart at an instant shows as certain what was held, and nothing that came later.
func TestTheGanttChartIsAsKnownThen(t *testing.T) {
	d := read(historytest.GenerateDay(60, 6*time.Minute))
	first, last := d.TimeSpan()
	for at := first.Add(time.Minute); at <= last; at = at.Add(23 * time.Minute) {
		c, err := d.DrawChart(timeline.Drawing{Chart: "gantt", At: at})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range d.InstantAt(at).Sites {
			running, units := 0, 0
			for _, b := range c.(chart.GanttChart).Lanes[i].Bars {
				if b.Sure > max(at, b.From) || b.Sure > b.To {
					t.Fatalf("at %s %s is certain until %s", at, b.Name, b.Sure)
				}
				if b.From <= at && b.To > at && b.Sure == at {
					running, units = running+1, units+b.Units
				}
			}
			if running < s.Running || units < int(s.Held/125) {
				t.Fatalf("at %s %s has %d bars with %d eighths; want %d jobs with %d", at, s.Name, running, units, s.Running, s.Held/125)
			}
		}
		q, _ := d.DrawChart(timeline.Drawing{Chart: "queue", At: at})
		for _, s := range q.(chart.LineChart).Series {
			if end := q.(chart.LineChart).Start.Add(time.Duration(len(s.Of)-1) * 15 * time.Minute); end > at {
				t.Fatalf("the queue at %s reaches to %s", at, end)
			}
		}
	}
	nodes, err := d.DrawChart(timeline.Drawing{Chart: "gantt", At: d.BusiestHour(), Site: "lyon"})
	if err != nil || len(nodes.(chart.GanttChart).Lanes) == 0 {
		t.Fatalf("the nodes of lyon: %+v, %v", nodes, err)
	}
	if _, err := d.DrawChart(timeline.Drawing{Chart: "gantt", Site: "atlantis"}); err == nil {
		t.Error("the nodes of a site that is not there are drawn")
	}
}
