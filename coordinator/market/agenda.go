package market

import (
	"cmp"
	"container/heap"

	"github.com/gridbid/gridbid/protocol"
)

// An agenda is the times at which lots want attention, soonest first; at one time
// by priority, then by arrival, since a call may not hold all that are due, and those
// in it are served first. Entries whose lot has moved on are skipped, not removed.
type agenda struct{ h entries }

type entry struct {
	due      protocol.Time
	priority int
	arrival  protocol.Time
	id       protocol.JobID
}

func (e entry) compare(o entry) int {
	return cmp.Or(cmp.Compare(e.due, o.due), cmp.Compare(o.priority, e.priority), cmp.Compare(e.arrival, o.arrival), cmp.Compare(e.id, o.id))
}

// add notes that a lot is due.
func (a *agenda) add(l *lot) {
	heap.Push(&a.h, entry{l.due, l.job.Priority, l.job.Arrival, l.job.ID})
}

// dated reports whether due means anything.
func (l *lot) dated() bool {
	return l.state == waiting || l.state == awarded || l.state == accepted && l.stop
}

// first returns when the first lot is due, or 0.
func (a *agenda) first(lots map[protocol.JobID]*lot) protocol.Time {
	for len(a.h) > 0 {
		e := a.h[0]
		if l := lots[e.id]; l != nil && l.due == e.due && l.dated() {
			return e.due
		}
		heap.Pop(&a.h)
	}
	return 0
}

// take returns the next lot that is due at now, or nil.
func (a *agenda) take(now protocol.Time, lots map[protocol.JobID]*lot) *lot {
	if due := a.first(lots); due == 0 || due > now {
		return nil
	}
	return lots[heap.Pop(&a.h).(entry).id]
}

type entries []entry

func (h entries) Len() int           { return len(h) }
func (h entries) Less(i, j int) bool { return h[i].compare(h[j]) < 0 }
func (h entries) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *entries) Push(x any)        { *h = append(*h, x.(entry)) }
func (h *entries) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
