package query

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A siteForecast is the forecast of a site's grid as the site sent it.
type siteForecast history.Forecast

// forecastSeenAt returns the last forecast that a site had sent by an instant.
func forecastSeenAt(s *history.SiteRecord, at protocol.Time) (siteForecast, bool) {
	f, ok := s.ForecastAt(at)
	return siteForecast(f), ok
}

// valueAt returns a series' value at an instant.
func valueAt[T any](o siteForecast, series []T, at protocol.Time) (v T, ok bool) {
	hour := at.Floor(time.Hour)
	if at < o.From || hour >= o.From.Add(time.Duration(len(series))*time.Hour) { // a site may say any time: no difference yet
		return v, false
	}
	return series[int(hour-o.From)/int(time.Hour.Milliseconds())], true
}

// aboutSites are the questions about sites at a time.
var aboutSites = map[string]evaluator{
	"intensity": (*Dataset).answerIntensity, "price": (*Dataset).answerPrice, "greenest": (*Dataset).answerGreenest, "cheapest": (*Dataset).answerCheapest, "dirtiest": (*Dataset).answerDirtiest,
	"free": (*Dataset).answerFreeGPUs, "block": (*Dataset).answerLargestBlock, "fit": (*Dataset).answerFit, "power": (*Dataset).answerPower, "report": (*Dataset).answerLastReport,
	"utilization": (*Dataset).answerUtilization,
}

// siteFigure returns a figure of a site.
func siteFigure(site, what string, value int64, unit string) Figure {
	return Figure{"site/" + site, what, value, unit, nil}
}

// A gridValue is one value of the last forecast that a site had sent, for one instant.
type gridValue struct {
	site       string
	value      Figure
	known      bool
	reportedAt protocol.Time
}

// gridValues lists a quantity of every site's grid, the least first, and returns the values.
// Sites without a value come last.
func (l *Dataset) gridValues(q ask.Query, what, unit string, price bool) (r Result, known []gridValue) {
	at := r.instantOf(l, q)
	var unknown []gridValue
	for _, name := range l.history.ReportingSiteNames() {
		if q.Site != "" && q.Site != name {
			continue
		}
		x := gridValue{site: name}
		if o, ok := forecastSeenAt(l.history.ReportingSite(name), at); ok {
			v, ok := o.valueAt(price, at)
			x.value, x.known, x.reportedAt = siteFigure(name, what, v, unit), ok, o.At
		}
		if x.known {
			known = append(known, x)
		} else {
			unknown = append(unknown, x)
		}
	}
	slices.SortStableFunc(known, func(x, y gridValue) int { return cmp.Compare(x.value.Value, y.value.Value) })
	r.Head = []string{"site", what, "as said at"}
	chart := &Chart{Kind: "sites", Title: what + " by site"}
	for _, x := range known {
		r.addRow(namePart(x.site), x.value, siteFigure(x.site, "said", int64(x.reportedAt), "instant"))
		chart.Unit = unit
		chart.addPoint(what, Point{Label: x.site, Value: x.value.Value})
	}
	for _, x := range unknown {
		r.addRow(namePart(x.site), plainText("not known"), siteFigure(x.site, "said", int64(x.reportedAt), "instant"))
	}
	r.Chart = chart.orNil()
	return r, known
}

// carbonNow lists the carbon intensity of every site at the instant of a query.
func (l *Dataset) carbonNow(q ask.Query) (Result, []gridValue) {
	return l.gridValues(q, "carbon-intensity", "milligrams-per-kwh", false)
}

// priceNow lists the electricity price of every site at the instant of a query.
func (l *Dataset) priceNow(q ask.Query) (Result, []gridValue) {
	return l.gridValues(q, "price", "microdollars-per-kwh", true)
}

func (l *Dataset) answerIntensity(q ask.Query) Result { return valueOfOne(q)(l.carbonNow(q)) }
func (l *Dataset) answerPrice(q ask.Query) Result     { return valueOfOne(q)(l.priceNow(q)) }

// valueOfOne says the one value that was asked for.
func valueOfOne(q ask.Query) func(Result, []gridValue) Result {
	return func(r Result, known []gridValue) Result {
		switch {
		case len(known) == 0:
			r.addSentence("No site had said it by then.")
		case q.Site != "":
			r.addSentence("%s: %s.", namePart(q.Site), known[0].value)
		}
		return r
	}
}

// answerGreenest names the site with the least carbon intensity.
func (l *Dataset) answerGreenest(q ask.Query) Result {
	r, known := l.carbonNow(q)
	return r.pickSite("The greenest site is %s, with %s.", known, 0)
}

