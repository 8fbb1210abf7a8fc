package auction

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A problem is one round in numbers: the options of each lot, their costs, and the capacity there
// is.
type problem struct {
	grid
	planning protocol.Planning

	now          protocol.Time
	from         protocol.Time // start of slot 0
	pools        []pool
	sums         []prefixSum // prefix sums of the pools' prices
	index        map[poolKey]int
	lots         []*ranking
	evaluations  int // options looked at so far, against maxEvaluations
	priceVersion int // counts price changes from 1; tells when cached choices are stale
	jobs         []protocol.Job
	sold         []*candidate // chosen and reserved in this round

	full       bool   // every waiting job is in the round
	deferrable []bool // by lot: can wait for the next full round
}

// A pool is the capacity of one GPU model at one site: GPU-hours per slot, and prices in
// microdollars per GPU-hour.
type pool struct {
	key   poolKey
	size  float64    // GPU-hours per slot of all its GPUs
	bare  slotSeries // free at the site
	room  slotSeries // of bare, open to deferrable jobs and not in the plan
	free  float64    // GPUs free at this instant
	open  float64    // of free, open to deferrable jobs
	price slotSeries
}

// A candidate is an option of a lot with everything that choosing needs.
type candidate struct {
	*protocol.BidOption
	site string
	pool int // -1: uses no GPU
	gpu  protocol.Milli
	cost protocol.Microdollars // by the objective, without the price of capacity
	a, b float64               // start and finish as positions
}

// newProblem returns the problem of a round, with the plan's capacity taken and the known prices
// set.
func newProblem(r Round, plan map[protocol.JobID]plannedPlace, known *priceMemory) *problem {
	g := newGrid(r.Planning.OrDefault())
	p := &problem{grid: g, planning: r.Planning.OrDefault(), now: r.Now, priceVersion: 1, full: r.Full, from: r.Now.Floor(g.slot), index: make(map[poolKey]int)}
	pools := 0
	for _, s := range r.Sites {
		pools += len(s.Capacity)
	}
	p.pools = make([]pool, 0, pools) // sized at once: a pool has kilobytes
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

// addPool adds a site's capacity profile of one model. The site's slots may be shifted against
// ours: each of ours takes the site's value at its own start. Of slot 0 only the rest from now on
// counts.
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

// valueAt returns v[i], the first value before the beginning, and the last beyond the end.
func valueAt[N ~int64](v []N, i int) N {
	if len(v) == 0 {
		return 0
	}
	return v[max(0, min(i, len(v)-1))]
}

// poolOf returns the index of the pool whose GPUs a job would use, or -1.
func (p *problem) poolOf(j protocol.Job, site, model string) int {
	if j.TotalGPUMilli() == 0 {
		return -1
	}
	if i, ok := p.index[poolKey{site, model}]; ok {
		return i
	}
	return -1
}

// positionOf returns the position of an instant; the past lies at now.
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
