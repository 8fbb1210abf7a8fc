package query

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// answerUtilization says which part of its GPUs each site had held, over a window or in
// the hour of an instant. What was lost later held them too.
func (l *Dataset) answerUtilization(q ask.Query) (r Result) {
	from, to := l.firstTime(), l.lastTime()
	switch {
	case q.At != 0:
		from, to = q.At.Floor(time.Hour), q.At.Floor(time.Hour).Add(time.Hour)
		r.addAssumption("the hour from %s", valueOf("run", "from", from))
	case q.To != 0:
		from, to = q.From, q.To
	default:
		r.addAssumption("no time was named, so the whole record, %s to %s UTC", firstTimeFigure(l), lastTimeFigure(l))
	}
	// A line is a site, a GPU model or an hour.
	type line struct {
		name          string
		held, present int64 // thousandths of a GPU times milliseconds
	}
	by := make(map[string]*line)
	var all line
	add := func(name, site, model string, from, to protocol.Time) {
		x := entryOf(by, name)
		held, present := l.gpuTimeHeld(site, model, from, to), gpuTime(l.history.ReportingSite(site), model, from, to)
		x.name, x.held, x.present = name, x.held+held, x.present+present
		all.held, all.present = all.held+held, all.present+present
	}
	for s := range l.sitesIn(q) {
		switch q.By {
		case "model":
			for _, m := range l.modelNames() {
				if q.Model == "" || m == q.Model {
					add(m, s, m, from, to)
				}
			}
		case "hour":
			for at := from.Floor(time.Hour); at < to; at = at.Add(time.Hour) {
				add(at.String(), s, q.Model, max(at, from), min(at.Add(time.Hour), to))
			}
		default:
			add(s, s, q.Model, from, to)
		}
	}
	kind := cmp.Or(q.By, "site")
	share := func(x line) protocol.Milli { return shareOf(x.held, x.present) }
	var lines []line
	for _, name := range sortedKeys(by) {
		if by[name].present > 0 || q.By != "model" && q.Model == "" {
			lines = append(lines, *by[name])
		}
	}
	slices.SortStableFunc(lines, func(x, y line) int {
		if q.Pick == "least" {
			x, y = y, x
		}
		return cmp.Compare(share(y), share(x))
	})
	r.Head = []string{kind, "GPU-hours held", "GPU-hours there", "utilization"}
	var drawn []Figure
	for _, x := range lines {
		subject := kind + "/" + x.name
		part := valueOf(subject, "utilization", share(x))
		r.addRow(namePart(x.name), valueOf(subject, "held", gpuMilliseconds(x.held/1000)), valueOf(subject, "there", gpuMilliseconds(x.present/1000)), asPercent(part))
		drawn = append(drawn, part)
	}
	r.Chart = barChart("sites", "GPU utilization by "+kind, drawn)
	if all.present == 0 {
		r.addSentence("No site had said of any GPU by then.")
		return r
	}
	subject := subjectOf(q)
	r.addSentence("Jobs held %s of the GPU time that there was: %s GPU-hours of %s GPU-hours.", asPercent(valueOf(subject, "utilization", share(all))),
		valueOf(subject, "held", gpuMilliseconds(all.held/1000)), valueOf(subject, "there", gpuMilliseconds(all.present/1000)))
	if len(lines) > 1 {
		fullest, emptiest := lines[0], lines[len(lines)-1]
		if q.Pick == "least" {
			fullest, emptiest = emptiest, fullest
		}
		of := func(x line) Part { return asPercent(valueOf(kind+"/"+x.name, "utilization", share(x))) }
		r.addSentence("The most: %s, with %s; the least: %s, with %s.", namePart(fullest.name), of(fullest), namePart(emptiest.name), of(emptiest))
	}
	return r
}

// gpuTimeHeld returns what jobs held of a site's GPUs, or of those of one model, in a window, in thousandths
// of a GPU times milliseconds.
func (l *Dataset) gpuTimeHeld(site, model string, from, to protocol.Time) (sum int64) {
	for _, rec := range l.allInstances() {
		during := func(run history.Run, job protocol.Job, begin, end protocol.Time) {
			if run.Site != site || model != "" && run.Model != model {
				return
			}
			sum += int64(job.TotalGPUMilli()) * max(0, int64(min(end, to)-max(begin, from)))
		}
		for _, s := range rec.RunSegments() {
			switch {
			case s.Run.Started == 0:
			case s.Over:
				during(*s.Run, s.Job, s.Run.Started, s.Run.Ended)
			default:
				during(*s.Run, s.Job, s.Run.Started, to)
			}
		}
		// Runs that were lost to an outage or a preemption held devices until then.
		for _, lost := range rec.Lost {
			during(lost, rec.JobIn(&lost), lost.Started, lost.Exited.At)
		}
	}
	return sum
}

// gpuTime returns the GPUs that a site had in a window, in the same unit as
// gpuTimeHeld. Before its first report, a site counts as having the inventory of that report.
func gpuTime(s *history.SiteRecord, model string, from, to protocol.Time) (sum int64) {
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
				if model != "" && pool.Model != model {
					continue
				}
				sum += int64(pool.GPUs) * 1000 * int64(overlap)
			}
		}
	}
	return sum
}