// answerCheapest names the site with the lowest electricity price.
func (l *Dataset) answerCheapest(q ask.Query) Result {
	r, known := l.priceNow(q)
	return r.pickSite("The site with the cheapest electricity is %s, with %s.", known, 0)
}

// answerDirtiest names the site with the highest carbon intensity.
func (l *Dataset) answerDirtiest(q ask.Query) Result {
	r, known := l.carbonNow(q)
	return r.pickSite("The site with the most carbon per kWh is %s, with %s.", known, len(known)-1)
}

// pickSite says which site is at one end.
func (r Result) pickSite(form string, known []gridValue, i int) Result {
	if len(known) == 0 {
		r.addSentence("No site had said it by then.")
	} else {
		r.addSentence(form, namePart(known[i].site), known[i].value)
	}
	return r
}

// A deviceStock counts the GPUs of one model at one site, and those that are free.
type deviceStock struct {
	site, model    string
	all, free      protocol.Milli
	block          int  // whole free GPUs of the node that has most of them
	devicesUnknown bool // some runs name no devices, so block is an upper bound
}

// countDeviceStock subtracts what runs hold at an instant from the inventory that sites reported.
// Inventories give GPUs and nodes per pool, so each node is assumed to have an equal share.
func (l *Dataset) countDeviceStock(q ask.Query, at protocol.Time) (all []deviceStock) {
	for _, site := range l.history.ReportingSiteNames() {
		if q.Site != "" && q.Site != site {
			continue
		}
		for _, p := range l.history.ReportingSite(site).PoolsAt(at) {
			if p.GPUs == 0 || p.Nodes == 0 {
				continue
			}
			s := deviceStock{site: site, model: p.Model, all: protocol.Milli(p.GPUs) * 1000, free: protocol.Milli(p.GPUs) * 1000}
			// Devices by node on which some run holds at least a part: a gang needs whole GPUs.
			touched := make(map[string]map[int]bool)
			for _, r := range l.allInstances() {
				x, ok := segmentAt(r, at)
				if !ok || x.Run.Site != site || x.Run.Model != p.Model || r.Job.GPUs == 0 {
					continue
				}
				s.free -= r.Job.TotalGPUMilli()
				s.devicesUnknown = s.devicesUnknown || len(x.Run.Devices) == 0
				if touched[x.Run.Node] == nil {
					touched[x.Run.Node] = make(map[int]bool)
				}
				for _, d := range x.Run.Devices {
					touched[x.Run.Node][d] = true
				}
			}
			// The largest block is that of an untouched node, or else of the node with the
			// most untouched devices; it cannot exceed the free GPUs of the whole pool.
			each := p.GPUs / p.Nodes
			if len(touched) < p.Nodes {
				s.block = each
			}
			for _, node := range sortedKeys(touched) {
				s.block = max(s.block, each-len(touched[node]))
			}
			s.block = min(s.block, max(0, int(s.free/1000)))
			all = append(all, s)
		}
	}
	return all
}

// stockTable lists the GPUs of every site and model at the instant of a query.
func (l *Dataset) stockTable(q ask.Query) (r Result, all []deviceStock) {
	at := r.instantOf(l, q)
	all = l.countDeviceStock(q, at)
	r.Head = []string{"site", "model", "GPUs", "free", "largest block"}
	for _, s := range all {
		r.addRow(namePart(s.site), namePart(s.model), siteFigure(s.site, "all-"+s.model, int64(s.all), "thousandths"),
			siteFigure(s.site, "free-"+s.model, int64(s.free), "thousandths"), siteFigure(s.site, "block-"+s.model, int64(s.block), "count"))
	}
	r.Chart = stockChart(all)
	if slices.ContainsFunc(all, func(s deviceStock) bool { return s.devicesUnknown }) {
		r.addAssumption("a block is what there can be at most: on which GPUs a job runs is told when it is over")
	}
	return r, all
}

// stockChart draws the free GPUs of each site and model.
func stockChart(all []deviceStock) *Chart {
	c := &Chart{Kind: "sites", Title: "free GPUs by site and model", Unit: "thousandths"}
	for _, s := range all {
		c.addPoint(s.model, Point{Label: s.site, Value: int64(s.free)})
	}
	return c.orNil()
}

