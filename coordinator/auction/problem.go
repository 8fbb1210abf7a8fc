package auction

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A problem is one round in numbers: what each lot could do, what that costs,
// and what room there is.
type problem struct {
	grid
	planning protocol.Planning

	now          protocol.Time
	from         protocol.Time // of slot 0
	pools        []pool
	sums         []prefixSum // of their prices
	index        map[poolKey]int
	lots         []*ranking
	evaluations  int // at options so far, for their favourites
	priceVersion int // counts the changes of prices, from 1
	jobs         []protocol.Job
	sold         []*candidate // in this round

	full       bool   // every waiting job is in the round
	deferrable []bool // by lot: it can be left to the next full round
}

// A pool is the room of one GPU model at one site. Room is in GPU-hours per
// slot; price is in microdollars per GPU-hour.
type pool struct {
	key   poolKey
	size  float64    // GPU-hours of a slot, of all its GPUs
	bare  slotSeries // that the site has
	room  slotSeries // of it, open to jobs that can wait and not planned for held ones
	free  float64    // GPUs, at this instant
	open  float64    // of them, to jobs that can wait
	price slotSeries
}

// A candidate is an option of a lot with all that choosing needs.
type candidate struct {
	*protocol.BidOption
	site string
	pool int // -1: it holds no GPU
	gpu  protocol.Milli
	cost protocol.Microdollars // without the price of room
	a, b float64               // start and finish in slots
}

func newProblem(r Round, plan map[protocol.JobID]plannedPlace, known *priceMemory) *problem {
	g := newGrid(r.Planning.OrDefault())
	p := &problem{grid: g, planning: r.Planning.OrDefault(), now: r.Now, priceVersion: 1, full: r.Full, from: r.Now.Floor(g.slot), index: make(map[poolKey]int)}
	pools := 0
	for _, s := range r.Sites {
		pools += len(s.Capacity)
	}
	p.pools = make([]pool, 0, pools) // one is kilobytes
	p.sums = make([]prefixSum, 0, pools)
	for _, s := range r.Sites {
		for _, room := range s.Capacity {
			p.addPool(s.Name, room, known)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(plan)) {
		h := plan[id]
		if i, ok := p.index[h.pool]; ok {
			p.addGPUHours(&p.pools[i].room, p.positionOf(h.start), p.positionOf(h.finish), -float64(h.gpu)/1000)
		}
	}
	trust := make(map[string]protocol.Milli, len(r.Sites))
	for _, s := range r.Sites {
		trust[s.Name] = max(s.Trust, 1000)
	}
	for _, l := range r.Lots {
		p.jobs = append(p.jobs, l.Job)
		p.deferrable = append(p.deferrable, canWaitForFullRound(l, r.Next, p.planning.FirmLead))
		p.lots = append(p.lots, p.rankOptions(l, trust, r.Weights))
	}
	return p
}

// addPool takes in what a site says of one model. Its slots may lie otherwise
// than ours: each of ours takes the value at its own start.
func (p *problem) addPool(site string, room protocol.CapacityProfile, known *priceMemory) {
	q := pool{key: poolKey{site, room.Model}, size: float64(max(room.Total, 1000)) / 1000 * p.slotHours}
	open := room.ForDeferrable
	if len(open) == 0 {
		open = room.Free
	}
	for i := range p.slots {
		start := p.from.Add(time.Duration(i) * p.slot)
		j := 0
		if room.Slot > 0 && start > room.From {
			j = int(start.Sub(room.From) / room.Slot)
		}
		q.bare[i] = float64(valueAt(room.Free, j)) / 1000 * p.slotHours
		q.room[i] = min(q.bare[i], float64(valueAt(open, j))/1000*p.slotHours)
	}
	if len(room.Free) > 0 {
		q.free = float64(room.Free[0]) / 1000
		q.open = min(q.free, float64(open[0])/1000)
	}
	left := 1 - float64(hoursBetween(p.now, p.from)/p.slotHours)
	q.bare[0] *= left
	q.room[0] *= left
	q.price = known.pricesFrom(q.key, p.from)
	clear(q.price[p.slots:])
	p.index[q.key] = len(p.pools)
	p.pools = append(p.pools, q)
	p.sums = append(p.sums, prefixSum{})
	p.accumulateRates(&p.sums[len(p.sums)-1], &q.price)
}

// valueAt returns v[i], or the last value beyond the end, and the first before the begin.
func valueAt[N ~int64](v []N, i int) N {
	if len(v) == 0 {
		return 0
	}
	return v[max(0, min(i, len(v)-1))]
}

// poolOf returns the pool of which a job would hold GPUs, or -1.
func (p *problem) poolOf(j protocol.Job, site, model string) int {
	if j.TotalGPUMilli() == 0 {
		return -1
	}
	if i, ok := p.index[poolKey{site, model}]; ok {
		return i
	}
	return -1
}

// positionOf returns where in the plan an instant lies; what is past lies at now.
func (p *problem) positionOf(t protocol.Time) float64 {
	return p.grid.slotPosition(max(t, p.now), p.from)
}

// meanPrice returns the mean price of a GPU-hour of a pool between two positions.
func (p *problem) meanPrice(pool int, a, b float64) protocol.Microdollars {
	if pool < 0 || b <= a {
		return 0
	}
	return protocol.Microdollars(p.sums[pool].sumBetween(a, b) / ((b - a) * p.slotHours))
}
