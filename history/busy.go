package history

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Busy returns how many GPUs of each site were held, in thousandths, as the
// mean of each step from one instant to another; the sites are those of Sites.
func (b *Book) Busy(from, to protocol.Time, step time.Duration) map[string][]protocol.Milli {
	width := protocol.Time(step.Milliseconds())
	busy := make(map[string][]protocol.Milli, len(b.sites))
	if width <= 0 || to <= from {
		return busy
	}
	sums := make(map[string][]int64, len(b.sites))
	n := int((to - from + width - 1) / width)
	for _, s := range b.Sites() {
		sums[s.Site] = make([]int64, n)
	}
	for _, e := range b.entries() {
		for _, r := range e.rec.apart() {
			row := sums[r.Run.Site]
			for i := max(0, int((r.Run.Started-from)/width)); i < len(row); i++ {
				at := from + protocol.Time(i)*width
				if r.State == Ended && at >= r.Run.Ended {
					break
				}
				row[i] += r.held(at, at+width)
			}
		}
	}
	for _, s := range b.Sites() {
		for _, v := range sums[s.Site] {
			busy[s.Site] = append(busy[s.Site], protocol.Milli(v/int64(width)))
		}
	}
	return busy
}

// util returns GPU-hours held over GPU-hours there were, in [Start, End).
func (b *Book) util(m Meta) float64 {
	there := float64(m.GPUs) * float64(m.End-m.Start)
	if there <= 0 {
		return 0
	}
	var held int64
	for _, e := range b.entries() {
		held += e.rec.held(m.Start, m.End)
	}
	return float64(held) / there
}

// apart returns a record for each run of the job that did not get lost.
func (r JobRecord) apart() (all []JobRecord) {
	for i := range r.Parts {
		all = append(all, JobRecord{Job: r.Job, State: Ended, Run: &r.Parts[i]})
	}
	if r.Run != nil {
		all = append(all, JobRecord{Job: r.Job, State: r.State, Run: r.Run})
	}
	return all
}

// held returns the thousandths of a GPU times milliseconds that the job held
// in [from, to).
func (r JobRecord) held(from, to protocol.Time) int64 {
	var ms int64
	for _, p := range r.Parts {
		ms += max(0, int64(min(to, p.Ended)-max(from, p.Started)))
	}
	if r.Run != nil {
		end := to
		if r.State == Ended {
			end = min(to, r.Run.Ended)
		}
		ms += max(0, int64(end-max(from, r.Run.Started)))
	}
	return int64(r.Job.GPU()) * ms
}
