package timeline

import (
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A stay is a job's time with one site: an award, and the run that came of it. A live
// coordinator does not hear when a job starts, so a start is what was planned until
// something better is known.
type stay struct {
	award      *history.Decision
	start, end protocol.Time // end: 0 until it is known
	paused     bool          // it ended in a pause, and the rest is to be sold
}

// stays returns a job's, oldest first.
func stays(r *history.JobRecord) (all []stay) {
	for i := range r.Awards {
		a := &r.Awards[i]
		all = append(all, stayOf(r, a))
	}
	return all
}

func stayOf(r *history.JobRecord, a *history.Decision) stay {
	s := stay{award: a, start: a.StartAsOf(forever)}
	if run := r.RunOf(a); run != nil {
		if s.end = run.Exited.At; run.Done != (history.Origin{}) {
			s.end = run.Ended
		}
		s.paused = run.Paused
	}
	return s
}

const forever protocol.Time = 1 << 62

// jobAt returns the state of a job at an instant: "", "waiting", "planned",
// "running", "ended" or "refused", and the site that it is with.
func jobAt(r *history.JobRecord, t protocol.Time) (state, site string) {
	switch {
	case r.Began() > t:
		return "", ""
	case r.Refusal != nil && r.Refusal.Said.At <= t:
		return "refused", ""
	}
	var a *history.Decision
	for i := range r.Awards {
		if r.Awards[i].Said.At <= t {
			a = &r.Awards[i]
		}
	}
	if a == nil || a.Released.At != 0 && a.Released.At <= t {
		return "waiting", ""
	}
	s := stayOf(r, a)
	switch start := a.StartAsOf(t); {
	case start == 0 || start > t:
		return "planned", a.Site
	case s.end == 0 || s.end > t:
		return "running", a.Site
	case s.paused:
		return "waiting", ""
	}
	return "ended", a.Site
}

// busy returns the GPUs that a site held, as the mean of each step, as far as the
// record goes.
func (d *Diary) busy(site string, from, to protocol.Time, step time.Duration) []float64 {
	width, last := protocol.Time(step.Milliseconds()), d.book.Coverage().Last
	sums := make([]int64, (to-from+width-1)/width)
	for r := range d.book.Instances() {
		for _, s := range stays(r) {
			if s.award.Site != site || s.start == 0 || s.award.Released != (history.Origin{}) {
				continue
			}
			end := s.end
			if end == 0 {
				end = last
			}
			for i := max(0, int((s.start-from)/width)); i < len(sums); i++ {
				at := from + protocol.Time(i)*width
				if s.end != 0 && at >= s.end {
					break
				}
				sums[i] += int64(r.Job.GPU()) * max(0, int64(min(end, at+width)-max(s.start, at)))
			}
		}
	}
	var mean []float64
	for _, v := range sums {
		mean = append(mean, float64(v)/float64(width)/1000)
	}
	return mean
}
