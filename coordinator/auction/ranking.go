package auction

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A ranking is the candidates of a lot, cheapest first. It is put in order only
// as far as somebody looks: of thousands of options of a job the rounds look at
// dozens.
type ranking struct {
	p     *problem
	lot   Lot
	ready []candidate           // in order
	brief []brief               // of the same
	rest  []rough               // dearer than all that are ready, in no order
	most  protocol.Microdollars // that one of them costs
}

// A brief is what the price of a candidate is worked out from. The search for
// prices goes through thousands of them at each step, so they lie close together.
type brief struct {
	cost, a, b float64
	pool       int
}

// A rough candidate is what ranks an option, and where it stands in the lot.
type rough struct {
	cost         protocol.Microdollars
	menu, option int32
}

// firstLook is how many candidates are put in order at first. Each further look
// doubles what is in order, so that all looks together take no longer than one
// sort would.
const firstLook = 32

// slip is how much later than it was sold for a site may begin a job that waits
// there. Lateness is counted as if it did: a finish that just makes the deadline
// seldom does.
const slip = 15 * time.Minute

// rank returns the ranking of a lot, with nothing in order yet.
func (p *problem) rank(l Lot, trust map[string]protocol.Milli, w protocol.Weights) *ranking {
	n := 0
	for _, m := range l.Menus {
		n += len(m.Options)
	}
	r := &ranking{p: p, lot: l, rest: make([]rough, 0, n)}
	for i, m := range l.Menus {
		factor, pool, model := trust[m.Site], -1, ""
		for j := range m.Options {
			o := &m.Options[j]
			if j == 0 || o.Model != model {
				pool, model = p.poolOf(l.Job, m.Site, o.Model), o.Model
			}
			room := protocol.Microdollars(0)
			if o.Fragment != 0 {
				room = p.mean(pool, p.position(o.Start), p.position(o.Finish))
			}
			t := w.Of(l.Job, *o, room)
			if o.Start > p.now {
				_, t.Late = w.Waiting(l.Job, o.Start, o.Finish.Add(slip))
			}
			t.Money = scale(t.Money, factor)
			t.Carbon = scale(t.Carbon, factor)
			cost := t.Total()
			if j < len(m.Bias) {
				cost -= abs(cost) * protocol.Microdollars(m.Bias[j]) / 1000
			}
			if len(r.rest) == 0 || cost > r.most {
				r.most = cost
			}
			r.rest = append(r.rest, rough{cost, int32(i), int32(j)})
		}
	}
	return r
}

// len returns how many candidates there are.
func (r *ranking) len() int { return len(r.ready) + len(r.rest) }

// at returns candidate i by cost, or nil beyond the last.
func (r *ranking) at(i int) *candidate {
	for i >= len(r.ready) {
		if len(r.rest) == 0 {
			return nil
		}
		r.look()
	}
	return &r.ready[i]
}

// look puts more candidates in order.
func (r *ranking) look() {
	n := least(r.rest, min(max(firstLook, len(r.ready)), len(r.rest)))
	next := r.rest[:n]
	slices.SortFunc(next, r.compare)
	r.ready = slices.Grow(r.ready, n)
	r.brief = slices.Grow(r.brief, n)
	for _, x := range next {
		k := r.candidate(x)
		r.ready = append(r.ready, k)
		r.brief = append(r.brief, brief{float64(k.cost), k.a, k.b, k.pool})
	}
	r.rest = r.rest[n:]
}

// candidate works out what choosing needs to know of an option.
func (r *ranking) candidate(x rough) candidate {
	m := &r.lot.Menus[x.menu]
	k := candidate{Option: &m.Options[x.option], site: m.Site, gpu: r.lot.Job.GPU(), cost: x.cost}
	k.pool = r.p.poolOf(r.lot.Job, m.Site, k.Model)
	k.a, k.b = r.p.position(k.Start), r.p.position(k.Finish)
	return k
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
