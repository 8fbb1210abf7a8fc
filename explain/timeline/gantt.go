package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

const (
	aroundInstant = 12 * time.Hour // that the charts of an instant show before it, and after it
	mostBars      = 800            // of a Gantt chart: with more its window is made smaller
	mostNodes     = 60             // of one site's Gantt chart
	windowLeft    = 46             // pixels left of the plots that share the window
	queueStep     = 15 * time.Minute
)

// A window is the hours that the charts of an instant share, the stays in them, and what jobs had used
// until then: each goes through all jobs.
type window struct {
	read         uint64 // messages, when it was computed
	at, from, to protocol.Time
	stays        []shownStay
	used         map[string]protocol.Usage // by site
}

// windowAt returns the hours around an instant that its charts show: fewer than usual, where too
// many jobs would be drawn.
func (d *Timeline) windowAt(at protocol.Time) *window {
	if d.shown.at == at && d.shown.read == d.read && d.read != 0 {
		return &d.shown
	}
	w := window{read: d.read, at: at, used: d.usageUntil(at)}
	for half := aroundInstant; ; half = max((half / 2).Truncate(time.Hour), time.Hour) {
		w.from, w.to = at.Floor(time.Hour).Add(-half), at.Floor(time.Hour).Add(half)
		if w.stays == nil {
			w.stays = d.staysKnownAt(at, w.from, w.to)
		}
		w.stays = slices.DeleteFunc(w.stays, func(s shownStay) bool { return s.bar.From >= w.to || s.bar.To <= w.from })
		if len(w.stays) <= mostBars || half == time.Hour {
			break
		}
	}
	d.shown = w
	return &d.shown
}

// markerAt marks the instant in the charts of its window.
func markerAt(at protocol.Time) []chart.TimeMarker {
	return []chart.TimeMarker{{At: at, Name: at.StdTime().Format("15:04")}}
}

// A shownStay is a stay as it was known at an instant.
type shownStay struct {
	site, node string
	bar        chart.GanttBar
}

// staysKnownAt returns the stays of all jobs in a window as they were known at an instant: what ran until then,
// and what was planned to run after it.
func (d *Timeline) staysKnownAt(at, from, to protocol.Time) (all []shownStay) {
	for r := range d.history.AllInstances() {
		if r.Job.TotalGPUMilli() <= 0 || r.BeginTime() > at {
			continue
		}
		for i := range r.Awards {
			a := &r.Awards[i]
			start := a.StartAsOf(at)
			if a.Message.At > at || start == 0 || start >= to {
				continue
			}
			run := r.RunOf(a)
			end, _ := r.EndOf(a)
			if a.Released.At != 0 && a.Released.At <= at {
				if run == nil || start >= a.Released.At {
					continue // it never ran
				}
				end = cmp.Or(end, a.Released.At)
			}
			s := shownStay{site: a.Site, bar: chart.GanttBar{Name: string(r.Job.ID), From: start, To: end, Sure: end, Ref: "decision " + record.DecisionID(a.Message.Seq)}}
			if end == 0 || end > at { // what is still to come is as planned
				s.bar.To, s.bar.Sure = max(start.Add(a.Option.Finish.Sub(a.Option.Start)), at.Add(time.Minute)), max(at, start)
			}
			if s.bar.To <= from {
				continue
			}
			if run != nil && start <= at {
				s.node = strings.Join(run.NodeNames(), ", ")
			}
			as := r
			if r.Job.IsElastic() {
				sized := *r
				as, sized.Job = &sized, r.Job.Under(&a.Option.BidOption)
			}
			s.bar.Units, s.bar.Tip = unitsOf(as), stayText(as, s, at)
			all = append(all, s)
		}
		if s, ok := d.plannedStay(r, at); ok && s.bar.From < to {
			all = append(all, s)
		}
	}
	return all
}

// plannedStay returns where and when a job is to run that no site was awarded, by the plan of its last hold.
func (d *Timeline) plannedStay(r *history.JobRecord, at protocol.Time) (s shownStay, ok bool) {
	x := d.history.JobStateAt(r, at)
	if x.Awarded || x.Start == 0 || x.State != history.Planned && x.State != history.Preempted {
		return s, false
	}
	start := max(x.Start, at)
	s = shownStay{site: x.Site, bar: chart.GanttBar{Name: string(r.Job.ID), From: start, To: start.Add(cmp.Or(r.Job.Run, time.Hour)), Sure: start, Units: unitsOf(r)}}
	if id := d.lastDecisionUntil(r, at); id != "" {
		s.bar.Ref = "decision " + id
	}
	s.bar.Tip = stayText(r, s, at)
	return s, true
}

// unitsOf returns the GPUs of a job in eighths: the units of Gantt charts, as jobs may share a GPU.
func unitsOf(r *history.JobRecord) int { return int((r.Job.TotalGPUMilli() + 124) / 125) }

// stayText describes a stay: "job-7, team-a: 4 GPUs at oslo, 12:04 to 13:10 UTC".
func stayText(r *history.JobRecord, s shownStay, at protocol.Time) string {
	gpus := "1 GPU"
	if n := r.Job.TotalGPUMilli(); n != 1000 {
		gpus = format.FormatThousandths(n) + " GPUs"
	}
	words := fmt.Sprintf("%s, %s: %s at %s, ", r.Job.ID, r.Job.Tenant, gpus, s.site)
	if s.node != "" {
		words += "node " + s.node + ", "
	}
	hour := func(t protocol.Time) string { return t.StdTime().Format("2 Jan 15:04") }
	switch {
	case s.bar.From > at:
		words += "planned from " + hour(s.bar.From) + " until " + hour(s.bar.To)
	case s.bar.Sure < s.bar.To:
		words += "since " + hour(s.bar.From) + ", planned until " + hour(s.bar.To)
	default:
		words += hour(s.bar.From) + " to " + hour(s.bar.To)
	}
	return words + " UTC"
}

