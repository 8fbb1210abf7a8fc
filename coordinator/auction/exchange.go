package auction

import (
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// An exchange improves an assignment by twos: a lot takes an option that is better
// for it, and one other lot that is in its way there moves elsewhere, if that
// costs both together less. It is what lots that move one by one cannot do once
// the cheap hours are full (an ejection chain of two; METHOD, section 4).
type exchange struct {
	p       *problem
	choice  []int
	left    *rooms
	holders [][]int // lots, by pool
	tries   int     // that are left
}

// tries bounds how often an exchange asks a lot to move.
const tries = 10_000

// exchange returns a better assignment than choice, or the same. Lots look in an
// order for what is better; the prices of room tell what is worth a try.
func (p *problem) exchange(order, choice []int) []int {
	x := &exchange{p: p, choice: slices.Clone(choice), left: p.rooms(), holders: make([][]int, len(p.pools)), tries: tries}
	for i, c := range choice {
		x.put(i, c)
	}
	for range passes {
		moved := false
		for _, i := range order {
			moved = x.improve(i) || moved
		}
		if !moved || x.tries <= 0 {
			break
		}
	}
	return x.choice
}

// put gives lot i option c.
func (x *exchange) put(i, c int) {
	x.choice[i] = c
	if c < 0 {
		return
	}
	r := x.p.lots[i]
	x.left.take(r, c, 1)
	if pool := r.brief[c].pool; pool >= 0 {
		x.holders[pool] = append(x.holders[pool], i)
	}
}

// lift takes from lot i what it has, and returns that.
func (x *exchange) lift(i int) (c int) {
	if c = x.choice[i]; c < 0 {
		return c
	}
	r := x.p.lots[i]
	x.left.take(r, c, -1)
	if pool := r.brief[c].pool; pool >= 0 {
		h := x.holders[pool]
		j := slices.Index(h, i)
		x.holders[pool] = slices.Delete(h, j, j+1)
	}
	x.choice[i] = -1
	return c
}

// improve gives lot i a better option if there is one, with or without another
// lot that moves out of its way.
func (x *exchange) improve(i int) bool {
	p, r, was := x.p, x.p.lots[i], x.lift(i)
	paid, cost := math.Inf(1), p.counts(i, was)
	if was >= 0 {
		paid = p.paid(i, was)
	}
	for c := 0; c != was && r.ready(c); c++ {
		if p.paid(i, c) >= paid {
			continue
		}
		if gain := cost - p.counts(i, c); gain >= 0 && (x.fits(i, c) || x.makeWay(i, c, gain)) {
			x.put(i, c)
			return true
		}
	}
	x.put(i, was)
	return false
}

// fits reports whether there is room for option c of lot i, as [problem.choose]
// sees it for jobs that are in time.
func (x *exchange) fits(i, c int) bool {
	r := x.p.lots[i]
	if x.p.jobs[i].Deferrable {
		return x.p.fits(r, &r.brief[c], x.left.planned, x.left.open)
	}
	return x.p.fits(r, &r.brief[c], x.left.bare, x.left.free)
}

// makeWay moves one lot so that option c of lot i fits, if that costs less than a
// gain.
func (x *exchange) makeWay(i, c int, gain protocol.Microdollars) bool {
	p, k := x.p, &x.p.lots[i].brief[c]
	if k.pool < 0 {
		return false
	}
	for _, o := range slices.Clone(x.holders[k.pool]) {
		was, r := x.choice[o], p.lots[o]
		if r.brief[was].b <= k.a || r.brief[was].a >= k.b || p.jobs[o].Priority > p.jobs[i].Priority {
			continue
		}
		if x.tries--; x.tries < 0 {
			return false
		}
		x.lift(o)
		to := -1
		if x.fits(i, c) {
			x.left.take(p.lots[i], c, 1)
			to = p.choose(o, x.left, free)
			x.left.take(p.lots[i], c, -1)
		}
		if to >= 0 && p.counts(o, to)-p.counts(o, was) < gain {
			x.put(o, to)
			return true
		}
		x.put(o, was)
	}
	return false
}
