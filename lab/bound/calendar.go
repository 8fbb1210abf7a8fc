package bound

import "slices"

// A nodeCalendar has the thousandths of GPUs of a node that are held, by cell of time.
type nodeCalendar struct {
	held []int32
	// most is the most of held in each slot, so that a look at a long run need not visit all of its cells.
	most []int32
}

// newNodeCalendar returns the calendar of an idle node for so many slots.
func newNodeCalendar(slots int) nodeCalendar {
	return nodeCalendar{held: make([]int32, slots*cellsPerSlot), most: make([]int32, slots)}
}

// mostHeld returns the most that is held in any of the cells [first, last), which must be some;
// false if that is above a limit.
func (n *nodeCalendar) mostHeld(first, last int, limit int32) (full int32, ok bool) {
	for c := first; c < last; {
		h, next := n.held[c], c+1
		if c%cellsPerSlot == 0 && c+cellsPerSlot <= last {
			h, next = n.most[c/cellsPerSlot], c+cellsPerSlot
		}
		if h > limit {
			return 0, false
		}
		full, c = max(full, h), next
	}
	return full, true
}

// add holds more, or less, in the cells [first, last).
func (n *nodeCalendar) add(first, last int, milli int32) {
	for c := first; c < last; c++ {
		n.held[c] += milli
	}
	n.updateMost(first, last)
}

// fill holds so much in those of the cells [first, last) that the calendar has.
func (n *nodeCalendar) fill(first, last int, milli int32) {
	first, last = max(first, 0), min(last, len(n.held))
	if first >= last {
		return
	}
	for c := first; c < last; c++ {
		n.held[c] = milli
	}
	n.updateMost(first, last)
}

// updateMost recomputes most after the cells [first, last), which are some, have changed.
func (n *nodeCalendar) updateMost(first, last int) {
	for t := first / cellsPerSlot; t*cellsPerSlot < last; t++ {
		n.most[t] = slices.Max(n.held[t*cellsPerSlot : (t+1)*cellsPerSlot])
	}
}
