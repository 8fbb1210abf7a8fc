package bound

import "math"

// A boundProblem is a scenario in numbers. Time is in slots from the start, money in
// microdollars, power in kilowatts.
type boundProblem struct {
	slots int // slots with a price of capacity; later capacity is free
	end   int // slots with known rates; no run starts later
	sites []cumulativeRates
	pools []gpuPool
	jobs  []jobModel

	constant float64 // cost that no policy can avoid

	outages [][][2]float64 // by pool, in slots: schedules leave them free, the bound does not know them

	stop func() error // see Config; nil: never
}

// isStopped reports whether the caller ended the search.
func (p *boundProblem) isStopped() bool { return p.stop != nil && p.stop() != nil }

// cumulativeRates are prefix sums of the cost of a kilowatt at a site: element i covers slots 0
// to i-1.
type cumulativeRates struct {
	prefixSums []float64 // of all slots
	plus       []float64 // of slots with positive cost only
	less       []float64 // of slots with negative cost only: in them power earns
	low        float64   // lowest cost of a slot
}

// A gpuPool is the GPUs of one model on nodes of one size at one site: capacity that
// jobs share.
type gpuPool struct {
	Site, Model string
	Size        int // GPUs of each of its nodes
	GPUs        float64
	price       []float64 // microdollars per GPU-slot, for each of slots. Invariant: not negative
	sums        []float64 // prefix sums of price, up to end
}

// jobModel is a job with its ways to run and their costs.
type jobModel struct {
	arrival       float64
	deadline      float64
	gpus          float64
	delay         float64 // per slot of waiting, by the job's urgency
	late          float64 // per slot past the deadline
	lateMost      float64 // the most that lateness costs; 0: no limit
	neverRunCost  float64 // charge of the record if the job never runs
	configs       []runConfig
	pieces        []pausedRun  // by lower bound; empty if the job cannot be paused
	blocks        []startBlock // by lower bound
	otherCost     float64      // lower bound of all starts outside blocks
	droppedBlocks int          // number of blocks before some were moved to otherCost; 0: none were

	picked bool // whether last and since hold the previous best choice, a good first candidate
	last   int
	since  float64
}

// A runConfig is one way to run a job.
type runConfig struct {
	site, pool int     // pool -1: holds no GPU
	gpus       float64 // of an elastic job on some number of pods; 0: as many as the job: see gpusOf
	length     float64
	run        float64 // of length, the run alone, not rounded to seconds
	power      float64 // of the job
	awake      float64 // its part of the power that keeps a node awake, charged in slots with positive cost
	fixed      float64 // for moving the input, less rounding
	hour       float64 // rounding error of an hour's bill, for a slot
}

// gpusOf returns the GPUs that a job holds in a way.
func (j *jobModel) gpusOf(w *runConfig) float64 {
	if w.gpus != 0 {
		return w.gpus
	}
	return j.gpus
}

// A startBlock is the starts of one way in [from, to], with their lowest cost without
// capacity.
type startBlock struct {
	least    float64
	config   int
	from, to float64
}

// prefixSumPrices recomputes the prefix sums of a pool after its prices changed.
func (q *gpuPool) prefixSumPrices() {
	sum := 0.0
	for i := range q.sums {
		q.sums[i] = sum
		if i < len(q.price) {
			sum += q.price[i]
		}
	}
}

// interpolateSum interpolates prefix sums at a time between slots.
func interpolateSum(sums []float64, t float64) float64 {
	i := int(t)
	if i >= len(sums)-1 {
		return sums[len(sums)-1]
	}
	return sums[i] + float64((sums[i+1]-sums[i])*(t-float64(i)))
}

// costWithoutRoom returns the cost of a way at a start, without capacity.
func (p *boundProblem) costWithoutRoom(j *jobModel, w *runConfig, t float64) float64 {
	r := &p.sites[w.site]
	end := t + w.length
	v := w.fixed + float64(w.power*(interpolateSum(r.prefixSums, end)-interpolateSum(r.prefixSums, t)))
	if w.awake > 0 {
		v += float64(w.awake * (interpolateSum(r.plus, end) - interpolateSum(r.plus, t)))
	}
	v += float64(j.delay * (t - j.arrival))
	return v + j.lateCost(end-j.deadline)
}

// lateCost returns the cost of ending so many slots after the deadline. It rises by late in each slot
// up to lateMost. Where it stops rising it bends downwards, so no cost is least there, and the
// searches need not try those starts.
func (j *jobModel) lateCost(over float64) float64 {
	if over <= 0 {
		return 0
	}
	if v := float64(j.late * over); j.lateMost == 0 || v < j.lateMost {
		return v
	}
	return j.lateMost
}

