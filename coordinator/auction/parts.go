package auction

import (
	"cmp"
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// The parts of a job that may go to different sites are lots of their own, and are placed together or not
// at all: at no more sites than the job allows, with starts at most MaxStartDelay apart. Before the lots
// of a round choose, a branch-and-bound search at the round's prices picks the cheapest combination of
// options for each such job; then its lots have no other option. The search is exact unless it uses up
// maxCombinations, which three parts with 64 options each cannot; else its best so far counts.
//
// The certificate covers parts: in its bound a job's parts count with their cheapest combination, or with
// the sum of their own cheapest options, which is no more, if that search was cut short.

// maxCombinations bounds the options that one search looks at.
const maxCombinations = 300_000

// A partGroup is the lots of the parts of one job.
type partGroup struct {
	lots     []int // in the order of the round
	maxSites int
}

// groupParts returns the groups of a round's lots, those of higher priority first, then as they come.
func groupParts(lots []Lot) (groups []partGroup) {
	index := make(map[protocol.JobID]int)
	for i := range lots {
		j := &lots[i].Job
		if j.PartOf == "" {
			continue
		}
		g, ok := index[j.PartOf]
		if !ok {
			g, index[j.PartOf] = len(groups), len(groups)
			groups = append(groups, partGroup{maxSites: j.MaxSites})
		}
		groups[g].lots = append(groups[g].lots, i)
	}
	slices.SortStableFunc(groups, func(x, y partGroup) int {
		return cmp.Compare(lots[y.lots[0]].Job.Priority, lots[x.lots[0]].Job.Priority)
	})
	return groups
}

// A combinationSearch looks for the cheapest combination of options of a group.
type combinationSearch struct {
	p        *problem
	group    partGroup
	left     *remainingCapacity // nil: capacity does not matter
	reserved bool               // what sites keep from deferrable jobs, and what is planned, counts as free
	onOffer  bool               // capacity matters only in so far as no two parts take it from one pool
	order    []int              // of the group's lots: the one with the fewest options first
	options  [][]pricedChoice   // by order, the cheapest first
	least    []float64          // by order: the sum of the cheapest options from there on
	chosen   []int              // by order
	best     []int              // by order; nil: none yet
	value    float64            // of best
	visits   int
}

// A pricedChoice is an option of a lot and its cost, capacity included.
type pricedChoice struct {
	cost   float64
	option int
}

// searchCombination prepares a search at a price of capacity; nil if a part has no option.
func (p *problem) searchCombination(g partGroup, price capacityPricing) *combinationSearch {
	x := &combinationSearch{p: p, group: g, value: math.Inf(1), order: slices.Clone(g.lots), chosen: make([]int, len(g.lots))}
	slices.SortStableFunc(x.order, func(a, b int) int { return cmp.Compare(p.lots[a].candidateCount(), p.lots[b].candidateCount()) })
	for _, lot := range x.order {
		r := p.lots[lot]
		if r.candidateCount() == 0 {
			return nil
		}
		r.ensureSorted(r.candidateCount() - 1)
		all := make([]pricedChoice, len(r.scored))
		for c := range r.scored {
			all[c] = pricedChoice{r.scored[c].cost + price(r, &r.scored[c]), c}
		}
		slices.SortFunc(all, func(a, b pricedChoice) int {
			return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.option, b.option))
		})
		x.options = append(x.options, all)
	}
	x.least = make([]float64, len(x.order)+1)
	for i := len(x.order) - 1; i >= 0; i-- {
		x.least[i] = x.least[i+1] + x.options[i][0].cost
	}
	return x
}

// extend tries the options of the parts from i on, beside those chosen so far, which cost sum.
func (x *combinationSearch) extend(i int, sum float64) {
	if i == len(x.order) {
		x.best, x.value = slices.Clone(x.chosen), sum
		return
	}
	r := x.p.lots[x.order[i]]
	for _, c := range x.options[i] {
		if sum+c.cost+x.least[i+1] >= x.value || x.visits >= maxCombinations {
			return
		}
		x.visits++
		if x.chosen[i] = c.option; !x.goesTogether(i) {
			continue
		}
		if x.left == nil {
			x.extend(i+1, sum+c.cost)
			continue
		}
		hours, free := x.left.planned, x.left.open
		if x.reserved {
			hours, free = x.left.bare, x.left.free
		}
		if x.p.fitsCapacity(r, &r.scored[c.option], hours, free) {
			x.left.takeOption(r, c.option, 1)
			x.extend(i+1, sum+c.cost)
			x.left.takeOption(r, c.option, -1)
		}
	}
}

// goesTogether reports whether the options chosen up to part i start at about one time, at no more sites than
// the job allows.
func (x *combinationSearch) goesTogether(i int) bool {
	var sites [protocol.MaxParts]string
	n, first, last := 0, protocol.Time(math.MaxInt64), protocol.Time(0)
	for k := range i + 1 {
		o := x.p.lots[x.order[k]].candidateAt(x.chosen[k])
		if last := x.p.lots[x.order[i]].candidateAt(x.chosen[i]); x.onOffer && k < i && last.overlapsWith(o) {
			return false
		}
		first, last = min(first, o.Start), max(last, o.Start)
		if !slices.Contains(sites[:n], o.site) {
			if n == min(x.group.maxSites, len(sites)) {
				return false
			}
			sites[n] = o.site
			n++
		}
	}
	return last.Sub(first) <= x.p.planning.MaxStartDelay
}