// answerFreeGPUs says which GPUs nobody held.
func (l *Dataset) answerFreeGPUs(q ask.Query) Result {
	r, stocks := l.stockTable(q)
	var free, all protocol.Milli
	models := make(map[string]deviceStock)
	for _, s := range stocks {
		free, all = free+s.free, all+s.all
		m := models[s.model]
		models[s.model] = deviceStock{free: m.free + s.free, all: m.all + s.all}
	}
	r.addSentence("%s of %s GPUs were free. The block is the whole GPUs free on one node.",
		Figure{subjectOf(q), "free", int64(free), "thousandths", nil}, Figure{subjectOf(q), "all", int64(all), "thousandths", nil})
	var forms []string
	var parts []Part
	for _, model := range sortedKeys(models) {
		forms = append(forms, "%s %s of %s")
		m := models[model]
		parts = append(parts, namePart(model), Figure{"model/" + model, "free", int64(m.free), "thousandths", nil}, Figure{"model/" + model, "all", int64(m.all), "thousandths", nil})
	}
	if len(forms) > 1 {
		r.addSentence("By model: "+strings.Join(forms, ", ")+".", parts...)
	} else {
		for _, p := range parts {
			r.ExtraFigures = append(r.ExtraFigures, p.citedFigures()...)
		}
	}
	return r
}

// subjectOf names what a question is about: a tenant, a site or the run.
func subjectOf(q ask.Query) string {
	switch {
	case q.Tenant != "":
		return "tenant/" + q.Tenant
	case q.Site != "":
		return "site/" + q.Site
	}
	return "run"
}

// answerLargestBlock says the largest gang that one node could have taken.
func (l *Dataset) answerLargestBlock(q ask.Query) Result {
	r, stocks := l.stockTable(q)
	best := deviceStock{}
	for _, s := range stocks {
		if s.block > best.block {
			best = s
		}
	}
	largest := Figure{subjectOf(q), "largest-block", int64(best.block), "count", nil}
	if best.block == 0 {
		r.addSentence("No whole GPU was free.")
		r.addFigures(largest)
		return r
	}
	is := plainText("is")
	if best.devicesUnknown {
		is = "is at most"
	}
	r.addSentence("The largest block free on one node %s %s, of %s at %s. Cores and memory may limit a job further.",
		is, countedPart(largest, "GPU", "GPUs"), namePart(best.model), namePart(best.site))
	return r
}

// answerFit says where so many GPUs would have fitted on one node.
func (l *Dataset) answerFit(q ask.Query) Result {
	r, stocks := l.stockTable(q)
	var free protocol.Milli
	var where partList
	would := plainText("would")
	for _, s := range stocks {
		free += s.free
		if int64(s.block) >= q.Number {
			if s.devicesUnknown {
				would = "may"
			}
			where = append(where, namePart(cleanName(s.site)+" ("+cleanName(s.model)+")"))
		}
	}
	r.addSentence("%s GPUs were free in all; a job needs its %s on one node.",
		Figure{subjectOf(q), "free", int64(free), "thousandths", nil}, Figure{"question", "number", q.Number, "count", nil})
	if len(where) == 0 {
		r.addSentence("No node had so many free, so the job would not have fitted then.")
	} else {
		r.addSentence("It %s have fitted at %s. Cores, memory, regions and models may limit a job further; only an auction asks the sites.", would, where)
	}
	r.addFigures(Figure{subjectOf(q), "places", int64(len(where)), "count", nil})
	return r
}

// answerPower lists the mean draw of the last whole hour that was metered.
func (l *Dataset) answerPower(q ask.Query) (r Result) {
	at := r.instantOf(l, q)
	r.addAssumption("the mean of the last metered hour, before the facility's share")
	r.Head = []string{"site", "kW", "hour from"}
	for _, s := range l.history.ReportingSiteNames() {
		if q.Site != "" && q.Site != s {
			continue
		}
		var last protocol.SiteUsage
		for _, m := range l.history.ReportingSite(s).Meters {
			if m.IsMeterReading() && m.Hour.Add(time.Hour) <= at && m.Hour >= last.Hour {
				last = m.SiteUsage
			}
		}
		if last.Hour == 0 {
			r.addRow(namePart(s), plainText("not metered yet"), plainText(""))
			continue
		}
		drew, hour := asKilowatts(siteFigure(s, "energy-of-hour", int64(last.Total), "millijoules")), siteFigure(s, "hour", int64(last.Hour), "instant")
		r.addRow(namePart(s), drew, hour)
		if q.Site != "" {
			r.addSentence("%s drew %s kW in the hour from %s.", namePart(s), drew, hour)
		}
	}
	return r
}

// answerLastReport says when sites were last heard.
func (l *Dataset) answerLastReport(q ask.Query) (r Result) {
	r.Head = []string{"site", "last heard", "before the end"}
	for _, s := range l.history.ReportingSiteNames() {
		if q.Site == "" || q.Site == s {
			heard := l.history.ReportingSite(s).LastMessage()
			r.addRow(namePart(s), siteFigure(s, "last-heard", int64(heard), "instant"), siteFigure(s, "silent-for", l.lastTime().Sub(heard).Milliseconds(), "ms"))
		}
	}
	if s := l.history.ReportingSite(q.Site); s != nil && len(s.Inventories) > 0 && s.Inventories[len(s.Inventories)-1].Decommissioned {
		gone := siteFigure(q.Site, "gone", int64(s.Inventories[len(s.Inventories)-1].At), "instant")
		r.addSentence("An operator said at %s that %s will not come back.", gone, namePart(q.Site))
	}
	r.addSentence("The record ends at %s UTC.", lastTimeFigure(l))
	return r
}

