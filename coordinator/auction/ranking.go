package auction

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// A ranking is the candidates of a lot, cheapest first. It is put in order only
// as far as somebody looks: of thousands of options of a job the rounds look at
// dozens.
type ranking struct {
	p          *problem
	lot        Lot
	gpus       float64        // that the job holds
	scored     []scoredOption // in order
	candidates []*candidate   // of the same; nil before somebody asks
	all        []optionRef    // of all; those in order first, then dearer ones in no order
	modelPools []modelPool    // by menu

	most        protocol.Microdollars // that one of them costs
	best        int                   // of brief, the cheapest with room paid for, or -1
	value       float64               // that it costs then
	evaluatedAt int                   // problem.priceVersion when these were worked out
}

// A scoredOption is what the price of a candidate is worked out from. The search for
// prices goes through thousands of them at each step, so they lie close together.
type scoredOption struct {
	cost float64
	a, b float64 // start and finish in slots
	pool int32   // -1: it holds no GPU
	now  bool    // it starts now
}

// A optionRef candidate is what ranks an option, and where it stands in the lot.
type optionRef struct {
	cost         protocol.Microdollars
	bids, option int32
}

// A modelPool is the pool of one model at a menu's site. Most menus have one.
type modelPool struct {
	model string
	pool  int
}

// firstSortCount is how many candidates are put in order at first. Each further look
// doubles what is in order, so that all looks together take no longer than one
// sort would.
const firstSortCount = 32

// rankOptions returns the ranking of a lot, with nothing in order yet.
func (p *problem) rankOptions(l Lot, trust map[string]protocol.Milli, w protocol.Weights) *ranking {
	n := 0
	for _, m := range l.Bids {
		n += len(m.Options)
	}
	r := &ranking{p: p, lot: l, gpus: float64(l.Job.TotalGPUMilli()) / 1000, all: make([]optionRef, 0, n), modelPools: make([]modelPool, len(l.Bids))}
	for i, m := range l.Bids {
		r.modelPools[i].pool = p.poolOf(l.Job, m.Site, "")
		factor := trust[m.Site]
		for j := range m.Options {
			cost := r.optionCost(i, &m.Options[j], factor, w)
			if j < len(m.Bias) {
				cost -= absoluteCost(cost) * protocol.Microdollars(m.Bias[j]) / 1000
			}
			if len(r.all) == 0 || cost > r.most {
				r.most = cost
			}
			r.all = append(r.all, optionRef{cost, int32(i), int32(j)})
		}
	}
	return r
}

// optionCost returns what an option of a menu counts for, at a site that is trusted so
// far.
func (r *ranking) optionCost(menu int, o *protocol.BidOption, trust protocol.Milli, w protocol.Weights) protocol.Microdollars {
	by := protocol.PricingBasis{Trust: trust}
	if o.FragmentationDelta != 0 {
		by.Shadow = r.p.meanPrice(r.poolIndex(menu, o.Model), r.p.positionOf(o.Start), r.p.positionOf(o.Finish))
	}
	if o.Start > r.p.now {
		// A finish that just makes the deadline of a job that waits seldom does.
		by.FinishDelay = r.p.planning.MaxStartDelay
	}
	return w.PriceOption(&r.lot.Job, o, by).Total()
}

// poolIndex returns the pool of which an option would hold GPUs, or -1.
func (r *ranking) poolIndex(menu int, model string) int {
	h := &r.modelPools[menu]
	if h.model != model {
		h.model, h.pool = model, r.p.poolOf(r.lot.Job, r.lot.Bids[menu].Site, model)
	}
	return h.pool
}

// candidateCount returns how many candidates there are.
func (r *ranking) candidateCount() int { return len(r.all) }

// ensureSorted reports whether there is a candidate i, and has it in order then.
func (r *ranking) ensureSorted(i int) bool {
	for i >= len(r.scored) {
		if len(r.scored) == len(r.all) {
			return false
		}
		r.sortMore()
	}
	return true
}

// candidateAt returns candidate i by cost, or nil beyond the last.
func (r *ranking) candidateAt(i int) *candidate {
	if !r.ensureSorted(i) {
		return nil
	}
	if r.candidates[i] == nil {
		r.candidates[i] = r.newCandidate(i)
	}
	return r.candidates[i]
}

// sortMore puts more candidates in order.
func (r *ranking) sortMore() {
	rest := r.all[len(r.scored):]
	n := selectCheapest(rest, min(max(firstSortCount, len(r.scored)), len(rest)))
	next := rest[:n]
	slices.SortFunc(next, r.compareByCost)
	r.scored = slices.Grow(r.scored, n)
	for _, x := range next {
		o := &r.lot.Bids[x.bids].Options[x.option]
		r.scored = append(r.scored, scoredOption{float64(x.cost), r.p.positionOf(o.Start), r.p.positionOf(o.Finish), int32(r.poolIndex(int(x.bids), o.Model)), o.Start <= r.p.now})
	}
	r.candidates = append(r.candidates, make([]*candidate, n)...)
}

// newCandidate works out what is told of an option.
func (r *ranking) newCandidate(i int) *candidate {
	x, k := r.all[i], &r.scored[i]
	m := &r.lot.Bids[x.bids]
	return &candidate{BidOption: &m.Options[x.option], site: m.Site, gpu: r.lot.Job.TotalGPUMilli(), cost: x.cost, pool: int(k.pool), a: k.a, b: k.b}
}

// compareByCost orders candidates by cost. Equal costs are told apart by finish, site,
// model, cap and start, never by the order of arrival.
func (r *ranking) compareByCost(x, y optionRef) int {
	if x.cost != y.cost {
		return cmp.Compare(x.cost, y.cost)
	}
	m, n := &r.lot.Bids[x.bids], &r.lot.Bids[y.bids]
	o, q := &m.Options[x.option], &n.Options[y.option]
	return cmp.Or(cmp.Compare(o.Finish, q.Finish), strings.Compare(m.Site, n.Site),
		strings.Compare(o.Model, q.Model), cmp.Compare(o.Cap, q.Cap), cmp.Compare(o.Start, q.Start))
}

// selectCheapest moves the n cheapest of v to its front, in no order, with all that cost
// the same as the dearest of them, and returns how many these are (Hoare's
// quickselect, with the median of three as pivot).
func selectCheapest(v []optionRef, n int) int {
	w, k := v, n
	for len(w) > 1 {
		x, y, z := w[0].cost, w[len(w)/2].cost, w[len(w)-1].cost
		pivot := max(min(x, y), min(max(x, y), z))
		i, j := 0, len(w)-1
		for i <= j {
			for w[i].cost < pivot {
				i++
			}
			for w[j].cost > pivot {
				j--
			}
			if i <= j {
				w[i], w[j] = w[j], w[i]
				i++
				j--
			}
		}
		switch {
		case k <= j+1:
			w = w[:j+1]
		case k > i:
			w, k = w[i:], k-i
		default:
			w = nil
		}
	}
	dearest := v[0].cost
	for _, x := range v[:n] {
		dearest = max(dearest, x.cost)
	}
	for i := n; i < len(v); i++ {
		if v[i].cost == dearest {
			v[i], v[n] = v[n], v[i]
			n++
		}
	}
	return n
}