// chooseCombination returns the option of each of the group's lots in the cheapest combination that fits, or
// nil. Jobs that may wait take what is open to them first.
func (p *problem) chooseCombination(g partGroup, left *remainingCapacity) []int {
	for _, reserved := range []bool{!p.jobs[g.lots[0]].MayWait(), true} {
		x := p.searchCombination(g, p.capacityCost)
		if x == nil {
			return nil
		}
		x.left, x.reserved = left, reserved
		if x.extend(0, 0); x.best != nil {
			choice := make([]int, len(g.lots))
			for i, lot := range x.order {
				choice[slices.Index(g.lots, lot)] = x.best[i]
			}
			return choice
		}
	}
	return nil
}

// combinationOnOffer is chooseCombination for a round of these lots alone: it takes what sites bid although
// their profiles, which count whole slots, show no capacity. They have looked at their nodes.
func (p *problem) combinationOnOffer(g partGroup) map[int]*candidate {
	x := p.searchCombination(g, priceOfFreeCapacity)
	if x == nil || len(g.lots) < len(p.lots) {
		return nil
	}
	x.onOffer = true
	if x.extend(0, 0); x.best == nil {
		return nil
	}
	chosen := make(map[int]*candidate, len(g.lots))
	for i, lot := range x.order {
		chosen[lot] = p.lots[lot].candidateAt(x.best[i])
	}
	return chosen
}

// leastCombination returns the least that the parts of a group can cost together at a price of capacity, by the
// sum of their own cheapest options if the search is cut short; and that sum.
func (p *problem) leastCombination(g partGroup, price capacityPricing) (together, apart float64) {
	x := p.searchCombination(g, price)
	if x == nil {
		return 0, 0
	}
	x.extend(0, 0)
	if x.best == nil || x.visits >= maxCombinations {
		return x.least[0], x.least[0]
	}
	return x.value, x.least[0]
}

// assignWithParts is assignOptions for a round with parts: their lots have the one option of their combination
// while the others choose. If one of them loses its room to a lot of higher priority, all of them give up.
func (p *problem) assignWithParts() []int {
	if len(p.groups) == 0 {
		return p.assignOptions()
	}
	lots, deferrable := slices.Clone(p.lots), slices.Clone(p.deferrable)
	pinned := make([]int, len(lots))
	left := p.newRemainingCapacity()
	for _, g := range p.groups {
		choice := p.chooseCombination(g, left)
		for k, i := range g.lots {
			p.deferrable[i], p.lots[i] = false, &ranking{p: p, lot: lots[i].lot, gpus: lots[i].gpus}
			if choice != nil {
				left.takeOption(lots[i], choice[k], 1)
				pinned[i], p.lots[i] = choice[k], lots[i].withOnly(choice[k])
			}
		}
	}
	p.releaseCapacity(left)
	choice := p.assignOptions()
	copy(p.lots, lots)
	copy(p.deferrable, deferrable)
	for _, g := range p.groups {
		whole := !slices.ContainsFunc(g.lots, func(i int) bool { return choice[i] < 0 })
		for _, i := range g.lots {
			if choice[i] = -1; whole {
				choice[i] = pinned[i]
			}
		}
	}
	return choice
}

// withOnly returns the ranking of the same lot with one option alone.
func (r *ranking) withOnly(c int) *ranking {
	only := r.all[c]
	return &ranking{p: r.p, lot: r.lot, gpus: r.gpus, all: []optionRef{only}, modelPools: r.modelPools, most: only.cost}
}

// boundOfParts returns by how much the bound of some lots rises if the parts of each job that is placed among
// them cost at least what their cheapest combination costs. At maps a lot of the round to one of p, or -1.
func (p *problem) boundOfParts(groups []partGroup, at func(lot int) int, price capacityPricing) (more float64) {
	for _, g := range groups {
		mapped := partGroup{maxSites: g.maxSites}
		for _, i := range g.lots {
			if k := at(i); k >= 0 {
				mapped.lots = append(mapped.lots, k)
			}
		}
		if len(mapped.lots) == len(g.lots) {
			together, apart := p.leastCombination(mapped, price)
			more += together - apart
		}
	}
	return more
}

// decideParts makes the decisions on parts of jobs: all of a job are awarded, or all wait.
func (a *Auction) decideParts(r Round, p *problem, choice []int, out []Decision) {
	for _, g := range p.groups {
		var onOffer map[int]*candidate
		if choice[g.lots[0]] < 0 {
			onOffer = p.combinationOnOffer(g)
		}
		for _, i := range g.lots {
			x := &ruling{round: r, lot: r.Lots[i], problem: p, index: i, choice: choice[i]}
			d := deferToNextRound(r, x.lot)
			switch {
			case x.hasPlace():
				if x.option = p.lots[i].candidateAt(choice[i]); x.startsNow() {
					d = Decision{Verdict: Award, Site: x.option.site, Option: *x.option.BidOption, Why: protocol.Reason{Code: protocol.Cheapest}}
				} else {
					d = x.reserveAtSite(d.Why)
				}
			case onOffer != nil:
				x.option = onOffer[i]
				d = x.reserveAtSite(d.Why)
			case d.Why.Code != protocol.NoBids:
				d.Why = protocol.Reason{Code: protocol.PartsApart}
			}
			out[i] = d
		}
	}
}
