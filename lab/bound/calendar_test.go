package bound

import (
	"testing"

	"pgregory.net/rapid"
)

// A calendar says of any cells what a look at each of them says, whatever was held and given back.
func TestACalendarKnowsTheMostOfAnyCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const slots = 4
		n, cells := newNodeCalendar(slots), make([]int32, slots*cellsPerSlot)
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			first := rapid.IntRange(0, len(cells)-1).Draw(t, "first")
			last := rapid.IntRange(first+1, len(cells)).Draw(t, "last")
			milli := rapid.Int32Range(0, 8000).Draw(t, "milli")
			if rapid.IntRange(0, 4).Draw(t, "fill") == 0 {
				n.fill(first-3, last+3, milli)
				for c := max(first-3, 0); c < min(last+3, len(cells)); c++ {
					cells[c] = milli
				}
				continue
			}
			n.add(first, last, milli)
			for c := first; c < last; c++ {
				cells[c] += milli
			}
		}
		for first := range cells {
			most := int32(0)
			for last := first + 1; last <= len(cells); last++ {
				most = max(most, cells[last-1])
				if got, ok := n.mostHeld(first, last, most); !ok || got != most {
					t.Fatalf("cells %d to %d hold at most %d; the calendar says %d, %v", first, last, most, got, ok)
				}
				if got, ok := n.mostHeld(first, last, most-1); ok {
					t.Fatalf("cells %d to %d hold %d; the calendar says at most %d", first, last, most, got)
				}
			}
		}
	})
}
