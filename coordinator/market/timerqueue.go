package market

import (
	"cmp"
	"container/heap"

	"github.com/gridbid/gridbid/protocol"
)

// A timerQueue orders lots by when they are due; at one time by priority, then by arrival, because
// a call may not hold all that are due and those in it are served first. Entries are never removed
// when a lot's time changes: nextDue drops those that no longer match their lot.
type timerQueue struct{ heap timerHeap }

type timerEntry struct {
	due      protocol.Time
	priority int
	arrival  protocol.Time
	id       protocol.JobID
}

// compareByDue is a total order (the id decides last), so that pops do not depend on insertion
// order.
func (e timerEntry) compareByDue(o timerEntry) int {
	return cmp.Or(cmp.Compare(e.due, o.due), cmp.Compare(o.priority, e.priority), cmp.Compare(e.arrival, o.arrival), cmp.Compare(e.id, o.id))
}

// addToTimerQueue adds an entry for a lot's current due time.
func (a *timerQueue) addToTimerQueue(l *lot) {
	heap.Push(&a.heap, timerEntry{l.due, l.job.Priority, l.job.Arrival, l.job.ID})
}

// hasTimer reports whether the lot's due time is in force in its state.
func (l *lot) hasTimer() bool {
	switch l.state {
	case waiting:
		return l.whole == nil || l.due != 0 // a part without a time rests: see parts.go
	case awarded:
		return l.whole == nil
	case accepted:
		return l.cancelRequested || l.preempt != nil || l.watched
	case divided:
		return l.due != 0
	}
	return false
}

// nextDue returns when the first lot is due, or 0 if none is.
func (a *timerQueue) nextDue(lots map[protocol.JobID]*lot) protocol.Time {
	for len(a.heap) > 0 {
		e := a.heap[0]
		if l := lots[e.id]; l != nil && l.due == e.due && l.hasTimer() {
			return e.due
		}
		heap.Pop(&a.heap)
	}
	return 0
}

// popDueLot removes and returns the first lot that is due at now, or nil.
func (a *timerQueue) popDueLot(now protocol.Time, lots map[protocol.JobID]*lot) *lot {
	if due := a.nextDue(lots); due == 0 || due > now {
		return nil
	}
	return lots[heap.Pop(&a.heap).(timerEntry).id]
}

// timerHeap implements heap.Interface.
type timerHeap []timerEntry

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].compareByDue(h[j]) < 0 }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)        { *h = append(*h, x.(timerEntry)) }
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
