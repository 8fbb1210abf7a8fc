package query

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// sitesIn goes through the sites that a query is about, by name.
func (l *Dataset) sitesIn(q ask.Query) iter.Seq2[string, *history.SiteRecord] {
	return func(yield func(string, *history.SiteRecord) bool) {
		for _, name := range l.history.ReportingSiteNames() {
			if includes(q, q.Tenant, name) && !yield(name, l.history.ReportingSite(name)) {
				return
			}
		}
	}
}

// gridQuestions are the questions about one quantity of every site's grid: its price, or else its
// carbon intensity. A form names the site that has the least of it, or the most.
var gridQuestions = map[string]struct {
	price, most bool
	form        string
}{
	"intensity": {}, "price": {price: true}, "intensity-hours": {}, "price-hours": {price: true},
	"greenest": {form: "The greenest site is %s, with %s."},
	"cheapest": {price: true, form: "The site with the cheapest electricity is %s, with %s."},
	"dirtiest": {most: true, form: "The site with the most carbon per kWh is %s, with %s."},
}

// gridName names the quantity of a grid that answers are about.
func gridName(price bool) string {
	if price {
		return "price"
	}
	return "carbon-intensity"
}

// gridFigure returns the price or the carbon intensity of a site's grid.
func gridFigure(site string, price bool, value int64) Figure {
	if price {
		return valueOf("site/"+site, gridName(price), microdollarsPerKWh(value))
	}
	return valueOf("site/"+site, gridName(price), milligramsPerKWh(value))
}

// gridKnown returns what is known of a site's grid in the hour of an instant: what was published, or
// else the site's newest forecast as of from; and how that is known.
func (l *Dataset) gridKnown(name string, price bool, from, at protocol.Time) (v int64, how Part, ok bool) {
	what := protocol.GridCarbon
	if price {
		what = protocol.GridPrice
	}
	said := func(at protocol.Time) Figure { return valueOf("site/"+name, "said", at) }
	if v, since, ok := l.history.PublishedAt(name, what, at, l.lastTime()); ok {
		return v, newSentence("published %s", said(since)), true
	}
	o, _ := l.history.ReportingSite(name).ForecastAt(from)
	v, ok = gridAt(o, price, at)
	return v, newSentence("forecast of %s", said(o.At)), ok
}

