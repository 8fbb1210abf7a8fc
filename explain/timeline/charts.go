package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/chart"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Drawing names a chart and what it is of.
type Drawing struct {
	Chart    string         // one of Charts
	Decision string         // of "offers": "D-14"; of "job", to tell one of several of an id
	Job      protocol.JobID // of "job", and of "offers" instead of a decision
	At       protocol.Time  // of forecasts; 0 is the end of the record
	Question string         // of "answer"
}

// ChartNames are the names of all charts, each with what it shows.
func ChartNames() [][2]string {
	return [][2]string{
		{"offers", "what each site offered for one job in one round, by cause of cost, or why it offered nothing"},
		{"job", "the carbon intensity where a job could run, and when it waited and ran"},
		{"day", "GPUs held at each site over the whole record, or its last ten days"},
		{"carbon", "carbon intensity of each site, this hour and forecast"},
		{"price", "grid price of each site, this hour and forecast"},
		{"site-carbon", "carbon of each site over the whole record, of jobs and idle draw"},
		{"site-energy", "energy of each site over the whole record, of jobs and idle draw"},
		{"site-cost", "cost of energy of each site over the whole record, of jobs and idle draw"},
		{"policies", "what the day cost under each policy that was replayed, by cause"},
		{"answer", "the chart of the answer to a question in plain words"},
	}
}

// DrawChart returns a chart. An error says what to ask instead.
func (d *Timeline) DrawChart(w Drawing) (chart.Chart, error) {
	first, last := d.TimeSpan()
	if w.At == 0 {
		w.At = last
	}
	switch w.Chart {
	case "offers":
		return d.offersChart(w)
	case "job":
		return d.jobChart(w)
	case "day":
		return d.gpusHeldChart(), nil
	case "carbon", "price":
		if w.At < first.Floor(time.Hour) || w.At > last.Add(mostAhead) {
			return nil, fmt.Errorf("timeline: %s is not in the record, which goes from %s to %s", w.At, first, last)
		}
		return d.forecastChart(w.Chart, w.At), nil
	case "site-carbon", "site-energy", "site-cost":
		return d.siteUsageChart(w.Chart), nil
	case "policies":
		return d.policiesChart()
	case "answer":
		return d.answerChart(w.Question)
	}
	var known []string
	for _, c := range ChartNames() {
		known = append(known, c[0])
	}
	return nil, fmt.Errorf("timeline: no chart is named %q; there are %s", format.CleanText(w.Chart), format.JoinWithAnd(known))
}

// offersChart returns the chart of a decision's round; without a decision, of the newest one on
// the job. A refusal without a round has no chart.
func (d *Timeline) offersChart(w Drawing) (chart.Chart, error) {
	// A job alone stands for its newest decision.
	if w.Decision == "" {
		e, ok := d.LastDecision(w.Job)
		if !ok {
			return nil, fmt.Errorf("timeline: no decision on job %q is in this run", format.CleanText(string(w.Job)))
		}
		w.Decision = e.ID
	}
	c, ok := d.DecisionCard(w.Decision)
	switch {
	case !ok:
		return nil, fmt.Errorf("timeline: no decision %s is in this run", format.CleanText(w.Decision))
	case c.JobRound == nil && c.Round != 0:
		return nil, fmt.Errorf("timeline: the round of %s is not in this run", c.ID)
	case c.JobRound == nil:
		return nil, fmt.Errorf("timeline: %s was decided without a round, so nothing was offered", c.ID)
	}
	return OffersChart(c), nil
}

