package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
)

// fragments tells how many idle GPUs the usual jobs cannot use.
func (l *Log) fragments(q ask.Query, a *Answer) {
	at := l.moment(q, a)
	a.assume("as the sites said with their last offers: of their idle GPUs, how many the jobs that they were lately asked for could not have used, by the measure of FGD (docs/fgd.md)")
	type line struct {
		site  string
		s     history.IdleGPUs
		known bool
	}
	var lines []line
	for _, site := range l.book.ReportingSiteNames() {
		if q.Site == "" || q.Site == site {
			s, ok := l.book.ReportingSite(site).IdleGPUsAt(at)
			lines = append(lines, line{site, s, ok})
		}
	}
	part := func(x line) float64 {
		if !x.known {
			return -1
		}
		return float64(x.s.Unusable) / float64(max(x.s.Idle, 1))
	}
	slices.SortStableFunc(lines, func(x, y line) int { return cmp.Compare(part(y), part(x)) })
	a.Table = &Table{Head: []string{"site", "idle GPUs", "of no use, GPUs", "share", "as said at"}}
	for _, x := range lines {
		if !x.known {
			a.row(name(x.site), "not told", "", "", "")
			continue
		}
		subject := "site/" + x.site
		a.figure(subject, "idle", int64(x.s.Idle), "thousandths")
		a.figure(subject, "of-no-use", int64(x.s.Unusable), "thousandths")
		a.figure(subject, "said", int64(x.s.At), "instant")
		share := a.percent(subject, "fragmentation", int64(x.s.Unusable), int64(x.s.Idle))
		a.row(name(x.site), format.FormatThousandths(x.s.Idle), format.FormatThousandths(x.s.Unusable), share, format.FormatInstant(x.s.At))
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
	if x.s.Idle == 0 {
		a.say("%s %s: no GPU was idle, so none lay in fragments.", what, name(x.site))
		return
	}
	a.say("%s %s: of %s idle GPUs %s were of no use to the usual jobs, which is %s.", what, name(x.site), format.FormatThousandths(x.s.Idle), format.FormatThousandths(x.s.Unusable),
		a.percent("site/"+x.site, "fragmentation", int64(x.s.Unusable), int64(x.s.Idle)))
}

// scrapChart draws the GPUs that were of no use, hour by hour.
func (l *Log) scrapChart(q ask.Query) *Chart {
	c := &Chart{Kind: "day", Title: "idle GPUs that the usual jobs cannot use", Unit: "thousandths"}
	for _, site := range l.book.ReportingSiteNames() {
		if q.Site != "" && q.Site != site {
			continue
		}
		for h := l.first().Floor(time.Hour); h <= l.last(); h = h.Add(time.Hour) {
			if s, ok := l.book.ReportingSite(site).IdleGPUsAt(h.Add(time.Hour) - 1); ok {
				c.add(site, Point{At: h, Value: int64(s.Unusable)})
			}
		}
	}
	return c.drawn()
}