// answerGrid lists a quantity of every site's grid in the hour of an instant, as it was published or
// else forecast: the least first, and sites that had said nothing last.
func (l *Dataset) answerGrid(q ask.Query) (r Result) {
	asked := gridQuestions[q.Ask]
	at := r.instantOf(l, q)
	var known, unknown [][]Part
	for name := range l.sitesIn(q) {
		if v, how, ok := l.gridKnown(name, asked.price, at, at); ok {
			known = append(known, []Part{namePart(name), gridFigure(name, asked.price, v), how})
		} else {
			unknown = append(unknown, []Part{namePart(name), plainText("not known"), how})
		}
	}
	value := func(cells []Part) Figure { return cells[1].(Figure) }
	slices.SortStableFunc(known, func(x, y []Part) int { return cmp.Compare(value(x).Value, value(y).Value) })
	r.Head, r.Rows = []string{"site", gridName(asked.price), "known by"}, append(known, unknown...)
	if len(known) == 0 {
		r.addSentence("No site had said it by then.")
		return r
	}
	var drawn []Figure
	for _, cells := range known {
		drawn = append(drawn, value(cells))
	}
	r.Chart = barChart("sites", gridName(asked.price)+" by site", drawn)
	end := known[0]
	if asked.most {
		end = known[len(known)-1]
	}
	if q.Site != "" && asked.form == "" {
		asked.form = "%s: %s."
	}
	if asked.form != "" {
		r.addSentence(asked.form, end[0], newSentence("%s, %s", end[1], end[2]))
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
	for site, x := range l.sitesIn(q) {
		for _, p := range x.PoolsAt(at) {
			if p.GPUs == 0 || p.Nodes == 0 || q.Model != "" && q.Model != p.Model {
				continue
			}
			s := deviceStock{site: site, model: p.Model, all: protocol.Milli(p.GPUs) * 1000, free: protocol.Milli(p.GPUs) * 1000}
			// Devices by node on which some run holds at least a part: a gang needs whole GPUs.
			touched := make(map[string]map[int]bool)
			for _, r := range l.allInstances() {
				// The state of the job decides, as everywhere; the segment has the devices.
				if now := l.history.JobStateAt(&r, at); r.Job.GPUs == 0 || now.State != history.Running || now.Site != site {
					continue
				}
				var run history.Run
				if x, ok := r.SegmentAt(at); ok {
					run = *x.Run
				} else if a := r.CurrentAward(); a != nil {
					run.Model = a.Option.Model
				}
				if run.Model != p.Model {
					continue
				}
				held := r.JobIn(&run)
				s.free -= held.TotalGPUMilli()
				for _, p := range run.PlacesOf() {
					s.devicesUnknown = s.devicesUnknown || len(p.Devices) == 0 && len(run.Places) == 0
					if touched[p.Node] == nil {
						touched[p.Node] = make(map[int]bool)
					}
					for _, d := range p.Devices {
						touched[p.Node][d] = true
					}
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
		r.addRow(namePart(s.site), namePart(s.model), valueOf("site/"+s.site, "all-"+s.model, s.all),
			valueOf("site/"+s.site, "free-"+s.model, s.free), valueOf("site/"+s.site, "block-"+s.model, s.block))
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
		valueOf(subjectOf(q), "free", free), valueOf(subjectOf(q), "all", all))
	var byModel partList
	for _, model := range sortedKeys(models) {
		m := models[model]
		byModel = append(byModel, newSentence("%s %s of %s", namePart(model), valueOf("model/"+model, "free", m.free), valueOf("model/"+model, "all", m.all)))
	}
	if len(byModel) > 1 {
		r.addSentence("By model: %s.", byModel)
	} else {
		r.addFigures(figuresIn(byModel...)...)
	}
	bySite := make(map[string]protocol.Milli)
	for _, s := range stocks {
		bySite[s.site] += s.free
	}
	if sites := sortedKeys(bySite); len(sites) > 1 {
		slices.SortStableFunc(sites, func(a, b string) int { return cmp.Compare(bySite[b], bySite[a]) })
		first, last := sites[0], sites[len(sites)-1]
		r.addSentence("The most at %s, %s; the least at %s, %s.", namePart(first), valueOf("site/"+first, "free", bySite[first]), namePart(last), valueOf("site/"+last, "free", bySite[last]))
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
	largest := valueOf(subjectOf(q), "largest-block", best.block)
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
		valueOf(subjectOf(q), "free", free), valueOf("question", "number", int(q.Number)))
	if len(where) == 0 {
		r.addSentence("No node had so many free, so the job would not have fitted then.")
	} else {
		r.addSentence("It %s have fitted at %s. Cores, memory, regions and models may limit a job further; only an auction asks the sites.", would, where)
	}
	r.addFigures(valueOf(subjectOf(q), "places", len(where)))
	return r
}

// answerPower lists the mean draw of the last whole hour that was metered.
func (l *Dataset) answerPower(q ask.Query) (r Result) {
	at := r.instantOf(l, q)
	r.addAssumption("the mean of the last metered hour, before the facility's share")
	r.Head = []string{"site", "kW", "hour from"}
	for s, site := range l.sitesIn(q) {
		var last protocol.SiteUsage
		for _, m := range site.Meters {
			if m.IsMeterReading() && m.Hour.Add(time.Hour) <= at && m.Hour >= last.Hour {
				last = m.SiteUsage
			}
		}
		if last.Hour == 0 {
			r.addRow(namePart(s), plainText("not metered yet"), plainText(""))
			continue
		}
		drew, hour := asKilowatts(valueOf("site/"+s, "energy-of-hour", last.Total)), valueOf("site/"+s, "hour", last.Hour)
		r.addRow(namePart(s), drew, hour)
		if q.Site != "" {
			r.addSentence("%s drew %s kW in the hour from %s.", namePart(s), drew, hour)
		}
	}
	return r
}

// conditionParts returns the state of a site at an instant, and since when; for a site that is not
// well, each other answer about sites can say why.
func (l *Dataset) conditionParts(site string, at protocol.Time) (state, since Part) {
	c := l.history.ConditionAt(site, at)
	if c.State == "" {
		return plainText("not registered"), plainText("")
	}
	return plainText(string(c.State)), valueOf("site/"+site, "state-since", c.Since)
}

// answerLastReport says when sites were last heard.
func (l *Dataset) answerLastReport(q ask.Query) (r Result) {
	r.Head = []string{"site", "state", "since", "last message", "before the end"}
	byState := make(map[string]partList)
	for s, site := range l.sitesIn(q) {
		state, since := l.conditionParts(s, l.lastTime())
		heard, ago := valueOf("site/"+s, "last-heard", site.LastMessage()), valueOf("site/"+s, "silent-for", l.lastTime().Sub(site.LastMessage()))
		r.addRow(namePart(s), state, since, heard, ago)
		if byState[state.renderText()] = append(byState[state.renderText()], namePart(s)); q.Site != "" {
			r.addSentence("The state of %s is %s since %s; it was last heard %s before the end of the record.", namePart(s), state, since, ago)
		}
	}
	for _, state := range sortedKeys(byState) {
		if q.Site == "" {
			r.addSentence("%s: %s.", recordedText(state), byState[state])
		}
	}
	if s := l.history.ReportingSite(q.Site); s != nil && len(s.Inventories) > 0 && s.Inventories[len(s.Inventories)-1].Decommissioned {
		gone := valueOf("site/"+q.Site, "gone", s.Inventories[len(s.Inventories)-1].At)
		r.addSentence("An operator said at %s that %s will not come back.", gone, namePart(q.Site))
	}
	r.addSentence("The record ends at %s UTC.", lastTimeFigure(l))
	return r
}

// answerFragments says how many idle GPUs the usual jobs cannot use.
func (l *Dataset) answerFragments(q ask.Query) (r Result) {
	at := r.instantOf(l, q)
	r.addAssumption("as the sites said with their last offers: of their idle GPUs, how many the jobs that they were lately asked for could not have used, by the measure of FGD (docs/fgd.md)")
	type line struct {
		site                      string
		idle, useless, reportedAt Figure
		part                      float64 // of the idle GPUs; below 0: not known
		share                     Part
	}
	var lines []line
	for site, record := range l.sitesIn(q) {
		subject, x := "site/"+site, line{site: site, part: -1}
		if s, known := record.IdleGPUsAt(at); known {
			x.idle, x.useless, x.reportedAt = valueOf(subject, "idle", s.Idle), valueOf(subject, "of-no-use", s.Unusable), valueOf(subject, "said", s.At)
			x.part, x.share = float64(s.Unusable)/float64(max(s.Idle, 1)), percentPart(subject, "fragmentation", int64(s.Unusable), int64(s.Idle))
		}
		lines = append(lines, x)
	}
	slices.SortStableFunc(lines, func(x, y line) int { return cmp.Compare(y.part, x.part) })
	if len(lines) == 0 || lines[0].part < 0 {
		r.Kind = "absent"
		r.addSentence("No site had said by then how its idle GPUs lie: agents of an earlier version do not. `gridbid ask 'largest free block of gpus'` says which gangs fit.")
		return r
	}
	r.Head = []string{"site", "idle GPUs", "of no use, GPUs", "share", "as said at"}
	for _, x := range lines {
		if x.part < 0 {
			r.addRow(namePart(x.site), plainText("not told"), plainText(""), plainText(""), plainText(""))
		} else {
			r.addRow(namePart(x.site), x.idle, x.useless, x.share, x.reportedAt)
		}
	}
	r.Chart = l.fragmentChart(q)
	x, what := lines[0], plainText("At")
	if q.Site == "" && len(lines) > 1 {
		what = "Most at"
	}
	if x.idle.Value == 0 {
		r.addSentence("%s %s: no GPU was idle, so none lay in fragments.", what, namePart(x.site))
	} else {
		r.addSentence("%s %s: of %s idle GPUs %s were of no use to the usual jobs, which is %s.", what, namePart(x.site), x.idle, x.useless, x.share)
	}
	return r
}

// fragmentChart draws the GPUs that were of no use, hour by hour.
func (l *Dataset) fragmentChart(q ask.Query) *Chart {
	c := &Chart{Kind: "day", Title: "idle GPUs that the usual jobs cannot use", Unit: "thousandths"}
	for site, record := range l.sitesIn(q) {
		for h := l.firstTime().Floor(time.Hour); h <= l.lastTime(); h = h.Add(time.Hour) {
			if s, ok := record.IdleGPUsAt(h.Add(time.Hour) - 1); ok {
				c.addPoint(site, Point{At: h, Value: int64(s.Unusable)})
			}
		}
	}
	return c.orNil()
}
