package spec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/generate"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// signalQuantities of a site's signals, in the order in which they are read.
var signalQuantities = []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE, trace.MarginalColumn}

// defaultPUE is used if a site has neither a series nor a constant: about the mean that
// operators report for large sites that are not new.
const defaultPUE = 1.2

// gridLoader loads the signals of the sites.
type gridLoader struct {
	s     scenarioSpec
	zones []trace.ZoneSignals
}

// readWindow reads the window, if there is one. Without sites in the spec, each zone of the
// window becomes a site.
func (g *gridLoader) readWindow() error {
	if g.s.Window == nil {
		return nil
	}
	r, err := openFile(g.s.Window.File)
	if err != nil {
		return err
	}
	if g.zones, err = trace.ReadWindow(r, g.s.Window.File, g.s.Window.Fill); err != nil {
		return err
	}
	if len(g.s.Sites) > 0 {
		return nil
	}
	seen := make(map[string]string)
	for _, z := range g.zones {
		name := identifierSlug(z.Name)
		if other, dup := seen[name]; dup || name == "" {
			return fmt.Errorf("spec: %s: zone %q has no unique site name (%q, as zone %q): rename it", g.s.Window.File, z.Name, name, other)
		}
		seen[name] = z.Name
		g.s.Sites = append(g.s.Sites, siteSpec{Name: name, Zone: z.Name})
	}
	return nil
}

// addSites adds the sites to the scenario, with signals and still without nodes.
func (g *gridLoader) addSites(out *Scenario) error {
	average := false
	for i, spec := range g.s.Sites {
		site := Site{Name: spec.Name, Zone: spec.Zone, Signals: make(map[protocol.Quantity][]protocol.Point)}
		watts := func(v float64) protocol.Milliwatts { return protocol.Milliwatts(math.Round(1000 * v)) }
		seconds := func(v float64) time.Duration { return time.Duration(math.Round(v)) * time.Second }
		site.Host = Host{Idle: watts(spec.Host.Idle), Asleep: watts(spec.Host.Asleep), Core: watts(spec.Host.Core), Linger: seconds(spec.Host.Linger), WakeTime: seconds(spec.Host.Wake)}
		if err := g.loadSiteSignals(out, i, spec, &site); err != nil {
			return err
		}
		if err := g.loadServiceForecasts(out, i, spec, &site); err != nil {
			return err
		}
		average = average || spec.Region == nil
		if out.Carbon == ByMarginal {
			// Bids then use the marginal series under GridCarbon; the average is kept
			// for accounting.
			if more := site.Signals[trace.MarginalColumn]; len(more) > 0 {
				site.Signals[AverageCarbon], site.Signals[protocol.GridCarbon] = site.Signals[protocol.GridCarbon], more
				delete(site.Forecasts, protocol.GridCarbon)
				if said := site.Forecasts[trace.MarginalColumn]; len(said) > 0 {
					site.Forecasts[protocol.GridCarbon] = said
				}
			} else {
				out.addNote("%s: no series of marginal intensity: its average one stands for it", site.Name)
			}
		}
		if err := g.checkCoverage(out, i, site); err != nil {
			return err
		}
		market, known := forecast.MarketOf(spec.Zone)
		site.DayAhead = market.Ahead
		if spec.DayAhead != nil {
			site.DayAhead = *spec.DayAhead
		} else if !known {
			out.addNote("%s: nothing is known of the market of zone %q: its prices are taken as real-time, not published ahead", site.Name, spec.Zone)
		}
		site.Lag = signalLag(spec.Lag, g.s.Lag)
		if err := spec.addSiteEvents(g.s.where("sites", i, "outages"), out.Start, out.End, &site); err != nil {
			return err
		}
		var err error
		if site.Terms, err = spec.Terms.Terms(); err != nil {
			return err
		}
		site.Location = spec.Location
		out.Sites = append(out.Sites, site)
	}
	if average && out.Carbon == ByMarginal {
		out.addNote("bids and the objective count carbon by marginal intensity: what one kWh more emits")
	} else if average {
		out.addNote("carbon is the average intensity of the grid, over the life cycle of its plants")
	}
	out.noteSignalLag()
	out.addNote("past the end of a site's signals their last day repeats, for jobs that run on")
	return nil
}

