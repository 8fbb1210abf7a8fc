package fgd

import (
	"cmp"
	"slices"
)

// popularPercent is the share of arrivals that a target made from a window
// covers, in percent, as in the published runs (§3).
const popularPercent = 95

// window counts the latest arrivals by kind of request.
type window struct {
	ring         []int32 // the arrivals, as indexes of kinds
	at           int     // index of the oldest arrival, overwritten next, once the ring is full
	kinds        []Class // Count 0: the index is unused and in spare
	index        map[Request]int32
	spare        []int32
	since        int // arrivals since the latest update of the target
	refreshEvery int
}

// fillFromTarget fills the window with the given target, as if its classes had arrived in
// their proportions and evenly mixed, so that early updates move it gradually.
func (w *window) fillFromTarget(cfg Config, classes []Class) {
	if cfg.Window == 0 {
		return
	}
	w.ring = make([]int32, 0, cfg.Window)
	w.index = map[Request]int32{}
	w.refreshEvery = cfg.Refresh
	if w.refreshEvery == 0 {
		w.refreshEvery = max(cfg.Window/16, 1)
	}
	var total int64
	for _, k := range classes {
		total += k.Count
	}
	if total == 0 {
		return
	}
	// The window's next place goes to the class that is furthest behind its
	// share; a class's j-th copy is due at (2j+1)/2 of its stride.
	type due struct {
		at   float64
		kind int32
	}
	var dues []due
	for _, k := range classes {
		n := (k.Count*int64(cfg.Window) + total/2) / total
		i := w.kindIndex(classRequest(k.Request))
		for j := range n {
			dues = append(dues, due{(float64(j) + 0.5) / float64(n), i})
		}
	}
	slices.SortStableFunc(dues, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	for _, d := range dues {
		w.pushArrival(d.kind)
	}
}

// classRequest returns r reduced to the fields that a class of the target has (§3).
func classRequest(r Request) Request {
	r = r.normalizedRequest()
	r.Memory, r.GPUMemory = 0, 0
	return r
}

// kindIndex returns the index of r in kinds, and adds r if it is new.
func (w *window) kindIndex(r Request) int32 {
	i, ok := w.index[r]
	if ok {
		return i
	}
	if k := len(w.spare); k > 0 {
		i, w.spare = w.spare[k-1], w.spare[:k-1]
		w.kinds[i] = Class{Request: r}
	} else {
		i = int32(len(w.kinds))
		w.kinds = append(w.kinds, Class{Request: r})
	}
	w.index[r] = i
	return i
}

// pushArrival counts an arrival, and uncounts the one that leaves the window.
func (w *window) pushArrival(i int32) {
	w.kinds[i].Count++
	if len(w.ring) < cap(w.ring) {
		w.ring = append(w.ring, i)
		return
	}
	old := w.ring[w.at]
	w.ring[w.at] = i
	w.at = (w.at + 1) % len(w.ring)
	if w.kinds[old].Count--; w.kinds[old].Count == 0 {
		delete(w.index, w.kinds[old].Request)
		w.spare = append(w.spare, old)
	}
}

// ObserveArrival counts an arrival, placed or not, in the window that makes the target;
// see Config.Window. It does nothing without a window or for an invalid request.
// An arrival costs a few nanoseconds. Once every Config.Refresh arrivals ObserveArrival
// also updates the target: a pass over all nodes now, and another for each
// class at its next decision.
func (c *Cluster) ObserveArrival(r Request) {
	w := &c.window
	if w.index == nil || r.validateRequest() != nil {
		return
	}
	w.pushArrival(w.kindIndex(classRequest(r)))
	if w.since++; w.since < w.refreshEvery {
		return
	}
	w.since = 0
	live := make([]Class, 0, len(w.kinds))
	for _, k := range w.kinds {
		if k.Count > 0 {
			live = append(live, k)
		}
	}
	c.changeTarget(PopularClasses(live, popularPercent))
}

// TargetClasses returns a copy of the target workload that F is measured against now.
func (c *Cluster) TargetClasses() []Class { return slices.Clone(c.target.classes) }
