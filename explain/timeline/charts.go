package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// A Drawing names a chart and what it is of.
type Drawing struct {
	Chart    string         // one of ChartNames
	Decision string         // of "offers": "D-14"; of "job", to tell one of several of an id
	Job      protocol.JobID // of "job", and of "offers" instead of a decision
	Site     string         // of "gantt": its nodes
	At       protocol.Time  // as known then; 0 is the end of the record
	Question string         // of "answer"
}

// charts are all charts. Those around an instant are of instants in the record and soon after it.
var charts = []struct {
	name, shows string
	around      bool
	draw        func(*Timeline, Drawing) (chart.Chart, error)
}{
	{"offers", "what each site offered for one job in one round, by cause of cost, or why it offered nothing", false, (*Timeline).offersChart},
	{"job", "the carbon intensity where a job could run, and when it waited and ran", false, (*Timeline).jobChart},
	{"day", "GPUs held at each site over the whole record, or its last ten days", false, (*Timeline).gpusHeldChart},
	{"gantt", "the jobs of each site as bars over time, around an instant; of one site, of its nodes", true, (*Timeline).ganttChart},
	{"queue", "jobs that ran, were planned and waited, in the hours before an instant", true, (*Timeline).queueChart},
	{"carbon", "carbon intensity of each site in the hours around an instant: as it was, then forecast", true, (*Timeline).gridChart},
	{"price", "grid price of each site in the hours around an instant: as it was, then forecast", true, (*Timeline).gridChart},
	{"site-carbon", "carbon of each site until an instant, of jobs and idle draw", false, (*Timeline).siteUsageChart},
	{"site-energy", "energy of each site until an instant, of jobs and idle draw", false, (*Timeline).siteUsageChart},
	{"site-cost", "cost of energy of each site until an instant, of jobs and idle draw", false, (*Timeline).siteUsageChart},
	{"policies", "what the whole run cost under each policy that was replayed, by cause", false, (*Timeline).policiesChart},
	{"answer", "the chart of the answer to a question in plain words", false, (*Timeline).answerChart},
}

// ChartNames are the names of all charts, each with what it shows.
func ChartNames() (all [][2]string) {
	for _, c := range charts {
		all = append(all, [2]string{c.name, c.shows})
	}
	return all
}

// DrawChart returns a chart. An error says what to ask instead.
func (d *Timeline) DrawChart(w Drawing) (chart.Chart, error) {
	first, last := d.TimeSpan()
	w.At = cmp.Or(w.At, last)
	var known []string
	for _, c := range charts {
		switch {
		case c.name != w.Chart:
			known = append(known, c.name)
		case c.around && (w.At < first.Floor(time.Hour) || w.At > last.Add(mostAhead)):
			return nil, fmt.Errorf("timeline: %s is not in the record, which goes from %s to %s", w.At, first, last)
		default:
			return c.draw(d, w)
		}
	}
	return nil, fmt.Errorf("timeline: no chart is named %q; there are %s", format.CleanText(w.Chart), format.JoinWithAnd(known))
}

// offersChart returns what each site offered in a decision's round. Without a decision it is the newest
// one on the job. A refusal without a round has no chart.
func (d *Timeline) offersChart(w Drawing) (chart.Chart, error) {
	if w.Decision == "" {
		e, ok := d.LastDecision(w.Job)
		if !ok {
			return nil, fmt.Errorf("timeline: no decision on job %q is in this run", format.CleanText(string(w.Job)))
		}
		w.Decision = e.ID
	}
	n := d.decisionNumber(w.Decision)
	if _, ok := d.byID[n]; !ok {
		return nil, fmt.Errorf("timeline: no decision %s is in this run", format.CleanText(w.Decision))
	}
	if c, ok := d.ChartOfAnswer(d.AnswerQuery(ask.Query{Ask: "offers", Decision: n})); ok {
		return c, nil
	}
	return nil, fmt.Errorf("timeline: of %s no offers are in this run: it was decided without a round, or its round is not in the record", format.CleanText(w.Decision))
}

// chartWindow returns whole hours that hold the record, or its last ten days: at least one hour.
func (d *Timeline) chartWindow() (from, to protocol.Time) {
	first, last := d.TimeSpan()
	from, to = first.Floor(time.Hour), last.Ceil(time.Hour)
	if to <= from {
		to = from.Add(time.Hour)
	}
	return max(from, to.Add(-10*24*time.Hour)), to
}

