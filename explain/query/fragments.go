package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
)

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