// OffersChart returns the chart of what each site offered in a decision's round:
// what was awarded, and the cheapest option of every other site.
func OffersChart(c Card) chart.BarChart {
	b := chart.BarChart{Title: "What each site offered for " + format.CleanText(string(c.Job)), Decimals: 4,
		Unit: fmt.Sprintf("dollars by cause; carbon at $%s per tonne", chart.FormatNumber(float64(c.JobRound.Weights.Carbon)/1000, 0))}
	type row struct {
		chart.BarRow
		terms protocol.CostBreakdown
	}
	var rows []row
	for _, a := range c.JobRound.Answers {
		r := row{BarRow: chart.BarRow{Name: format.CleanText(a.Site)}}
		// The awarded option for the winner, the cheapest for others, else why there is none.
		option, ok := history.PricedOption{}, false
		switch {
		case c.Kind == "award" && a.Site == c.Site:
			option, ok, r.Highlighted = c.JobRound.Decision.Option, true, true
		case a.Message == history.MessageRef{}:
			r.Note = "did not answer in time"
		case a.Late:
			r.Note = "answered too late"
		case len(a.Options) == 0:
			r.Note = narrate.ReasonWithNote(a.Why)
		default:
			option, ok = a.Options[0], true
		}
		if ok {
			r.terms, r.Note = option.Terms, "from "+option.Start.StdTime().Format("2 Jan 15:04")
			r.Values = []float64{0}
		}
		rows = append(rows, r)
	}
	// Sites with an option first, by cost. Values is filled below: until then one value marks a
	// row that has an option.
	slices.SortStableFunc(rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(len(y.Values), len(x.Values)), cmp.Compare(x.terms.Total(), y.terms.Total()))
	})
	for i := range rows {
		rows[i].Values = rows[i].Values[:0]
	}
	// Causes that cost nothing at any site are left out of the legend.
	for _, t := range narrate.CostCauses() {
		if !slices.ContainsFunc(rows, func(r row) bool { return t.Of(r.terms) != 0 }) {
			continue
		}
		b.Parts = append(b.Parts, t.Label)
		for i, r := range rows {
			if r.Values != nil {
				rows[i].Values = append(r.Values, t.Of(r.terms).InDollars())
			}
		}
	}
	for _, r := range rows {
		b.Rows = append(b.Rows, r.BarRow)
	}
	return b
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
func (d *Timeline) gpusHeldChart() chart.LineChart {
	from, to := d.chartWindow()
	l := chart.LineChart{Title: "GPUs held", Unit: "by site, stacked; mean of each hour, UTC", Start: from, End: to, Decimals: 1, Stacked: true}
	for _, name := range d.history.ReportingSiteNames() {
		l.Series = append(l.Series, chart.LineSeries{Name: format.CleanText(name), Of: d.meanGPUsHeld(name, from, to, time.Hour)})
	}
	return l
}

// forecastChart returns the newest forecast of each site at an instant, from its hour on: for
// what "price" the price of energy, else the carbon intensity. It shows at most 48 hours.
func (d *Timeline) forecastChart(what string, at protocol.Time) chart.LineChart {
	l := chart.LineChart{Title: "Carbon intensity", Unit: "grams of CO2e per kWh, this hour and forecast; UTC", Start: at.Floor(time.Hour)}
	if what == "price" {
		l.Title, l.Unit, l.Decimals = "Grid price", "dollars per MWh, this hour and forecast; UTC", 1
	}
	hours := 1
	for _, name := range d.history.ReportingSiteNames() {
		v := chart.LineSeries{Name: format.CleanText(name)}
		if o, ok := d.history.ReportingSite(name).ForecastAt(at); ok {
			n := len(o.Carbon)
			if what == "price" {
				n = len(o.Price)
			}
			// A forecast may begin in an earlier hour: skip what is over.
			for i := max(0, int(l.Start.Sub(o.From)/time.Hour)); i < n; i++ {
				v.Of = append(v.Of, valueOf(o, what, i))
			}
		}
		hours = max(hours, min(len(v.Of), 48))
		l.Series = append(l.Series, v)
	}
	l.End = l.Start.Add(time.Duration(hours) * time.Hour)
	return l
}

// valueOf returns the i-th hour of a forecast in the unit of its chart: dollars per MWh from
// microdollars per kWh, or grams per kWh from milligrams.
func valueOf(o history.Forecast, what string, i int) float64 {
	if what == "price" {
		return float64(o.Price[i]) / 1000
	}
	return float64(o.Carbon[i]) / 1000
}

// carbonIntensityByHour returns the carbon intensity of a site by the hour, in grams per kWh: the
// first value of a forecast that begins with the hour, as that is the current one, and for
// other hours the newest forecast. NaN is unknown.
func carbonIntensityByHour(s *history.SiteRecord, from, to protocol.Time) []float64 {
	values := make([]float64, int(to.Sub(from)/time.Hour))
	current := make([]bool, len(values))
	for i := range values {
		values[i] = math.NaN()
	}
	for _, o := range s.Forecasts {
		for i := range o.Carbon {
			hour := o.From.Add(time.Duration(i) * time.Hour)
			if hour < from || hour >= to {
				continue
			}
			k := int(hour.Sub(from) / time.Hour)
			if k >= len(values) || current[k] && i > 0 {
				continue
			}
			values[k], current[k] = valueOf(o, "carbon", i), i == 0
		}
	}
	return values
}

// recordOf returns a job's record: of several of an id the one that the decision was
// about, or else the last.
func (d *Timeline) recordOf(w Drawing) history.JobRecord {
	if n, ok := d.decisionNumber(w.Decision); ok {
		if x, known := d.log.JobOfDecision(n); known && x.Job.ID == w.Job {
			return x
		}
	}
	r, _ := d.history.LatestJob(w.Job)
	return r
}