// gpusHeldChart returns the GPUs held at each site by the hour, stacked by site.
func (d *Timeline) gpusHeldChart(Drawing) (chart.Chart, error) {
	from, to := d.chartWindow()
	l := chart.LineChart{Title: "GPUs held over the whole run", Unit: "by site, stacked; mean of each hour, UTC", Start: from, End: to, Decimals: 1, Stacked: true}
	held := d.history.GPUsHeldBySite(from, to, time.Hour)
	for _, name := range d.history.ReportingSiteNames() {
		l.Series = append(l.Series, chart.LineSeries{Name: format.CleanText(name), Of: thousandths(held[name])})
	}
	return l, nil
}

// thousandths returns values in units a thousand times theirs.
func thousandths[V ~int64](of []V) (all []float64) {
	for _, v := range of {
		all = append(all, float64(v)/1000)
	}
	return all
}

// forecastsByHour returns the carbon intensity of a site by the hour, in grams per kWh, or for what
// "price" the price of energy in dollars per MWh, as known at an instant: as published by then, or
// else hours before it as the forecast that began with them had them, others by the newest forecast.
// NaN is unknown.
func (d *Timeline) forecastsByHour(site, what string, at, from, to protocol.Time) []float64 {
	values := slices.Repeat([]float64{math.NaN()}, int(to.Sub(from)/time.Hour))
	for _, o := range d.history.ReportingSite(site).Forecasts {
		if o.At > at || o.From >= to || o.From.Add(mostAhead) < from {
			continue
		}
		series := thousandths(o.Carbon)
		if what == "price" {
			series = thousandths(o.Price)
		}
		for i, v := range series {
			k := int(o.From.Floor(time.Hour).Sub(from)/time.Hour) + i
			// The first hour of a forecast is the current one; an hour that is over stays as it was.
			if k >= 0 && k < len(values) && (i == 0 || from.Add(time.Duration(k)*time.Hour) > o.At || math.IsNaN(values[k])) {
				values[k] = v
			}
		}
	}
	for k := range values {
		if v, _, ok := d.history.PublishedAt(site, protocol.Quantity(what), from.Add(time.Duration(k)*time.Hour), at); ok {
			values[k] = float64(v) / 1000
		}
	}
	return values
}

// recordOf returns a job's record: of several of an id the one that the decision was
// about, or else the last.
func (d *Timeline) recordOf(w Drawing) history.JobRecord {
	if x, known := d.JobOfDecision(d.decisionNumber(w.Decision)); known && x.Job.ID == w.Job {
		return x
	}
	r, _ := d.history.LatestJob(w.Job)
	return r
}

// endOfTime is later than any instant of a record.
const endOfTime protocol.Time = 1 << 62

// jobChart returns the carbon intensity where a job could run, with bands in which it waited and
// ran. The log of a live coordinator does not show when a job starts, so a start is the planned one
// until a measured one is known.
func (d *Timeline) jobChart(w Drawing) (chart.Chart, error) {
	r := d.recordOf(w)
	if r.Job.ID == "" {
		return nil, fmt.Errorf("timeline: no job %q is in this run", format.CleanText(string(w.Job)))
	}
	ended, at := protocol.Time(0), ""
	if n := len(r.Awards); n > 0 {
		at = r.Awards[n-1].Site
		ended, _ = r.EndOf(&r.Awards[n-1])
	}
	// The chart goes from the arrival to an hour after end or deadline, but at most 48 hours past
	// the end: a deadline may be far off.
	began, ended, due := clampInstant(min(r.Job.Arrival, r.BeginTime())), clampInstant(ended), clampInstant(r.Job.Deadline)
	from, to := began.Floor(time.Hour), max(ended, due, began.Add(time.Hour)).Ceil(time.Hour).Add(time.Hour)
	to = min(to, max(ended, began).Ceil(time.Hour).Add(48*time.Hour), from.Add(mostOfJob))
	l := chart.LineChart{
		Title: "The day of " + format.CleanText(string(w.Job)), Unit: "carbon intensity in grams of CO2e per kWh where it could run; UTC",
		Start: from, End: to,
		Rules: []chart.TimeMarker{{At: began, Name: "arrived"}, {At: r.Job.Deadline, Name: "due"}},
	}
	names := d.history.ReportingSiteNames()
	for i, name := range names {
		if siteEverOffered(r, name) || name == at {
			l.Series = append(l.Series, chart.LineSeries{Name: format.CleanText(name), Of: d.forecastsByHour(name, "carbon", endOfTime, from, to), Ink: chart.SeriesInk(i)})
		}
	}
	for k := range r.Awards { // a part of a run each
		a := &r.Awards[k]
		i, start := slices.Index(names, a.Site), a.StartAsOf(endOfTime)
		if i < 0 || start == 0 || a.Released != (history.MessageRef{}) {
			continue
		}
		end, _ := r.EndOf(a)
		end = max(cmp.Or(end, d.history.Coverage().Last), start)
		l.Bands = append(l.Bands,
			chart.TimeBand{From: began, To: start, Name: "waits", Ink: chart.InkMuted},
			chart.TimeBand{From: start, To: end, Name: "runs at " + format.CleanText(a.Site), Ink: chart.SeriesInk(i)})
		began = end
	}
	return l, nil
}

