package timeline

import (
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A stay is a job's time with one site: an award, and the run that followed. The log of a live
// coordinator does not show when a job starts, so a start is the planned one until a measured
// one is known.
type stay struct {
	award      *history.Decision
	start, end protocol.Time // end: 0 until it is known
}

// staysOf returns a job's stays, one for each award, oldest first, with the start as it is known
// at the end of the record.
func staysOf(r *history.JobRecord) (all []stay) {
	for i := range r.Awards {
		s := stay{award: &r.Awards[i], start: r.Awards[i].StartAsOf(forever)}
		s.end, _ = r.EndOf(s.award)
		all = append(all, s)
	}
	return all
}

// forever is later than any instant of a record.
const forever protocol.Time = 1 << 62

// meanGPUsHeld returns the GPUs that a site held, as the mean of each step, up to the end of the
// record. Awards that did not hold count for nothing.
func (d *Timeline) meanGPUsHeld(site string, from, to protocol.Time, step time.Duration) []float64 {
	width, last := protocol.Time(step.Milliseconds()), d.history.Coverage().Last
	sums := make([]int64, (to-from+width-1)/width)
	for r := range d.history.AllInstances() {
		for _, s := range staysOf(r) {
			if s.award.Site != site || s.start == 0 || s.award.Released != (history.MessageRef{}) {
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
				sums[i] += int64(r.Job.TotalGPUMilli()) * max(0, int64(min(end, at+width)-max(s.start, at)))
			}
		}
	}
	// Sums are thousandths of a GPU times milliseconds; the mean is in GPUs.
	var mean []float64
	for _, v := range sums {
		mean = append(mean, float64(v)/float64(width)/1000)
	}
	return mean
}
