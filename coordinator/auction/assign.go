package auction

import (
	"cmp"
	"math"
	"slices"
)

// assign gives every lot an option that fits, dearest mistakes first: a lot
// whose second choice costs much more than its first chooses early. They choose
// with room paid for, so that a lot which can turn elsewhere leaves scarce room
// to those that cannot; then each moves to where it costs less, as long as there
// is room, and room that turned out not to be scarce is used. A lot for which
// nothing fits gets -1.
func (p *problem) assign() []int {
	left := p.rooms()
	choice := p.choices(left, p.shadow)
	for range passes {
		if !p.improve(choice, left) {
			break
		}
	}
	return choice
}

// choices lets the lots choose, one after the other, at prices of room.
func (p *problem) choices(left *rooms, price pricing) []int {
	choice := make([]int, len(p.lots))
	for _, i := range p.byRegret() {
		choice[i] = p.choose(i, left, price)
		if choice[i] >= 0 {
			left.take(p, p.lots[i].at(choice[i]), 1)
		}
	}
	return choice
}

// A pricing says what the room of a candidate costs.
type pricing func(*candidate) float64

// free prices room at nothing.
func free(*candidate) float64 { return 0 }

// byRegret returns the lots in the order in which they choose: priority, then
// regret at the prices of p, then job id. Regret is what the best option on other
// GPUs costs more than the best of all, since another hour of the same may be
// gone as well; of equals, what the second best costs more.
func (p *problem) byRegret() []int {
	other, second := make([]float64, len(p.lots)), make([]float64, len(p.lots))
	order := make([]int, len(p.lots))
	for i := range p.lots {
		order[i] = i
		other[i], second[i] = p.regret(i)
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(p.jobs[y].Priority, p.jobs[x].Priority), cmp.Compare(other[y], other[x]),
			cmp.Compare(second[y], second[x]), cmp.Compare(p.jobs[x].ID, p.jobs[y].ID))
	})
	return order
}

// regret returns what the best option of a lot on other GPUs, and the second best
// of all, cost more than the best.
func (p *problem) regret(lot int) (other, second float64) {
	best, value := p.favourite(lot)
	if best < 0 {
		return 0, 0
	}
	pool := p.lots[lot].at(best).pool
	other, second = math.Inf(1), math.Inf(1)
	for j := 0; ; j++ {
		k := p.lots[lot].at(j)
		if k == nil || float64(k.cost)-value >= other {
			return other, second // the rest cost more before their room is paid
		}
		more := float64(k.cost) + p.shadow(k) - value
		if j != best {
			second = min(second, more)
		}
		if k.pool != pool {
			other = min(other, more)
		}
	}
}

// choose returns the option of a lot that is cheapest at a pricing of room, among
// those that fit; or -1. A job that cannot be deferred looks at the room that
// sites have and not at the plan for held jobs, which can still move. So does a
// job for which the plan has nothing left.
func (p *problem) choose(lot int, r *rooms, price pricing) int {
	if p.jobs[lot].Deferrable {
		if k := p.cheapest(lot, r.planned, r.open, price); k >= 0 {
			return k
		}
	}
	return p.cheapest(lot, r.bare, r.free, price)
}

func (p *problem) cheapest(lot int, left []line, free []float64, price pricing) int {
	best, value := -1, math.Inf(1)
	for j := 0; ; j++ {
		k := p.lots[lot].at(j)
		if k == nil || float64(k.cost) >= value {
			return best // the rest cost more before their room is paid
		}
		if v := float64(k.cost) + price(k); v < value && p.fits(k, left, free) {
			best, value = j, v
		}
	}
}

// tight is the room, in GPU-hours of a slot, below which it counts as none.
const tight = 1e-9

// fits reports whether the room of k is left in every slot of its run, and at
// this instant if it starts now.
func (p *problem) fits(k *candidate, left []line, free []float64) bool {
	if k.pool < 0 {
		return true
	}
	gpus := float64(k.gpu) / 1000
	if k.Start <= p.now && free[k.pool] < gpus-tight {
		return false
	}
	l := &left[k.pool]
	for i := int(k.a); i < horizon && float64(i) < k.b; i++ {
		part := min(k.b, float64(i+1)) - max(k.a, float64(i))
		if l[i] < float64(gpus*part*slotHours)-tight {
			return false
		}
	}
	return true
}

// rooms is what is left while lots choose, by pool.
type rooms struct {
	bare    []line    // GPU-hours by slot, held jobs not counted
	planned []line    // open to jobs that can wait, held jobs counted
	free    []float64 // GPUs at this instant
	open    []float64 // of them, to jobs that can wait
}

func (p *problem) rooms() *rooms {
	n := len(p.pools)
	r := &rooms{make([]line, n), make([]line, n), make([]float64, n), make([]float64, n)}
	for i, q := range p.pools {
		r.bare[i], r.planned[i], r.free[i], r.open[i] = q.bare, q.room, q.free, q.open
	}
	return r
}

// take takes the room of k, or with sign -1 gives it back.
func (r *rooms) take(p *problem, k *candidate, sign float64) {
	if k.pool < 0 {
		return
	}
	gpus := sign * float64(k.gpu) / 1000
	start := max(k.Start, p.now)
	r.bare[k.pool].spread(p.from, start, k.Finish, -gpus)
	r.planned[k.pool].spread(p.from, start, k.Finish, -gpus)
	if k.Start <= p.now {
		r.free[k.pool] -= gpus
		r.open[k.pool] -= gpus
	}
}

// passes bounds the local search.
const passes = 3

// improve lets each lot move to a cheaper option that has room, and reports
// whether any did.
func (p *problem) improve(choice []int, r *rooms) (moved bool) {
	for i, was := range choice {
		if was >= 0 {
			r.take(p, p.lots[i].at(was), -1)
		}
		choice[i] = p.choose(i, r, free)
		if choice[i] >= 0 {
			r.take(p, p.lots[i].at(choice[i]), 1)
		}
		moved = moved || choice[i] != was
	}
	return moved
}