// ganttChart returns the jobs of each site over the hours around an instant, as known then; of one
// site, those of its nodes.
func (d *Timeline) ganttChart(w Drawing) (chart.Chart, error) {
	win := d.windowAt(w.At)
	g := chart.GanttChart{
		Title: "Jobs by site", Unit: "a bar is a job, as high as its share of the site's GPUs; outlined: planned; UTC",
		Start: win.from, End: win.to, Rules: markerAt(w.At), Left: windowLeft,
	}
	names := d.history.ReportingSiteNames()
	if w.Site == "" {
		for i, name := range names {
			gpus := siteAt(d.history.ReportingSite(name), w.At).GPUs
			g.Lanes = append(g.Lanes, chart.GanttLane{Name: format.CleanText(name), Note: format.FormatThousandths(gpus) + " GPUs", Ink: chart.SeriesInk(i), Capacity: int(gpus / 125), Ref: "site " + name})
		}
		for _, s := range win.stays {
			if i := slices.Index(names, s.site); i >= 0 {
				g.Lanes[i].Bars = append(g.Lanes[i].Bars, s.bar)
			}
		}
		return g, nil
	}
	i := slices.Index(names, w.Site)
	if i < 0 {
		return nil, fmt.Errorf("timeline: no site %q is in this run: there are %s", format.CleanText(w.Site), format.JoinWithAnd(names))
	}
	g.Title, g.Unit, g.LaneHeight = "Jobs by node of "+format.CleanText(w.Site), "a bar is a job, as high as the GPUs that it holds there; outlined: planned; UTC", 26
	g.Lanes = nodeLanes(win.stays, w.Site, chart.SeriesInk(i))
	if n := len(g.Lanes); n > mostNodes {
		g.Lanes = g.Lanes[:mostNodes]
		g.Unit += fmt.Sprintf("; %d more nodes are not shown", n-mostNodes)
	}
	return g, nil
}

// nodeLanes returns a lane for each node of a site that held a job, by name. Jobs whose node is not
// known, such as those to come, have one of their own.
func nodeLanes(all []shownStay, site string, ink chart.InkColor) (lanes []chart.GanttLane) {
	for _, s := range all {
		if s.site != site {
			continue
		}
		name := cmp.Or(format.CleanText(s.node), "node not known")
		i := slices.IndexFunc(lanes, func(l chart.GanttLane) bool { return l.Name == name })
		if i < 0 {
			i, lanes = len(lanes), append(lanes, chart.GanttLane{Name: name, Ink: ink})
		}
		lanes[i].Bars = append(lanes[i].Bars, s.bar)
	}
	for i := range lanes {
		lanes[i].Note = format.CountWithNoun(len(lanes[i].Bars), "job", "jobs")
	}
	slices.SortStableFunc(lanes, func(a, b chart.GanttLane) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return lanes
}

// queueChart returns how many jobs ran, were planned and waited, in the hours before an instant
// until it.
func (d *Timeline) queueChart(w Drawing) (chart.Chart, error) {
	from, to := d.windowAt(w.At).from, d.windowAt(w.At).to
	steps := int(w.At.Sub(from)/queueStep) + 1
	part := map[history.State]int{history.Running: 0, history.Planned: 1, history.Pending: 2, history.Preempted: 2}
	jobs := [3][]float64{make([]float64, steps), make([]float64, steps), make([]float64, steps)} // by part
	first, _ := d.TimeSpan()
	for r := range d.history.AllInstances() {
		for i := max(0, int(r.BeginTime().Ceil(queueStep).Sub(from)/queueStep)); i < steps; i++ {
			state := d.history.JobStateAt(r, from.Add(time.Duration(i)*queueStep)).State
			if state.IsFinal() {
				break
			}
			if k, ok := part[state]; ok {
				jobs[k][i]++
			}
		}
	}
	l := chart.LineChart{
		Title: "Queue", Unit: "jobs that run, that a plan has a start for, and that wait without one; stacked; UTC", Start: from, End: to, Step: queueStep,
		Stacked: true, Rules: markerAt(w.At), Left: windowLeft, Height: 110,
	}
	for i, name := range []string{"running", "planned", "pending"} {
		for k := range jobs[i] {
			if from.Add(time.Duration(k+1)*queueStep) <= first {
				jobs[i][k] = math.NaN()
			}
		}
		l.Series = append(l.Series, chart.LineSeries{Name: name, Of: jobs[i], Ink: chart.PartInk(2 - i)})
	}
	return l, nil
}

// gridChart returns the carbon intensity or the price of energy of each site in the hours around an
// instant, as known then.
func (d *Timeline) gridChart(w Drawing) (chart.Chart, error) {
	from, to := d.windowAt(w.At).from, d.windowAt(w.At).to
	l := chart.LineChart{
		Title: "Carbon intensity", Unit: "grams of CO2e per kWh, then forecast; UTC", Start: from, End: to,
		Rules: markerAt(w.At), Left: windowLeft, Height: 130,
	}
	if w.Chart == "price" {
		l.Title, l.Unit, l.Decimals = "Grid price", "dollars per MWh, then forecast; UTC", 1
	}
	for _, name := range d.history.ReportingSiteNames() {
		l.Series = append(l.Series, chart.LineSeries{Name: format.CleanText(name), Of: d.forecastsByHour(name, w.Chart, w.At, from, to)})
	}
	return l, nil
}
