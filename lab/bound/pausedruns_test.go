package bound

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// pauses are what the rules say in small problems.
var pauses = pauseRules{pauseOverhead: 0.125, length: 0.25, hidden: 1e-6, moving: 2}

// interruptible draws a small problem some of whose jobs can be paused.
func interruptible(t *rapid.T) *boundProblem {
	p := random(t)
	p.jobs = p.jobs[:min(len(p.jobs), 3)]
	for i := range p.jobs {
		j := &p.jobs[i]
		j.late = float64(rapid.SampledFrom([]int{1, 8, 40}).Draw(t, "late"))
		if rapid.Bool().Draw(t, "can be paused") {
			can(p, j)
		}
		p.splitIntoBlocks(j, 3)
	}
	return p
}

// can lets a job be paused.
func can(p *boundProblem, j *jobModel) {
	r := pauses
	r.transferCosts = make([]float64, len(p.sites))
	for k := range j.configs {
		w := &j.configs[k]
		w.run = w.length
		r.transferCosts[w.site] = w.fixed
	}
	p.addPausedRuns(j, r)
}

// span is how many cells of half a slot a plan has.
const span = 9

// A plan is what one job does in each cell: a way and one, or 0.
type plan struct {
	at    [span]byte
	cost  float64
	parts int
}

// plans returns all that a job may do in so many cells, cheapest first. Each part ends
// with its cell; a job that is not paused runs for as long as it takes.
func plans(p *boundProblem, j *jobModel) (out []plan) {
	const cell = 0.5
	var grow func(x plan, c int, done, need float64, last int)
	grow = func(x plan, c int, done, need float64, last int) {
		if done >= need-1e-9 && x.parts > 0 {
			end := float64(c) * cell
			late := float64(j.late * max(end-j.deadline, 0))
			if j.lateMost > 0 {
				late = min(late, j.lateMost)
			}
			x.cost += late
			out = append(out, x)
			return
		}
		if c == len(x.at) {
			return
		}
		t := float64(c) * cell
		if x.parts == 0 || len(j.pieces) > 0 { // it sleeps
			grow(x, c+1, done, need, last)
		}
		if t < j.arrival {
			return
		}
		for k := range j.configs {
			w := &j.configs[k]
			y, need := x, need
			y.at[c] = byte(k + 1)
			on := c > 0 && x.at[c-1] == y.at[c]
			switch {
			case x.parts == 0:
				y.cost += w.fixed + float64(j.delay*(t-j.arrival))
				y.parts = 1
			case !on && len(j.pieces) == 0:
				continue
			case !on:
				need += pauses.pauseOverhead
				y.parts++
				if last != k { // ways of these problems are at a site each
					y.cost += pauses.moving
				}
			}
			r := &p.sites[w.site]
			y.cost += float64(w.power * (interpolateSum(r.prefixSums, t+cell) - interpolateSum(r.prefixSums, t)))
			grow(y, c+1, done+cell/w.length, need, k)
		}
	}
	grow(plan{}, 0, 0, 1, -1)
	slices.SortFunc(out, func(x, y plan) int { return cmp.Compare(x.cost, y.cost) })
	return out
}

// exactly returns the least cost of plans of all jobs that fit, and how many
// parts the jobs of the cheapest run in; it is false if there are none.
func exactly(p *boundProblem) (best float64, parts int, ok bool) {
	all := make([][]plan, len(p.jobs))
	rest := make([]float64, len(p.jobs)+1)
	for i := range p.jobs {
		if all[i] = plans(p, &p.jobs[i]); len(all[i]) == 0 {
			return 0, 0, false
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		rest[i] = rest[i+1] + all[i][0].cost
	}
	best = math.Inf(1)
	held := make([][span]float64, len(p.pools))
	var try func(i int, cost float64, n int)
	try = func(i int, cost float64, n int) {
		if i == len(all) {
			if cost < best {
				best, parts = cost, n
			}
			return
		}
		j := &p.jobs[i]
		for _, x := range all[i] {
			if cost+x.cost+rest[i+1] >= best {
				return
			}
			fits := true
			for c, w := range x.at {
				fits = fits && (w == 0 || held[j.configs[w-1].pool][c]+j.gpus <= p.pools[j.configs[w-1].pool].GPUs)
			}
			if !fits {
				continue
			}
			add := func(sign float64) {
				for c, w := range x.at {
					if w > 0 {
						held[j.configs[w-1].pool][c] += sign * j.gpus
					}
				}
			}
			add(1)
			try(i+1, cost+x.cost, n+x.parts)
			add(-1)
		}
	}
	try(0, 0, 0)
	return best, parts, !math.IsInf(best, 1)
}

func TestTheBoundOfPausedJobsIsABound(t *testing.T) {
	tight, paused, all := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := interruptible(t)
		best, parts, ok := exactly(p)
		if !ok {
			return
		}
		free := p.lowerBound(nil)
		bound := p.subgradientSearch(60)
		if bound > best+1e-3 {
			t.Fatalf("bound %v; jobs in %d parts cost %v", bound, parts, best)
		}
		if bound < free-1e-6 {
			t.Fatalf("bound %v with prices; %v without", bound, free)
		}
		for i := range p.pools {
			for s := range p.pools[i].price {
				p.pools[i].price[s] = float64(rapid.IntRange(0, 12).Draw(t, "price"))
			}
			p.pools[i].prefixSumPrices()
		}
		if v := p.lowerBound(nil); v > best+1e-3 {
			t.Fatalf("bound %v at any prices; jobs in %d parts cost %v", v, parts, best)
		}
		all++
		if parts > len(p.jobs) {
			paused++
		}
		if best-bound < 0.1*math.Abs(best)+1 {
			tight++
		}
	})
	t.Logf("of %d problems jobs are paused in the best schedules of %d; the bound is within 10 %% of %d", all, paused, tight)
	if paused < 5 || tight < all/4 {
		t.Errorf("of %d problems jobs are paused in the best schedules of %d; the bound is within 10 %% of %d", all, paused, tight)
	}
}

// No price of work gives more than the one that is found, and the mix found does
// just the work.
func TestThePriceOfWorkIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := interruptible(t)
		p.subgradientSearch(10)
		for i := range p.jobs {
			j := &p.jobs[i]
			for k := range j.pieces {
				f := &j.pieces[k]
				f.mu = rapid.Float64Range(0, 40).Draw(t, "last price")
				got, how := p.bestWorkPrice(j, f, math.Inf(1))
				for mu := f.minWorkPrice; mu < 60; mu += 0.25 {
					if v, _, _ := p.valueAtWorkPrice(j, f, mu); v > got+1e-4*math.Abs(got)+1e-4 {
						t.Fatalf("%v at price %v; found %v at %v", v, mu, got, f.mu)
					}
				}
				_, low, _ := p.valueAtWorkPrice(j, f, how.low)
				_, high, end := p.valueAtWorkPrice(j, f, how.high)
				if work := low + how.part*(high-low); how.low > f.minWorkPrice && math.Abs(work-f.work) > 1e-6 {
					t.Fatalf("the mix does %v of %v", work, f.work)
				}
				use := p.newSlotSeries()
				p.addPausedUsage(use, j, f, how)
				sum := 0.0
				for _, line := range use {
					for _, v := range line {
						sum += v
					}
				}
				if least := j.gpus * f.work / f.speed; end < float64(p.slots) && sum < least-1e-6 {
					t.Fatalf("%v GPU-slots are held; the work takes %v", sum, least)
				}
			}
		}
	})
}
