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
	p     *problem
	lot   Lot
	gpus  float64      // that the job holds
	brief []brief      // in order
	made  []*candidate // of the same; nil before somebody asks
	all   []rough      // of all; those in order first, then dearer ones in no order
	homes []home       // by menu

	most  protocol.Microdollars // that one of them costs
	best  int                   // of brief, the cheapest with room paid for, or -1
	value float64               // that it costs then
	asked int                   // problem.moved when these were worked out
}

// A brief is what the price of a candidate is worked out from. The search for
// prices goes through thousands of them at each step, so they lie close together.
type brief struct {
	cost float64
	a, b float64 // start and finish in slots
	pool int32   // -1: it holds no GPU
	now  bool    // it starts now
}

// A rough candidate is what ranks an option, and where it stands in the lot.
type rough struct {
	cost         protocol.Microdollars
	menu, option int32
}

// A home is the pool of one model at a menu's site. Most menus have one.
type home struct {
	model string
	pool  int
}

// firstLook is how many candidates are put in order at first. Each further look
// doubles what is in order, so that all looks together take no longer than one
// sort would.
const firstLook = 32

// rank returns the ranking of a lot, with nothing in order yet.
func (p *problem) rank(l Lot, trust map[string]protocol.Milli, w protocol.Weights) *ranking {
	n := 0
	for _, m := range l.Menus {
		n += len(m.Options)
	}
	r := &ranking{p: p, lot: l, gpus: float64(l.Job.GPU()) / 1000, all: make([]rough, 0, n), homes: make([]home, len(l.Menus))}
	for i, m := range l.Menus {
		r.homes[i].pool = p.poolOf(l.Job, m.Site, "")
		factor := trust[m.Site]
		for j := range m.Options {
			cost := r.cost(i, &m.Options[j], factor, w)
			if j < len(m.Bias) {
				cost -= abs(cost) * protocol.Microdollars(m.Bias[j]) / 1000
			}
			if len(r.all) == 0 || cost > r.most {
				r.most = cost
			}
			r.all = append(r.all, rough{cost, int32(i), int32(j)})
		}
	}
	return r
}

// cost returns what an option of a menu counts for, at a site that is trusted so
// far.
func (r *ranking) cost(menu int, o *protocol.Option, trust protocol.Milli, w protocol.Weights) protocol.Microdollars {
	by := protocol.PricingBasis{Trust: trust}
	if o.Fragment != 0 {
		by.Shadow = r.p.mean(r.pool(menu, o.Model), r.p.position(o.Start), r.p.position(o.Finish))
	}
	if o.Start > r.p.now {
		// A finish that just makes the deadline of a job that waits seldom does.
		by.Slip = r.p.planning.MaxStartDelay
	}
	return w.Price(&r.lot.Job, o, by).Total()
}

// pool returns the pool of which an option would hold GPUs, or -1.
func (r *ranking) pool(menu int, model string) int {
	h := &r.homes[menu]
	if h.model != model {
		h.model, h.pool = model, r.p.poolOf(r.lot.Job, r.lot.Menus[menu].Site, model)
	}
	return h.pool
}

// len returns how many candidates there are.
func (r *ranking) len() int { return len(r.all) }

// ready reports whether there is a candidate i, and has it in order then.
func (r *ranking) ready(i int) bool {
	for i >= len(r.brief) {
		if len(r.brief) == len(r.all) {
			return false
		}
		r.look()
	}
	return true
}

// at returns candidate i by cost, or nil beyond the last.
func (r *ranking) at(i int) *candidate {
	if !r.ready(i) {
		return nil
	}
	if r.made[i] == nil {
		r.made[i] = r.candidate(i)
	}
	return r.made[i]
}

// look puts more candidates in order.
func (r *ranking) look() {
	rest := r.all[len(r.brief):]
	n := least(rest, min(max(firstLook, len(r.brief)), len(rest)))
	next := rest[:n]
	slices.SortFunc(next, r.compare)
	r.brief = slices.Grow(r.brief, n)
	for _, x := range next {
		o := &r.lot.Menus[x.menu].Options[x.option]
		r.brief = append(r.brief, brief{float64(x.cost), r.p.position(o.Start), r.p.position(o.Finish), int32(r.pool(int(x.menu), o.Model)), o.Start <= r.p.now})
	}
	r.made = append(r.made, make([]*candidate, n)...)
}

// candidate works out what is told of an option.
func (r *ranking) candidate(i int) *candidate {
	x, k := r.all[i], &r.brief[i]
	m := &r.lot.Menus[x.menu]
	return &candidate{Option: &m.Options[x.option], site: m.Site, gpu: r.lot.Job.GPU(), cost: x.cost, pool: int(k.pool), a: k.a, b: k.b}
}

// compare orders candidates by cost. Equal costs are told apart by finish, site,
// model, cap and start, never by the order of arrival.
func (r *ranking) compare(x, y rough) int {
	if x.cost != y.cost {
		return cmp.Compare(x.cost, y.cost)
	}
	m, n := &r.lot.Menus[x.menu], &r.lot.Menus[y.menu]
	o, q := &m.Options[x.option], &n.Options[y.option]
	return cmp.Or(cmp.Compare(o.Finish, q.Finish), strings.Compare(m.Site, n.Site),
		strings.Compare(o.Model, q.Model), cmp.Compare(o.Cap, q.Cap), cmp.Compare(o.Start, q.Start))
}

// least moves the n cheapest of v to its front, in no order, with all that cost
// the same as the dearest of them, and returns how many these are (Hoare's
// quickselect, with the median of three as pivot).
func least(v []rough, n int) int {
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
