package auction

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// A ranking is the candidates of a lot, cheapest first. It sorts lazily: of a job's thousands of
// options a round looks at dozens.
type ranking struct {
	p          *problem
	lot        *Lot
	gpus       float64        // that the job uses
	fewer      []float64      // that it uses in options on other numbers of pods, each size once
	scored     []scoredOption // the sorted part
	candidates []*candidate   // parallel to scored; nil until candidateAt asks for one
	all        []optionRef    // every option; the sorted ones first, then dearer ones unsorted
	modelPools []modelPool    // by SiteBids: the last model looked up

	most        protocol.Microdollars // cost of the dearest option
	best        int                   // index into scored of the cheapest with capacity included, or -1
	value       float64               // its cost then
	evaluatedAt int                   // priceVersion at which best and value were computed
}

// A scoredOption is what the price search needs of a candidate. Each step scans thousands of them,
// so they are small and contiguous.
type scoredOption struct {
	cost float64
	a, b float64 // start and finish as positions
	pool int32   // -1: uses no GPU
	less uint16  // 0: uses all of the job's GPUs; else the size fewer[less-1] of its ranking
	now  bool    // starts now
}

// An optionRef is an option's cost and where it stands in the lot's bids.
type optionRef struct {
	cost         protocol.Microdollars
	bids, option int32
}

// A modelPool caches the pool of one model at a site. Most sites bid one model per job.
type modelPool struct {
	model string
	pool  int
}

// firstSortCount is how many candidates are sorted at first. Each further look doubles the sorted
// part, so that all looks together take no longer than sorting once.
const firstSortCount = 32

// rankOptions makes r the ranking of a lot with nothing sorted yet.
func (p *problem) rankOptions(r *ranking, l *Lot, trust map[string]protocol.Milli, w protocol.Weights) {
	n := 0
	for _, m := range l.Bids {
		n += len(m.Options)
	}
	*r = ranking{p: p, lot: l, gpus: float64(l.Job.TotalGPUMilli()) / 1000, all: make([]optionRef, 0, n), modelPools: make([]modelPool, len(l.Bids))}
	pricing := w.ForJob(&l.Job)
	for i, m := range l.Bids {
		r.modelPools[i].pool = p.poolOf(l.Job, m.Site, "")
		factor := trust[m.Site]
		for j := range m.Options {
			cost := p.jitter.moved(r.optionCost(i, &m.Options[j], factor, &pricing), l.Job.ID, m.Site, &m.Options[j])
			if j < len(m.Bias) {
				cost -= absoluteCost(cost) * protocol.Microdollars(m.Bias[j]) / 1000
			}
			if len(r.all) == 0 || cost > r.most {
				r.most = cost
			}
			r.all = append(r.all, optionRef{cost, int32(i), int32(j)})
		}
	}
}

// optionCost returns the objective's cost of an option (docs/method.md, section 1), scaled by the
// site's trust factor. Fragmentation is valued at the price of capacity.
func (r *ranking) optionCost(menu int, o *protocol.BidOption, trust protocol.Milli, pricing *protocol.JobPricing) protocol.Microdollars {
	by := protocol.PricingBasis{Trust: trust}
	if o.FragmentationDelta != 0 {
		by.Shadow = r.p.meanPrice(r.poolIndex(menu, o.Model), r.p.positionOf(o.Start), r.p.positionOf(o.Finish))
	}
	if o.Start > r.p.now {
		// A deferred job may start up to MaxStartDelay late, so a finish just before its deadline
		// counts as late by that much.
		by.FinishDelay = r.p.planning.MaxStartDelay
	}
	return pricing.PriceOption(o, by).Total()
}

// poolIndex returns the index of the pool whose GPUs an option would use, or -1.
func (r *ranking) poolIndex(menu int, model string) int {
	h := &r.modelPools[menu]
	if h.model != model {
		h.model, h.pool = model, r.p.poolOf(r.lot.Job, r.lot.Bids[menu].Site, model)
	}
	return h.pool
}

// gpuMilli returns what an option uses: what the job asks for, unless it is one on another number of pods.
func (r *ranking) gpuMilli(x optionRef) protocol.Milli {
	if sizes := r.lot.Bids[x.bids].GPUs; int(x.option) < len(sizes) {
		return sizes[x.option]
	}
	return r.lot.Job.TotalGPUMilli()
}

// sizeIndex returns the size of an option as its scoredOption has it.
func (r *ranking) sizeIndex(x optionRef) uint16 {
	if r.lot.Bids[x.bids].GPUs == nil {
		return 0
	}
	gpus := float64(r.gpuMilli(x)) / 1000
	i := slices.Index(r.fewer, gpus)
	if i < 0 {
		i = len(r.fewer)
		r.fewer = append(r.fewer, gpus)
	}
	return uint16(i + 1) // at most MaxPods sizes
}

// gpusOf returns how many GPUs an option uses.
func (r *ranking) gpusOf(k *scoredOption) float64 {
	if k.less == 0 {
		return r.gpus
	}
	return r.fewer[k.less-1]
}

// candidateCount returns how many candidates the lot has.
func (r *ranking) candidateCount() int { return len(r.all) }

// ensureSorted sorts as far as candidate i, and reports whether there is one.
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

// sortMore sorts the next candidates: as many as are sorted already.
func (r *ranking) sortMore() {
	rest := r.all[len(r.scored):]
	n := selectCheapest(rest, min(max(firstSortCount, len(r.scored)), len(rest)))
	next := rest[:n]
	slices.SortFunc(next, r.compareByCost)
	r.scored = slices.Grow(r.scored, n)
	for _, x := range next {
		o := &r.lot.Bids[x.bids].Options[x.option]
		r.scored = append(r.scored, scoredOption{float64(x.cost), r.p.positionOf(o.Start), r.p.positionOf(o.Finish), int32(r.poolIndex(int(x.bids), o.Model)), r.sizeIndex(x), o.Start <= r.p.now})
	}
	r.candidates = append(r.candidates, make([]*candidate, n)...)
}

// newCandidate returns candidate i of the sorted part.
func (r *ranking) newCandidate(i int) *candidate {
	x, k := r.all[i], &r.scored[i]
	m := &r.lot.Bids[x.bids]
	return &candidate{BidOption: &m.Options[x.option], site: m.Site, gpu: r.gpuMilli(x), cost: x.cost, pool: int(k.pool), a: k.a, b: k.b}
}

// compareByCost orders candidates by cost; ties by finish, site, model, power cap, start and pods, never
// by the order of arrival.
func (r *ranking) compareByCost(x, y optionRef) int {
	if x.cost != y.cost {
		return cmp.Compare(x.cost, y.cost)
	}
	m, n := &r.lot.Bids[x.bids], &r.lot.Bids[y.bids]
	o, q := &m.Options[x.option], &n.Options[y.option]
	return cmp.Or(cmp.Compare(o.Finish, q.Finish), strings.Compare(m.Site, n.Site),
		strings.Compare(o.Model, q.Model), cmp.Compare(o.Cap, q.Cap), cmp.Compare(o.Start, q.Start), cmp.Compare(o.Pods, q.Pods))
}

// selectCheapest moves the n cheapest options of v to its front, unsorted, together with all that
// cost the same as the dearest of them, and returns how many these are (Hoare's quickselect, with
// the median of three as pivot). Ties stay together so that the order within them is
// compareByCost's alone.
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