// answerUtilization says which part of its GPUs each site had held, over a window or in
// the hour of an instant. What was lost later held them too.
func (l *Dataset) answerUtilization(q ask.Query) (r Result) {
	from, to := l.firstTime(), l.lastTime()
	switch {
	case q.At != 0:
		from, to = q.At.Floor(time.Hour), q.At.Floor(time.Hour).Add(time.Hour)
		r.addAssumption("the hour from %s", Figure{"run", "from", int64(from), "instant", nil})
	case q.To != 0:
		from, to = q.From, q.To
	default:
		r.addAssumption("no time was named, so the whole record, %s to %s UTC", Figure{"run", "begin", int64(l.firstTime()), "instant", nil}, lastTimeFigure(l))
	}
	type line struct {
		site          string
		held, present int64 // thousandths of a GPU times milliseconds
	}
	var lines []line
	for _, s := range l.history.ReportingSiteNames() {
		if q.Site == "" || q.Site == s {
			lines = append(lines, line{s, l.gpuTimeHeld(s, from, to), gpuTime(l.history.ReportingSite(s), from, to)})
		}
	}
	share := func(x line) int64 { return x.held * 1000 / max(1, x.present) }
	slices.SortStableFunc(lines, func(x, y line) int { return cmp.Compare(share(y), share(x)) })
	r.Head = []string{"site", "GPU-hours held", "GPU-hours there", "utilization"}
	all := line{}
	chart := &Chart{Kind: "sites", Title: "GPU utilization by site", Unit: "thousandths"}
	for _, x := range lines {
		part := siteFigure(x.site, "utilization", share(x), "thousandths")
		r.addRow(namePart(x.site), siteFigure(x.site, "held", x.held/1000, "gpu-ms"), siteFigure(x.site, "there", x.present/1000, "gpu-ms"), asPercent(part))
		chart.addPoint("utilization", Point{Label: x.site, Value: part.Value})
		all.held, all.present = all.held+x.held, all.present+x.present
	}
	r.Chart = chart.orNil()
	if all.present == 0 {
		r.addSentence("No site had said of any GPU by then.")
		return r
	}
	subject := subjectOf(q)
	r.addSentence("Jobs held %s of the GPU time that there was: %s of %s GPU-hours.", asPercent(Figure{subject, "utilization", share(all), "thousandths", nil}),
		Figure{subject, "held", all.held / 1000, "gpu-ms", nil}, Figure{subject, "there", all.present / 1000, "gpu-ms", nil})
	return r
}

// gpuTimeHeld returns what jobs held of a site's GPUs in a window, in thousandths of a GPU times
// milliseconds.
func (l *Dataset) gpuTimeHeld(site string, from, to protocol.Time) (sum int64) {
	// during adds the overlap of a period with the window.
	during := func(gpu protocol.Milli, begin, end protocol.Time) {
		if overlap := min(end, to) - max(begin, from); overlap > 0 {
			sum += int64(gpu) * int64(overlap)
		}
	}
	for _, rec := range l.allInstances() {
		if rec.Job.GPUs == 0 {
			continue
		}
		for _, s := range segmentsOf(rec) {
			if end := s.Run.Ended; s.Run.Site == site && s.Over {
				during(rec.Job.TotalGPUMilli(), s.Run.Started, end)
			} else if s.Run.Site == site && s.Run.Started != 0 {
				during(rec.Job.TotalGPUMilli(), s.Run.Started, to)
			}
		}
		// Runs that were lost to an outage or a preemption held devices until then.
		for _, lost := range rec.Lost {
			if lost.Site == site {
				during(rec.Job.TotalGPUMilli(), lost.Started, lost.Exited.At)
			}
		}
	}
	return sum
}

// gpuTime returns the GPUs that a site had in a window, in the same unit as
// gpuTimeHeld. Before its first report, a site counts as having the inventory of that report.
func gpuTime(s *history.SiteRecord, from, to protocol.Time) (sum int64) {
	for i, p := range s.Inventories {
		begin, end := p.At, to
		if i == 0 {
			begin = from
		}
		if i+1 < len(s.Inventories) {
			end = min(end, s.Inventories[i+1].At)
		}
		if overlap := end - max(begin, from); overlap > 0 {
			for _, pool := range p.Pools {
				sum += int64(pool.GPUs) * 1000 * int64(overlap)
			}
		}
	}
	return sum
}
