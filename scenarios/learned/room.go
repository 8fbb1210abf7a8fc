package learned

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A roomBook is the GPUs that a round's sites have free, and what the round and the plan give of them.
type roomBook struct {
	pools []bookedPool
	fleet float64 // GPUs of all sites, in thousandths
}

// A bookedPool is the GPUs of one model at one site, by the slots of the site's profile.
type bookedPool struct {
	site    string
	profile *protocol.CapacityProfile
	given   []protocol.Milli // in this round
	planned []protocol.Milli // to deferred jobs
}

// A roomView is the room that an option has, in parts of its pool.
type roomView struct {
	freeNow, freeRun, openNow, planned, poolShare float64
	cpuUsed, memoryUsed                           float64 // of the pool's nodes, now; 0: none, or not stated
	gone                                          bool    // other jobs took what it needs
}

// readRound begins a round with what its sites stated and what the plan keeps.
func (b *roomBook) readRound(r *auction.Round, plan []plannedJob) {
	b.pools, b.fleet = b.pools[:0], 0
	for i := range r.Sites {
		for k := range r.Sites[i].Capacity {
			p := &r.Sites[i].Capacity[k]
			n := len(b.pools)
			b.pools = slices.Grow(b.pools, 1)[:n+1]
			q := &b.pools[n]
			q.site, q.profile = r.Sites[i].Name, p
			q.given, q.planned = zeroed(q.given, len(p.Free)), zeroed(q.planned, len(p.Free))
			b.fleet += float64(p.Total)
		}
	}
	for _, x := range plan {
		if q := b.poolOf(x.site, x.option.Model); q != nil {
			q.add(q.planned, x.option.Start, x.option.Finish, x.gpus)
		}
	}
}

// zeroed returns n zeros in the memory of v where that is large enough.
func zeroed(v []protocol.Milli, n int) []protocol.Milli {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}

// poolOf returns the pool of a model at a site, or nil: an option without GPUs has none.
func (b *roomBook) poolOf(site, model string) *bookedPool {
	for i := range b.pools {
		if q := &b.pools[i]; model != "" && q.site == site && q.profile.Model == model {
			return q
		}
	}
	return nil
}

// slotsOf returns the slots that a run touches, at least one, cut to the profile.
func (q *bookedPool) slotsOf(start, finish protocol.Time) (from, to int) {
	n := len(q.given)
	if n == 0 || q.profile.Slot <= 0 {
		return 0, 0
	}
	from = min(max(int(start.Sub(q.profile.From)/q.profile.Slot), 0), n)
	to = min(max(int((finish.Sub(q.profile.From)+q.profile.Slot-1)/q.profile.Slot), from+1), n)
	return from, max(from, to)
}

// add gives GPUs of the pool to a run.
func (q *bookedPool) add(to []protocol.Milli, start, finish protocol.Time, gpus protocol.Milli) {
	first, end := q.slotsOf(start, finish)
	for i := first; i < end; i++ {
		to[i] += gpus
	}
}

// give gives a candidate's GPUs to its job for the rest of the round.
func (b *roomBook) give(r *auction.Round, c *candidate, gpus protocol.Milli) {
	if q := b.poolOf(r.Sites[c.site].Name, c.option.Model); q != nil {
		q.add(q.given, c.option.Start, c.option.Finish, gpus)
	}
}

// look returns the room of a candidate. The site has looked at its nodes before it bid, so its word
// counts unless other jobs have been given of the same GPUs since. The plan keeps room from later
// starts alone: sites do not know of it, and a start now leaves what it finds.
func (b *roomBook) look(r *auction.Round, c *candidate, gpus protocol.Milli) roomView {
	q := b.poolOf(r.Sites[c.site].Name, c.option.Model)
	if q == nil || q.profile.Total <= 0 || len(q.given) == 0 {
		return roomView{freeNow: 1, freeRun: 1, openNow: 1}
	}
	total := float64(q.profile.Total)
	now, _ := q.slotsOf(r.Now, r.Now.Add(time.Second))
	now = min(now, len(q.given)-1)
	v := roomView{poolShare: ratioOf(total, b.fleet), freeNow: float64(q.profile.Free[now]-q.given[now]) / total, openNow: 1}
	v.cpuUsed, v.memoryUsed = float64(q.profile.CPUUsed)/1000, float64(q.profile.MemoryUsed)/1000
	if open := q.profile.ForDeferrable; len(open) > 0 {
		v.openNow = float64(open[min(now, len(open)-1)]) / total
	}
	first, end := q.slotsOf(c.option.Start, c.option.Finish)
	least, kept, others := q.profile.Total, protocol.Milli(0), protocol.Milli(0)
	for i := first; i < end; i++ {
		left, taken := q.profile.Free[i]-q.given[i], q.given[i]
		if c.option.Start > r.Now {
			left, taken = left-q.planned[i], taken+q.planned[i]
		}
		least, kept, others = min(least, left), max(kept, q.planned[i]), max(others, taken)
	}
	v.freeRun, v.planned = float64(least)/total, float64(kept)/total
	v.gone = others > 0 && least < gpus
	return v
}
