package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// An outlook is the forecast of a site's grid, as it sent it.
type outlook history.Forecast

// seen returns what a site last said of its grid until an instant.
func seen(s *history.SiteRecord, at protocol.Time) (outlook, bool) {
	f, ok := s.ForecastAt(at)
	return outlook(f), ok
}

// value returns a series' value at an instant.
func value[T any](o outlook, series []T, at protocol.Time) (v T, ok bool) {
	hour := at.Floor(time.Hour)
	if at < o.From || hour >= o.From.Add(time.Duration(len(series))*time.Hour) { // a site may say any time: no difference yet
		return v, false
	}
	return series[int(hour-o.From)/int(time.Hour.Milliseconds())], true
}

// grid lists a quantity of every site's grid, the least first.
func (l *Log) grid(q ask.Query, a *Answer, what, unit string, price bool) []string {
	at := l.moment(q, a)
	type line struct {
		site  string
		v     int64
		known bool
		said  protocol.Time
	}
	var lines []line
	for _, name := range l.book.SiteNames() {
		if q.Site != "" && q.Site != name {
			continue
		}
		x := line{site: name}
		if o, ok := seen(l.book.Site(name), at); ok {
			x.v, x.known = o.metric(price, at)
			x.said = o.At
		}
		lines = append(lines, x)
	}
	slices.SortStableFunc(lines, func(x, y line) int {
		if x.known != y.known {
			if x.known {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.v, y.v)
	})
	a.Table = &Table{Head: []string{"site", what, "as said at"}}
	var order []string
	for _, x := range lines {
		if !x.known {
			a.row(name(x.site), "not known", format.FormatInstant(x.said))
			a.figure("site/"+x.site, "said", int64(x.said), "instant")
			continue
		}
		order = append(order, x.site)
		a.row(name(x.site), shown(price, x.v), format.FormatInstant(x.said))
		a.figure("site/"+x.site, what, x.v, unit)
		a.figure("site/"+x.site, "said", int64(x.said), "instant")
	}
	a.Chart = a.bars("sites", what+" by site", what, "site/")
	return order
}

func (l *Log) carbonNow(q ask.Query, a *Answer) []string {
	return l.grid(q, a, "carbon-intensity", "milligrams-per-kwh", false)
}

func (l *Log) priceNow(q ask.Query, a *Answer) []string {
	return l.grid(q, a, "price", "microdollars-per-kwh", true)
}

func (l *Log) intensity(q ask.Query, a *Answer) { l.told(q, a, l.carbonNow(q, a)) }
func (l *Log) price(q ask.Query, a *Answer)     { l.told(q, a, l.priceNow(q, a)) }

// told says the one value that was asked for.
func (l *Log) told(q ask.Query, a *Answer, known []string) {
	switch {
	case len(known) == 0:
		a.say("No site had said it by then.")
	case q.Site != "":
		a.say("%s: %s.", name(q.Site), a.Table.Rows[0][1])
	}
}

func (l *Log) greenest(q ask.Query, a *Answer) {
	l.pick(a, l.carbonNow(q, a), "The greenest site is", 0)
}
func (l *Log) cheapest(q ask.Query, a *Answer) {
	l.pick(a, l.priceNow(q, a), "The site with the cheapest electricity is", 0)
}
func (l *Log) dirtiest(q ask.Query, a *Answer) {
	order := l.carbonNow(q, a)
	l.pick(a, order, "The site with the most carbon per kWh is", len(order)-1)
}

func (l *Log) pick(a *Answer, order []string, what string, i int) {
	if len(order) == 0 {
		a.say("No site had said it by then.")
		return
	}
	a.say("%s %s, with %s.", what, name(order[i]), a.Table.Rows[i][1])
}

// A stock is the GPUs of one model at one site, and those that are free.
type stock struct {
	site, model string
	all, free   protocol.Milli
	block       int  // whole free GPUs of the node that has most of them
	untold      bool // on which devices some of it is held: block is what there can be at most
}

// stocks counts what runs hold at an instant against what sites said they have.
// GPUs of a pool are taken to be spread evenly over its nodes.
func (l *Log) stocks(q ask.Query, at protocol.Time) (all []stock) {
	for _, site := range l.book.SiteNames() {
		if q.Site != "" && q.Site != site {
			continue
		}
		for _, p := range l.book.Site(site).PoolsAt(at) {
			if p.GPUs == 0 || p.Nodes == 0 {
				continue
			}
			s := stock{site: site, model: p.Model, all: protocol.Milli(p.GPUs) * 1000, free: protocol.Milli(p.GPUs) * 1000}
			touched := make(map[string]map[int]bool)
			for _, r := range l.records() {
				x, ok := stintAt(r, at)
				if !ok || x.Run.Site != site || x.Run.Model != p.Model || r.Job.GPUs == 0 {
					continue
				}
				s.free -= r.Job.TotalGPUMilli()
				s.untold = s.untold || len(x.Run.Devices) == 0
				if touched[x.Run.Node] == nil {
					touched[x.Run.Node] = make(map[int]bool)
				}
				for _, d := range x.Run.Devices {
					touched[x.Run.Node][d] = true
				}
			}
			each := p.GPUs / p.Nodes
			if len(touched) < p.Nodes {
				s.block = each
			}
			for _, node := range sorted(touched) {
				s.block = max(s.block, each-len(touched[node]))
			}
			s.block = min(s.block, max(0, int(s.free/1000)))
			all = append(all, s)
		}
	}
	return all
}

func (l *Log) stockTable(q ask.Query, a *Answer) []stock {
	at := l.moment(q, a)
	all := l.stocks(q, at)
	a.Table = &Table{Head: []string{"site", "model", "GPUs", "free", "largest block"}}
	for _, s := range all {
		a.row(name(s.site), name(s.model), format.FormatThousandths(s.all), format.FormatThousandths(s.free), fmt.Sprint(s.block))
		a.figure("site/"+s.site, "all-"+s.model, int64(s.all), "thousandths")
		a.figure("site/"+s.site, "free-"+s.model, int64(s.free), "thousandths")
		a.figure("site/"+s.site, "block-"+s.model, int64(s.block), "count")
	}
	a.Chart = stockChart(all)
	if slices.ContainsFunc(all, func(s stock) bool { return s.untold }) {
		a.assume("a block is what there can be at most: on which GPUs a job runs is told when it is over")
	}
	return all
}

func stockChart(all []stock) *Chart {
	c := &Chart{Kind: "sites", Title: "free GPUs by site and model", Unit: "thousandths"}
	for _, s := range all {
		c.add(s.model, Point{Label: s.site, Value: int64(s.free)})
	}
	return c.drawn()
}

// free says which GPUs nobody held.
func (l *Log) free(q ask.Query, a *Answer) {
	var free, all protocol.Milli
	models := make(map[string]stock)
	for _, s := range l.stockTable(q, a) {
		free, all = free+s.free, all+s.all
		m := models[s.model]
		models[s.model] = stock{free: m.free + s.free, all: m.all + s.all}
	}
	a.say("%s of %s GPUs were free. The block is the whole GPUs free on one node.", format.FormatThousandths(free), format.FormatThousandths(all))
	var by []string
	for _, model := range sorted(models) {
		m := models[model]
		by = append(by, fmt.Sprintf("%s %s of %s", name(model), format.FormatThousandths(m.free), format.FormatThousandths(m.all)))
		a.figure("model/"+model, "free", int64(m.free), "thousandths")
		a.figure("model/"+model, "all", int64(m.all), "thousandths")
	}
	if len(by) > 1 {
		a.say("By model: %s.", strings.Join(by, ", "))
	}
	a.figure(subjectOf(q), "free", int64(free), "thousandths")
	a.figure(subjectOf(q), "all", int64(all), "thousandths")
}

func subjectOf(q ask.Query) string {
	if q.Site != "" {
		return "site/" + q.Site
	}
	return "run"
}

// block says the largest gang that one node could have taken.
func (l *Log) block(q ask.Query, a *Answer) {
	best := stock{}
	for _, s := range l.stockTable(q, a) {
		if s.block > best.block {
			best = s
		}
	}
	if best.block == 0 {
		a.say("No whole GPU was free.")
	} else {
		is := "is"
		if best.untold {
			is = "is at most"
		}
		a.say("The largest block free on one node %s %s, of %s at %s. Cores and memory may limit a job further.",
			is, format.CountWithNoun(best.block, "GPU", "GPUs"), name(best.model), name(best.site))
	}
	a.figure(subjectOf(q), "largest-block", int64(best.block), "count")
}

// fit says where so many GPUs would have fitted on one node.
func (l *Log) fit(q ask.Query, a *Answer) {
	var free protocol.Milli
	var where []string
	would := "would"
	for _, s := range l.stockTable(q, a) {
		free += s.free
		if int64(s.block) >= q.Number {
			if s.untold {
				would = "may"
			}
			where = append(where, fmt.Sprintf("%s (%s)", name(s.site), name(s.model)))
		}
	}
	a.say("%s GPUs were free in all; a job needs its %d on one node.", format.FormatThousandths(free), q.Number)
	if len(where) == 0 {
		a.say("No node had so many free, so the job would not have fitted then.")
	} else {
		a.say("It %s have fitted at %s. Cores, memory, regions and models may limit a job further; only an auction asks the sites.", would, format.JoinWithAnd(where))
	}
	a.figure(subjectOf(q), "places", int64(len(where)), "count")
	a.figure(subjectOf(q), "free", int64(free), "thousandths")
}

// power tells the mean draw of the last whole hour that was metered.
func (l *Log) power(q ask.Query, a *Answer) {
	at := l.moment(q, a)
	a.assume("the mean of the last metered hour, before the facility's share")
	a.Table = &Table{Head: []string{"site", "kW", "hour from"}}
	for _, s := range l.book.SiteNames() {
		if q.Site != "" && q.Site != s {
			continue
		}
		var last protocol.SiteUsage
		for _, m := range l.book.Site(s).Meters {
			if m.IsMeterReading() && m.Hour.Add(time.Hour) <= at && m.Hour >= last.Hour {
				last = m.SiteUsage
			}
		}
		if last.Hour == 0 {
			a.row(name(s), "not metered yet", "")
			continue
		}
		a.row(name(s), fmt.Sprintf("%.3f", last.Total.InKWh()), format.FormatInstant(last.Hour))
		a.figure("site/"+s, "energy-of-hour", int64(last.Total), "millijoules")
		a.figure("site/"+s, "hour", int64(last.Hour), "instant")
		if q.Site != "" {
			a.say("%s drew %.3f kW in the hour from %s.", name(s), last.Total.InKWh(), format.FormatInstant(last.Hour))
		}
	}
}

// report says when sites were last heard.
func (l *Log) report(q ask.Query, a *Answer) {
	a.Table = &Table{Head: []string{"site", "last heard", "before the end"}}
	for _, s := range l.book.SiteNames() {
		if q.Site == "" || q.Site == s {
			heard := l.book.Site(s).Heard()
			a.row(name(s), format.FormatInstant(heard), format.FormatDuration(l.last().Sub(heard)))
			a.figure("site/"+s, "last-heard", int64(heard), "instant")
			a.figure("site/"+s, "silent-for", l.last().Sub(heard).Milliseconds(), "ms")
		}
	}
	if s := l.book.Site(q.Site); s != nil && len(s.Inventories) > 0 && s.Inventories[len(s.Inventories)-1].Gone {
		at := s.Inventories[len(s.Inventories)-1].At
		a.say("An operator said at %s that %s will not come back.", format.FormatInstant(at), name(q.Site))
		a.figure("site/"+q.Site, "gone", int64(at), "instant")
	}
	a.say("The record ends at %s UTC.", format.FormatInstant(l.last()))
}
