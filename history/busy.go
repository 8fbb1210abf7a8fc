package history

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// GPUsHeldBySite returns how many GPUs of each site were held, in thousandths, as the
// mean of each step from one instant to another; the sites are those of SiteRecords. A run that goes
// on holds its GPUs to the end of the record. Lost runs are left out: see RunSegment.
func (b *History) GPUsHeldBySite(from, to protocol.Time, step time.Duration) map[string][]protocol.Milli {
	width := protocol.Time(step.Milliseconds())
	busy := make(map[string][]protocol.Milli, len(b.sites))
	if width <= 0 || to <= from {
		return busy
	}
	sums := make(map[string][]int64, len(b.sites))
	// The last step may reach beyond to, and its mean is over the whole step.
	n := int((to - from + width - 1) / width)
	for _, s := range b.SiteRecords() {
		sums[s.Site] = make([]int64, n)
	}
	for _, e := range b.entries() {
		for _, s := range e.rec.RunSegments() {
			row, end := sums[s.Run.Site], b.span.Last
			if s.Over {
				end = s.Run.Ended
			}
			for i := max(0, int((s.Run.Started-from)/width)); i < len(row); i++ {
				at := from + protocol.Time(i)*width
				if at >= end {
					break
				}
				// Integers, so that sums do not depend on their order.
				row[i] += int64(s.Job.TotalGPUMilli()) * max(0, int64(min(end, at+width)-max(s.Run.Started, at)))
			}
		}
	}
	for _, s := range b.SiteRecords() {
		for _, v := range sums[s.Site] {
			busy[s.Site] = append(busy[s.Site], protocol.Milli(v/int64(width)))
		}
	}
	return busy
}