// jobChart returns the carbon intensity where a job could run, with bands in which it waited and
// ran.
func (d *Timeline) jobChart(w Drawing) (chart.Chart, error) {
	id := w.Job
	r := d.recordOf(w)
	if r.Job.ID == "" {
		return nil, fmt.Errorf("timeline: no job %q is in this run", format.CleanText(string(id)))
	}
	all, last, at := staysOf(&r), stay{}, ""
	if n := len(all); n > 0 {
		last, at = all[n-1], all[n-1].award.Site
	}
	// The chart goes from the arrival to an hour after end or deadline, but at most 48 hours past
	// the end: a deadline may be far off.
	began, ended, due := clampInstant(min(r.Job.Arrival, r.BeginTime())), clampInstant(last.end), clampInstant(r.Job.Deadline)
	from, to := began.Floor(time.Hour), max(ended, due, began.Add(time.Hour)).Ceil(time.Hour).Add(time.Hour)
	to = min(to, max(ended, began).Ceil(time.Hour).Add(48*time.Hour), from.Add(mostOfJob))
	l := chart.LineChart{
		Title: "The day of " + format.CleanText(string(id)), Unit: "carbon intensity in grams of CO2e per kWh where it could run; UTC",
		Start: from, End: to,
		Rules: []chart.TimeMarker{{At: began, Name: "arrived"}, {At: r.Job.Deadline, Name: "due"}},
	}
	names := d.history.ReportingSiteNames()
	for i, name := range names {
		if siteEverOffered(r, name) || name == at {
			l.Series = append(l.Series, chart.LineSeries{Name: format.CleanText(name), Of: carbonIntensityByHour(d.history.ReportingSite(name), from, to), Ink: chart.SeriesInk(i)})
		}
	}
	for _, x := range all { // a part of a run each
		i := slices.Index(names, x.award.Site)
		if i < 0 || x.start == 0 || x.award.Released != (history.MessageRef{}) {
			continue
		}
		end := x.end
		if end == 0 {
			end = max(d.history.Coverage().Last, x.start)
		}
		l.Bands = append(l.Bands,
			chart.TimeBand{From: began, To: x.start, Name: "waits", Ink: chart.InkMuted},
			chart.TimeBand{From: x.start, To: max(end, x.start), Name: "runs at " + format.CleanText(x.award.Site), Ink: chart.SeriesInk(i)})
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
	for _, h := range r.FullRounds {
		for _, a := range h.Answers {
			if a.Site == site && len(a.Options) > 0 {
				return true
			}
		}
	}
	return false
}

// siteUsageChart returns carbon, energy or cost of each site, of jobs and of idle draw.
func (d *Timeline) siteUsageChart(what string) chart.BarChart {
	b := chart.BarChart{Title: "Carbon by site", Unit: "kg CO2e", Decimals: 1, Parts: []string{"jobs", "idle"}}
	of := func(x protocol.Usage) float64 { return x.Carbon.InKilograms() }
	switch what {
	case "site-energy":
		b.Title, b.Unit = "Energy by site", "kWh, the facility's share included"
		of = func(x protocol.Usage) float64 { return x.Energy.InKWh() }
	case "site-cost":
		b.Title, b.Unit, b.Decimals = "Cost of energy by site", "dollars", 2
		of = func(x protocol.Usage) float64 { return x.Money.InDollars() }
	}
	for _, s := range d.history.SiteRecords() {
		b.Rows = append(b.Rows, chart.BarRow{Name: format.CleanText(s.Site), Values: []float64{of(s.Jobs), of(s.Idle)}})
	}
	return b
}

// policiesChart returns the costs of each replayed policy by cause. Idle draw is in energy and
// carbon.
func (d *Timeline) policiesChart() (chart.Chart, error) {
	if len(d.totals) == 0 {
		return nil, fmt.Errorf("timeline: no other policy was replayed over the jobs of this run")
	}
	b := chart.BarChart{Title: "The day under each policy", Unit: "dollars, by cause", Parts: []string{"energy", "carbon", "transfer", "delay", "lateness"}, Decimals: 2}
	for _, t := range d.totals {
		b.Rows = append(b.Rows, chart.BarRow{Name: format.CleanText(t.Policy), Values: []float64{t.CostUSD, t.CarbonUSD, t.TransferUSD, t.DelayUSD, t.LateUSD}})
	}
	return b, nil
}
