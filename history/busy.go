package history

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// GPUsHeldBySite returns how many GPUs of each site were held, in thousandths, as the
// mean of each step from one instant to another; the sites are those of Sites.
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
	for _, e := range b.allEntries() {
		for _, s := range e.rec.RunSegments() {
			row := sums[s.Run.Site]
			for i := max(0, int((s.Run.Started-from)/width)); i < len(row); i++ {
				at := from + protocol.Time(i)*width
				if s.Over && at >= s.Run.Ended {
					break
				}
				row[i] += s.gpuTimeHeld(at, at+width)
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

// gpuUtilization returns GPU-hours held over GPU-hours there were, in [Start, End).
func (b *History) gpuUtilization(m Meta) float64 {
	there := float64(m.GPUs) * float64(m.End-m.Start)
	if there <= 0 {
		return 0
	}
	var held int64
	for _, e := range b.allEntries() {
		for _, s := range e.rec.RunSegments() {
			held += s.gpuTimeHeld(m.Start, m.End)
		}
	}
	return float64(held) / there
}
