package bound

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// random draws a small problem: two pools at two sites, a few jobs, few values,
// so that jobs want the same room at the same time.
func random(t *rapid.T) *boundProblem {
	p := &boundProblem{slots: 12, end: 200}
	for range 2 {
		r := cumulativeRates{prefixSums: []float64{0}, plus: []float64{0}, less: []float64{0}, low: math.Inf(1)}
		for i := range p.end {
			v := float64(rapid.IntRange(-2, 9).Draw(t, "rate"))
			if i >= p.slots {
				v = 3
			}
			r.prefixSums = append(r.prefixSums, r.prefixSums[i]+v)
			r.plus = append(r.plus, r.plus[i]+max(v, 0))
			r.less = append(r.less, r.less[i]+min(v, 0))
			r.low = min(r.low, v)
		}
		p.sites = append(p.sites, r)
		p.pools = append(p.pools, gpuPool{
			Size: 2, GPUs: float64(2 * rapid.IntRange(1, 2).Draw(t, "nodes")),
			price: make([]float64, p.slots), sums: make([]float64, p.end+1),
		})
	}
	for range rapid.IntRange(1, 4).Draw(t, "jobs") {
		j := jobModel{
			arrival: float64(rapid.IntRange(0, 6).Draw(t, "arrival")) / 2,
			gpus:    float64(rapid.IntRange(1, 4).Draw(t, "half gpus")) / 2,
			late:    40, lateMost: float64(rapid.SampledFrom([]int{0, 0, 25, 90}).Draw(t, "late most")), delay: float64(rapid.IntRange(0, 1).Draw(t, "delay")), neverRunCost: 1e6,
		}
		length := float64(rapid.IntRange(1, 6).Draw(t, "length")) / 2
		j.deadline = j.arrival + length + float64(rapid.IntRange(0, 5).Draw(t, "slack"))
		for k := range p.pools {
			w := runConfig{site: k, pool: k, length: length, power: j.gpus, fixed: float64(rapid.IntRange(0, 3).Draw(t, "move"))}
			if rapid.Bool().Draw(t, "slower") {
				w.length, w.power = w.length*2, w.power/3
			}
			j.configs = append(j.configs, w)
		}
		p.jobs = append(p.jobs, j)
	}
	for i := range p.jobs {
		p.splitIntoBlocks(&p.jobs[i], 3) // few blocks, so that they must grow
	}
	return p
}

// exact returns the least cost of all schedules whose runs start at half slots
// and which give no more than each pool has, by trying every one.
func exact(p *boundProblem) float64 {
	const half, horizon = 2, 20
	held := make([][]float64, len(p.pools))
	for i := range held {
		held[i] = make([]float64, 4*horizon*half)
	}
	var try func(i int, soFar float64) float64
	try = func(i int, soFar float64) float64 {
		if i == len(p.jobs) {
			return soFar
		}
		best := math.Inf(1)
		j := &p.jobs[i]
		for k := range j.configs {
			w := &j.configs[k]
			for c := int(math.Ceil(j.arrival * half)); c < horizon*half; c++ {
				line := held[w.pool][c : c+int(w.length*half)]
				fits := true
				for _, h := range line {
					fits = fits && h+j.gpus <= p.pools[w.pool].GPUs
				}
				if !fits {
					continue
				}
				for x := range line {
					line[x] += j.gpus
				}
				if cost := soFar + p.costWithoutRoom(j, w, float64(c)/half); cost < best {
					best = min(best, try(i+1, cost))
				}
				for x := range line {
					line[x] -= j.gpus
				}
			}
		}
		return best
	}
	return try(0, 0)
}

func TestTheBoundIsABoundOnSmallProblems(t *testing.T) {
	tight := 0
	rapid.Check(t, func(t *rapid.T) {
		p := random(t)
		free := p.lowerBound(nil)
		bound := p.subgradientSearch(60)
		best := exact(p)
		if bound > best+1e-6 {
			t.Fatalf("bound %v; a schedule costs %v", bound, best)
		}
		if bound < free-1e-9 {
			t.Fatalf("bound %v with prices; %v without", bound, free)
		}
		if best-bound < 0.05*math.Abs(best)+0.5 {
			tight++
		}
	})
	t.Logf("within 5 %% of the best schedule in %d problems", tight)
	if tight < 50 {
		t.Errorf("within 5 %% of the best schedule in only %d of 100 problems", tight)
	}
}

// Any prices give a bound, also foolish ones.
func TestAnyPricesGiveABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := random(t)
		for i := range p.pools {
			for s := range p.pools[i].price {
				p.pools[i].price[s] = float64(rapid.IntRange(0, 12).Draw(t, "price"))
			}
			p.pools[i].prefixSumPrices()
		}
		if v, best := p.lowerBound(nil), exact(p); v > best+1e-6 {
			t.Fatalf("bound %v; a schedule costs %v", v, best)
		}
	})
}

// Scan looks at few starts; a walk in small steps finds nothing cheaper.
func TestScanFindsTheCheapestStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := random(t)
		p.subgradientSearch(5)
		j := &p.jobs[0]
		w := &j.configs[0]
		w.length += rapid.SampledFrom([]float64{0, 0.125, 0.3}).Draw(t, "odd")
		from := j.arrival + float64(rapid.IntRange(0, 7).Draw(t, "from"))/7
		to := from + float64(rapid.IntRange(0, 24).Draw(t, "width"))/5
		got, start := p.cheapestStart(j, w, from, to)
		if start < from || start > to {
			t.Fatalf("scan of [%v, %v] starts at %v", from, to, start)
		}
		if v := p.costWithRoom(j, w, start); math.Abs(v-got) > 1e-6 {
			t.Fatalf("scan says %v at %v; it costs %v", got, start, v)
		}
		for x := range 201 {
			at := from + (to-from)*float64(x)/200
			if v := p.costWithRoom(j, w, at); v < got-1e-6 {
				t.Fatalf("scan of [%v, %v]: %v at %v; at %v it is %v", from, to, got, start, at, v)
			}
		}
	})
}

// A search that begins near zero, as where prices are negative, goes as far as
// one that begins elsewhere: all jobs want the same hour, and most must go.
func TestTheSearchGetsAsFarFromZero(t *testing.T) {
	crowd := func(constant float64) *boundProblem {
		p := &boundProblem{slots: 24, end: 100, constant: constant}
		r := cumulativeRates{prefixSums: []float64{0}, plus: []float64{0}, less: []float64{0}, low: 0}
		for i := range p.end {
			v := float64(10 + min(i, 40))
			r.prefixSums, r.plus, r.less = append(r.prefixSums, r.prefixSums[i]+v), append(r.plus, r.plus[i]+v), append(r.less, 0)
		}
		p.sites = []cumulativeRates{r}
		p.pools = []gpuPool{{Size: 8, GPUs: 40, price: make([]float64, p.slots), sums: make([]float64, p.end+1)}}
		for i := range 400 {
			p.jobs = append(p.jobs, jobModel{
				gpus: 1, deadline: 40, late: 100, neverRunCost: 1e6,
				configs: []runConfig{{length: 1, power: 1}},
			})
			p.splitIntoBlocks(&p.jobs[i], 8)
		}
		return p
	}
	free := crowd(0).lowerBound(nil)
	far := crowd(1e4).subgradientSearch(200) - 1e4
	near := crowd(-free).subgradientSearch(200) + free
	if want := 40 * 145.0; math.Abs(far-want) > 0.01*want || math.Abs(near-want) > 0.01*want {
		t.Errorf("begun at %g the search finds %g, begun at zero %g; ten hours full are %g", 1e4, far, near, want)
	}
}
