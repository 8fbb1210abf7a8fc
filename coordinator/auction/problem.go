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
	*arena
	planning protocol.Planning
	jitter   CostJitter

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
	waits      []bool // by lot: has no option because waiting costs less than what is left

	groups []partGroup // of lots that are placed together: see parts.go
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
	// reach is of the price search: from this slot on no lot's choice uses capacity, and price and
	// direction are 0.
	reach int
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
	return newProblemIn(new(arena), r, plan, slices.Sorted(maps.Keys(plan)), known)
}

// newProblemIn is newProblem in the memory of m: the problem that was made in it before is
// lost. Order is the sorted jobs of the plan.
func newProblemIn(m *arena, r Round, plan map[protocol.JobID]plannedPlace, order []protocol.JobID, known *priceMemory) *problem {
	g := newGrid(r.Planning.OrDefault())
	pools := 0
	for _, s := range r.Sites {
		pools += len(s.Capacity)
	}
	p := &problem{grid: g, arena: m, planning: r.Planning.OrDefault(), jitter: r.jitter, now: r.Now, priceVersion: 1, full: r.Full, from: r.Now.Floor(g.slot), index: make(map[poolKey]int, pools)}
	p.pools, p.sums = m.reusePools(pools)
	for i := range r.Sites {
		for k := range r.Sites[i].Capacity {
			p.addPool(r.Sites[i].Name, &r.Sites[i].Capacity[k], known)
		}
	}
	for _, id := range order {
		h := plan[id]
		if i, ok := p.index[h.pool]; ok {
			p.addGPUHours(&p.pools[i].room, p.positionOf(h.start), p.positionOf(h.finish), -float64(h.gpu)/1000)
		}
	}
	trust := make(map[string]protocol.Milli, len(r.Sites))
	for _, s := range r.Sites {
		trust[s.Name] = max(s.Trust, 1000)
	}
	p.addLots(r, trust)
	return p
}

// addLots adds the lots of a round with their rankings.
func (p *problem) addLots(r Round, trust map[string]protocol.Milli) {
	weights := r.Weights.ForRanking()
	n := len(r.Lots)
	p.waits, p.deferrable, p.jobs, p.lots = make([]bool, n), make([]bool, n), make([]protocol.Job, n), make([]*ranking, n)
	rankings := make([]ranking, n)
	for i, l := range r.Lots {
		p.jobs[i], p.deferrable[i], p.lots[i] = l.Job, canWaitForFullRound(l, r.Next, p.planning.FirmLead), &rankings[i]
		p.rankOptions(p.lots[i], &r.Lots[i], trust, weights)
	}
}

// addPool adds a site's capacity profile of one model. The site's slots may be shifted against
// ours: each of ours takes the site's value at its own start. Of slot 0 only the rest from now on
// counts. The pool's memory may hold one of an earlier round.
func (p *problem) addPool(site string, room *protocol.CapacityProfile, known *priceMemory) {
	n := len(p.pools)
	p.pools, p.sums = p.pools[:n+1], p.sums[:n+1]
	q := &p.pools[n]
	q.key, q.size, q.free, q.open, q.reach = poolKey{site, room.Model}, float64(max(room.Total, 1000))/1000*p.slotHours, 0, 0, p.slots
	open := room.ForDeferrable
	if len(open) == 0 {
		open = room.Free
	}
	shift := p.from.Sub(room.From)
	aligned := room.Slot == p.slot && shift%p.slot == 0
	for i := range p.slots {
		j := i + int(shift/p.slot)
		if !aligned {
			j = 0
			if start := p.from.Add(time.Duration(i) * p.slot); room.Slot > 0 && start > room.From {
				j = int(start.Sub(room.From) / room.Slot)
			}
		}
		q.bare[i] = float64(valueAt(room.Free, j)) / 1000 * p.slotHours
		q.room[i] = min(q.bare[i], float64(valueAt(open, j))/1000*p.slotHours)
	}
	clear(q.bare[p.slots:])
	clear(q.room[p.slots:])
	if len(room.Free) > 0 {
		q.free = float64(room.Free[0]) / 1000
		q.open = min(q.free, float64(open[0])/1000)
	}
	left := 1 - float64(hoursBetween(p.now, p.from)/p.slotHours)
	q.bare[0] *= left
	q.room[0] *= left
	p.index[q.key] = n
	if !known.readPrices(&q.price, q.key, p.from) {
		p.sums[n] = prefixSum{}
		return
	}
	clear(q.price[p.slots:])
	p.accumulateRates(&p.sums[n], &q.price)
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