// mostAhead bounds how far past the end of a record forecasts are shown.
const mostAhead = 30 * 24 * time.Hour

// mostOfJob bounds the time that a chart of one job covers.
const mostOfJob = 100 * 24 * time.Hour

// clampInstant limits an instant to a range in which sums do not overflow, as the clock of a
// sender may be arbitrarily wrong. 1<<47 ms are about 4,400 years after 1970.
func clampInstant(t protocol.Time) protocol.Time { return min(max(t, 0), 1<<47) }

// siteEverOffered reports whether a site ever offered the job an option.
func siteEverOffered(r history.JobRecord, site string) bool {
	return slices.ContainsFunc(r.FullRounds, func(h history.JobRound) bool {
		return slices.ContainsFunc(h.Answers, func(a history.Answer) bool { return a.Site == site && len(a.Options) > 0 })
	})
}

// siteUsageChart returns carbon, energy or cost of each site until an instant, of jobs that ended
// and of idle draw.
func (d *Timeline) siteUsageChart(w Drawing) (chart.Chart, error) {
	b := chart.BarChart{Title: "Carbon by site", Unit: "kg CO2e", Decimals: 1, Parts: []string{"jobs", "idle"}}
	of := func(x protocol.Usage) float64 { return x.Carbon.InKilograms() }
	switch w.Chart {
	case "site-energy":
		b.Title, b.Unit = "Energy by site", "kWh, the facility's share included"
		of = func(x protocol.Usage) float64 { return x.Energy.InKWh() }
	case "site-cost":
		b.Title, b.Unit, b.Decimals = "Cost of energy by site", "dollars", 2
		of = func(x protocol.Usage) float64 { return x.Money.InDollars() }
	}
	b.Unit += ", until " + w.At.StdTime().Format("2 Jan 15:04") + " UTC"
	jobs := maps.Clone(d.windowAt(w.At).used)
	for i, name := range d.history.ReportingSiteNames() {
		var idle protocol.Usage
		for _, m := range d.history.ReportingSite(name).Meters {
			if m.At <= w.At {
				idle, jobs[name] = idle.Plus(m.Idle), jobs[name].Plus(m.Jobs)
			}
		}
		b.Rows = append(b.Rows, chart.BarRow{Name: format.CleanText(name), Values: []float64{of(jobs[name]), of(idle)}, Ink: chart.SeriesInk(i)})
	}
	return b, nil
}

// usageUntil returns what jobs that ended until an instant took at each site.
func (d *Timeline) usageUntil(at protocol.Time) map[string]protocol.Usage {
	jobs := make(map[string]protocol.Usage)
	for r := range d.history.AllInstances() {
		for _, s := range r.RunSegments() {
			if s.Run.Done != (history.MessageRef{}) && s.Run.Done.At <= at {
				jobs[s.Run.Site] = jobs[s.Run.Site].Plus(s.Run.Cost)
			}
		}
	}
	return jobs
}

// policiesChart returns the costs of each replayed policy, a panel for each cause: on one scale
// the dearest cause would hide the others. Idle draw is in energy and carbon.
func (d *Timeline) policiesChart(Drawing) (chart.Chart, error) {
	if len(d.totals) == 0 {
		return nil, errors.New("timeline: no other policy was replayed over the jobs of this run")
	}
	c := chart.PanelChart{Title: "The whole run under each policy", Unit: "dollars, each cause on a scale of its own; a bar over three times the median is broken off"}
	for _, cause := range []struct {
		name string
		of   func(history.Totals) float64
	}{
		{"All causes", func(t history.Totals) float64 { return t.ObjectiveUSD }},
		{"Energy", func(t history.Totals) float64 { return t.CostUSD }},
		{"Carbon", func(t history.Totals) float64 { return t.CarbonUSD }},
		{"Transfer", func(t history.Totals) float64 { return t.TransferUSD }},
		{"Delay", func(t history.Totals) float64 { return t.DelayUSD }},
		{"Lateness", func(t history.Totals) float64 { return t.LateUSD }},
	} {
		b := chart.BarChart{Title: cause.name, Unit: "dollars", Decimals: 2, Broken: true}
		for _, t := range d.totals {
			b.Rows = append(b.Rows, chart.BarRow{Name: format.CleanText(t.Policy), Values: []float64{cause.of(t)}})
		}
		if slices.ContainsFunc(b.Rows, func(r chart.BarRow) bool { return r.Values[0] != 0 }) {
			c.Panels = append(c.Panels, b)
		}
	}
	return c, nil
}