// addSiteEvents sets a site's outages and bids. An outage outside the time in which jobs can
// run, for example by a wrong year, is an error; start and end are zero if they are
// not known yet.
func (spec siteSpec) addSiteEvents(at faultLocator, start, end protocol.Time, site *Site) error {
	thousandths := func(v float64) protocol.Milli { return protocol.Milli(math.Round(1000 * v)) }
	site.Bids = Misreport{Price: thousandths(spec.Bids.Price), Energy: thousandths(spec.Bids.Energy), Stuck: spec.Bids.Stuck}
	var last protocol.Time
	for _, o := range spec.Outages {
		from, err := time.Parse(time.RFC3339, o.From)
		to, err2 := time.Parse(time.RFC3339, o.To)
		switch x := (Outage{protocol.FromStdTime(from), protocol.FromStdTime(to)}); {
		case err != nil || err2 != nil:
			return at("from %q to %q: want existing dates", o.From, o.To)
		case x.From <= last || x.To <= x.From:
			return at("from %q to %q: want an end after the start, and each outage after the one before", o.From, o.To)
		// Jobs may run on after the last arrival; maxDays is a generous bound.
		case end != 0 && (x.To <= start || x.From >= end.Add(maxDays*oneDay)):
			return at("from %q to %q: want it while jobs run, which arrive from %v to %v", o.From, o.To, start, end)
		default:
			site.Outages, last = append(site.Outages, x), x.To
		}
	}
	return nil
}

// loadSiteSignals loads one site's series: synthetic region, zone of the window, then its own
// files, which take precedence.
func (g *gridLoader) loadSiteSignals(out *Scenario, i int, spec siteSpec, site *Site) error {
	at := func(format string, args ...any) error { return g.s.where("sites", i)(format, args...) }
	// A synthetic region starts a day early: forecasts need a past.
	if r := spec.Region; r != nil {
		region := generate.SyntheticRegion{
			Price: generate.DailyProfile(r.Price), Carbon: generate.DailyProfile(r.Carbon),
			Match: r.Match, Peak: r.Peak, PUE: cmp.Or(spec.PUE, defaultPUE),
		}
		from := out.Start.Add(-oneDay)
		hours := int(out.End.Add(oneDay).Sub(from) / time.Hour)
		site.Signals = region.GenerateSignals(out.Seed, spec.Name, from, hours)
	} else if spec.Zone != "" && g.s.Window != nil {
		k := slices.IndexFunc(g.zones, func(z trace.ZoneSignals) bool { return z.Name == spec.Zone })
		if k < 0 {
			return at("%s: no zone %q in %s: the file has %s", spec.Name, spec.Zone, g.s.Window.File, zoneNames(g.zones))
		}
		g.copyZoneSignals(out, g.zones[k], site)
	}
	for _, q := range signalQuantities {
		if f := spec.Signals[q]; f != nil {
			if err := readSeriesFile(out, f, q, site); err != nil {
				return err
			}
		}
	}
	if len(site.Signals[protocol.GridPUE]) == 0 {
		if spec.PUE == 0 {
			out.addNote("%s: no series of PUE: taken as %.1f", site.Name, defaultPUE)
		}
		// One point is a constant PUE.
		site.Signals[protocol.GridPUE] = []protocol.Point{{
			At:    site.Signals[protocol.GridPrice][0].At,
			Value: int64(math.Round(1000 * cmp.Or(spec.PUE, defaultPUE))),
		}}
	}
	return nil
}

// copyZoneSignals copies a window's zone into a site; zones may be shared by several sites.
func (g *gridLoader) copyZoneSignals(out *Scenario, z trace.ZoneSignals, site *Site) {
	site.Signals[protocol.GridPrice] = slices.Clone(z.Price)
	site.Signals[protocol.GridCarbon] = slices.Clone(z.Carbon)
	site.Signals[protocol.GridPUE] = slices.Clone(z.PUE)
	if len(z.Marginal) > 0 {
		site.Signals[trace.MarginalColumn] = slices.Clone(z.Marginal)
	}
	if z.Passed > 0 {
		out.addNote("%s: marginal intensity is given for %d of %d hours, and passed over", site.Name, z.Passed, len(z.Price))
	}
	if z.Persisted > 0 {
		out.addNote("%s: %d missing values are as in the hour before", site.Name, z.Persisted)
	}
	if z.Patched > 0 {
		out.addNote("%s: %d prices are marked as filled by their source", site.Name, z.Patched)
	}
}

