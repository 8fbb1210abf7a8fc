package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// A scrap is what a site said of its idle GPUs.
type scrap struct {
	at            protocol.Time
	idle, useless protocol.Milli
}

// scraps keeps what an offer says of idle GPUs, where it is not as before.
func (s *site) scraps(at protocol.Time, o protocol.Offer) {
	x := scrap{at, o.Idle, o.Useless}
	if x.idle < 0 || x.useless < 0 || x.useless > x.idle {
		return // it cannot be true
	}
	if n := len(s.scrapped); n > 0 && s.scrapped[n-1].idle == x.idle && s.scrapped[n-1].useless == x.useless {
		return
	}
	s.scrapped = append(s.scrapped, x)
	s.tells = s.tells || x.idle > 0
}

// scrap returns what a site last said of its idle GPUs until an instant; false if
// it said nothing, as agents did not before they were asked for it.
func (s *site) scrap(at protocol.Time) (last scrap, ok bool) {
	for _, x := range s.scrapped {
		if x.at <= at {
			last, ok = x, s.tells
		}
	}
	return last, ok
}

// fragments tells how many idle GPUs the usual jobs cannot use.
func (l *Log) fragments(q ask.Query, a *Answer) {
	at := l.moment(q, a)
	a.assume("as the sites said with their last offers: of their idle GPUs, how many the jobs that they were lately asked for could not have used, by the measure of FGD (docs/fgd.md)")
	type line struct {
		site  string
		s     scrap
		known bool
	}
	var lines []line
	for _, site := range l.siteNames() {
		if q.Site == "" || q.Site == site {
			s, ok := l.sites[site].scrap(at)
			lines = append(lines, line{site, s, ok})
		}
	}
	part := func(x line) float64 {
		if !x.known {
			return -1
		}
		return float64(x.s.useless) / float64(max(x.s.idle, 1))
	}
	slices.SortStableFunc(lines, func(x, y line) int { return cmp.Compare(part(y), part(x)) })
	a.Table = &Table{Head: []string{"site", "idle GPUs", "of no use, GPUs", "share", "as said at"}}
	for _, x := range lines {
		if !x.known {
			a.row(name(x.site), "not told", "", "", "")
			continue
		}
		subject := "site/" + x.site
		a.figure(subject, "idle", int64(x.s.idle), "thousandths")
		a.figure(subject, "of-no-use", int64(x.s.useless), "thousandths")
		a.figure(subject, "said", int64(x.s.at), "instant")
		share := a.percent(subject, "fragmentation", int64(x.s.useless), int64(x.s.idle))
		a.row(name(x.site), format.Thousandths(x.s.idle), format.Thousandths(x.s.useless), share, format.Clock(x.s.at))
	}
	a.Chart = l.scrapChart(q)
	if len(lines) == 0 || !lines[0].known {
		a.Kind, a.Table = "absent", nil
		a.say("No site had said by then how its idle GPUs lie: agents of an earlier version do not. `gridbid ask 'largest free block of gpus'` says which gangs fit.")
		return
	}
	x := lines[0]
	what := "At"
	if q.Site == "" && len(lines) > 1 {
		what = "Most at"
	}
	if x.s.idle == 0 {
		a.say("%s %s: no GPU was idle, so none lay in fragments.", what, name(x.site))
		return
	}
	a.say("%s %s: of %s idle GPUs %s were of no use to the usual jobs, which is %s.", what, name(x.site), format.Thousandths(x.s.idle), format.Thousandths(x.s.useless),
		a.percent("site/"+x.site, "fragmentation", int64(x.s.useless), int64(x.s.idle)))
}

// scrapChart draws the GPUs that were of no use, hour by hour.
func (l *Log) scrapChart(q ask.Query) *Chart {
	c := &Chart{Kind: "day", Title: "idle GPUs that the usual jobs cannot use", Unit: "thousandths"}
	for _, site := range l.siteNames() {
		if q.Site != "" && q.Site != site {
			continue
		}
		for h := l.first.Floor(time.Hour); h <= l.last; h = h.Add(time.Hour) {
			if s, ok := l.sites[site].scrap(h.Add(time.Hour) - 1); ok {
				c.add(site, Point{At: h, Value: int64(s.useless)})
			}
		}
	}
	return c.drawn()
}