// costWithRoom returns the cost of a way at a start, with capacity at the current prices.
func (p *boundProblem) costWithRoom(j *jobModel, w *runConfig, t float64) float64 {
	v := p.costWithoutRoom(j, w, t)
	if w.pool < 0 {
		return v
	}
	s := p.pools[w.pool].sums
	return v + float64(j.gpusOf(w)*(interpolateSum(s, t+w.length)-interpolateSum(s, t)))
}

// cheapestStart returns the cheapest start of a way in [from, to]. The cost is piecewise
// linear: it bends only where the run begins or ends with a slot or ends at the
// deadline. So the minimum is at one of these starts or at the border.
func (p *boundProblem) cheapestStart(j *jobModel, w *runConfig, from, to float64) (value, start float64) {
	value, start = p.costWithRoom(j, w, from), from
	try := func(t float64) {
		if v := p.costWithRoom(j, w, t); v < value {
			value, start = v, t
		}
	}
	try(to)
	if t := j.deadline - w.length; t > from && t < to {
		try(t)
	}
	first, last := int(math.Ceil(from)), int(math.Floor(to))
	n := int(w.length)
	f := w.length - float64(n)
	if v, i := p.scanSlotOffsets(j, w, first, last, n, f, 0); v < value {
		value, start = v, float64(i)
	}
	if f > 0 {
		// Runs that end with a slot start 1-f after a slot boundary.
		if v, i := p.scanSlotOffsets(j, w, int(math.Ceil(from-(1-f))), int(math.Floor(to-(1-f))), n, f, 1-f); v < value {
			value, start = v, min(max(float64(i)+(1-f), from), to)
		}
	}
	return value, start
}

// scanSlotOffsets tries starts at i+past for i in [first, last]. Past is 0 for runs that begin
// with a slot (and end f into one), or 1-f for runs that end with a slot.
func (p *boundProblem) scanSlotOffsets(j *jobModel, w *runConfig, first, last, n int, f, past float64) (value float64, best int) {
	value = math.Inf(1)
	r := &p.sites[w.site]
	// Prefix sums end at p.end.
	last = min(last, p.end-n-2)
	span := func(sums []float64, i int) float64 {
		if past == 0 {
			return sums[i+n] + float64((sums[i+n+1]-sums[i+n])*f) - sums[i]
		}
		return sums[i+n+1] - sums[i] - float64((sums[i+1]-sums[i])*past)
	}
	var room []float64
	gpus := j.gpusOf(w)
	if w.pool >= 0 {
		room = p.pools[w.pool].sums
	}
	for i := max(first, 0); i <= last; i++ {
		v := w.fixed + float64(w.power*span(r.prefixSums, i))
		if w.awake > 0 {
			v += float64(w.awake * span(r.plus, i))
		}
		if room != nil {
			v += float64(gpus * span(room, i))
		}
		t := float64(i) + past
		v += float64(j.delay * (t - j.arrival))
		v += j.lateCost(t + w.length - j.deadline)
		if v < value {
			value, best = v, i
		}
	}
	return value, best
}

// bestAtPrices returns the cheapest way and start of a job at the prices of capacity.
// Way -1 means none of the blocks; value is then a lower bound.
func (p *boundProblem) bestAtPrices(j *jobModel) (wayIndex int, start, value float64) {
	wayIndex, value = -1, min(j.otherCost, j.neverRunCost)
	// The last best choice first: prices change little from step to step.
	if j.picked {
		if v := p.costWithRoom(j, &j.configs[j.last], j.since); v < value {
			wayIndex, start, value = j.last, j.since, v
		}
	}
	for k := range j.blocks {
		b := &j.blocks[k]
		if b.least >= value { // later blocks cost more even without capacity
			break
		}
		if v, t := p.cheapestStart(j, &j.configs[b.config], b.from, b.to); v < value {
			wayIndex, start, value = b.config, t, v
		}
	}
	if wayIndex < 0 && j.droppedBlocks > 0 && j.otherCost <= j.neverRunCost {
		p.splitIntoBlocks(j, 4*len(j.blocks)) // prices have risen, so blocks that were dropped may be the best
		return p.bestAtPrices(j)
	}
	j.picked, j.last, j.since = wayIndex >= 0, wayIndex, start
	return wayIndex, start, value
}