// readSeriesFile reads the file of one quantity.
func readSeriesFile(out *Scenario, f *seriesSpec, q protocol.Quantity, site *Site) error {
	r, err := openFile(f.File)
	if err != nil {
		return err
	}
	points, filled, err := trace.ReadSeries(r, f.File, f.Column, q, f.Fill)
	if err != nil {
		return err
	}
	if filled > 0 {
		out.addNote("%s: %d missing values of %s are as in the hour before", site.Name, filled, q)
	}
	site.Signals[q] = points
	return nil
}

// loadServiceForecasts loads the service forecasts of a site, for hours within its signals. Past
// the end of the signals their last day repeats, and no service has forecast that.
func (g *gridLoader) loadServiceForecasts(out *Scenario, i int, spec siteSpec, site *Site) error {
	for _, q := range signalQuantities {
		f := spec.Forecasts[q]
		if f == nil {
			continue
		}
		at := g.s.where("sites", i, "forecasts", q)
		facts := site.Signals[q]
		if len(facts) < 2 { // no series, or a constant
			return at("%s: a forecast needs a series of %s: add one to the site's signals", site.Name, q)
		}
		r, err := openFile(f.File)
		if err != nil {
			return err
		}
		all, err := f.readForecasts(r, q)
		if err != nil {
			return err
		}
		said := bulletinsWithin(all, facts[0].At, facts[len(facts)-1].At)
		if n := len(said); n == 0 || lastHour(said[n-1].Points) < out.Start {
			return at("%s: %s has no forecast of %s after start, %v: its bulletins were issued from %v to %v",
				site.Name, f.File, q, out.Start, all[0].Issued, all[len(all)-1].Issued)
		}
		if site.Forecasts == nil {
			site.Forecasts = make(map[protocol.Quantity][]forecast.Bulletin)
		}
		site.Forecasts[q] = said
		if f.isSeries() {
			out.addNote("%s: %s is forecast by a series, published %d times", site.Name, q, len(said))
			continue
		}
		out.addNote("%s: %s is foretold by a service %d times", site.Name, q, len(said))
	}
	return nil
}

// bulletinsWithin returns the bulletins for hours from first to final, cut after final.
func bulletinsWithin(all []forecast.Bulletin, first, final protocol.Time) (said []forecast.Bulletin) {
	for _, b := range all {
		n := len(b.Points)
		for n > 0 && b.Points[n-1].At > final {
			n--
		}
		if n > 0 && lastHour(b.Points[:n]) >= first {
			said = append(said, forecast.Bulletin{Issued: b.Issued, Points: b.Points[:n]})
		}
	}
	return said
}

// lastHour returns the hour of the last point.
func lastHour(points []protocol.Point) protocol.Time { return points[len(points)-1].At }

// checkCoverage checks that a site's series begin a day before Start and reach End.
func (g *gridLoader) checkCoverage(out *Scenario, i int, site Site) error {
	for _, q := range append(slices.Clip(signalQuantities), AverageCarbon) { // the average is accounted, too
		points := site.Signals[q]
		constant := q == protocol.GridPUE && g.s.Sites[i].Signals[q] == nil && len(points) == 1
		if constant || (q == trace.MarginalColumn || q == AverageCarbon) && len(points) == 0 {
			continue
		}
		first, end := points[0].At, lastHour(points).Add(time.Hour)
		if first > out.Start.Add(-oneDay) || end < out.End {
			return g.s.where("sites", i)("%s: %s is given for %v..%v: want it from %v (a day before start) to %v",
				site.Name, q, first, end, out.Start.Add(-oneDay), out.End)
		}
	}
	return nil
}

// zoneNames returns the names of zones, for errors.
func zoneNames(zones []trace.ZoneSignals) []string {
	out := make([]string, len(zones))
	for i, z := range zones {
		out[i] = z.Name
	}
	return out
}
