package bound

import "math"

// A boundProblem is a scenario in numbers. Time is in slots from its start, money in
// microdollars, power in kilowatts.
type boundProblem struct {
	slots int // that room is priced in; later room is free
	end   int // slots that rates are known for; nothing starts later
	sites []cumulativeRates
	pools []gpuPool
	jobs  []jobModel

	constant float64 // that no policy can avoid

	stop func() error // see Config; nil: nobody does
}

func (p *boundProblem) isStopped() bool { return p.stop != nil && p.stop() != nil }

// cumulativeRates are running sums of what a kilowatt costs at a site: sums[i] is from
// slot 0 until the start of slot i.
type cumulativeRates struct {
	prefixSums []float64
	plus       []float64 // of the hours in which power is not free
	less       []float64 // of the hours in which it earns
	low        float64   // the least of a slot
}

// A gpuPool is the GPUs of one model on nodes of one size at one site.
type gpuPool struct {
	Site, Model string
	Size        int // GPUs of each of its nodes
	GPUs        float64
	price       []float64 // microdollars per GPU-slot, slots of them; none below 0
	sums        []float64 // running sum of price, to end
}

// jobModel is a job: what it may do and what that costs.
type jobModel struct {
	arrival       float64
	deadline      float64
	gpus          float64
	delay         float64 // per slot of waiting
	late          float64 // per slot past the deadline
	neverRunCost  float64 // what the record charges if it does not run
	configs       []runConfig
	pieces        []pausedRun  // cheapest first; none if it cannot be paused
	blocks        []startBlock // cheapest first
	otherCost     float64      // no way outside of blocks costs less
	droppedBlocks int          // blocks that there were before some were put into the rest; 0: none were

	picked bool // way last was the favourite, from start since on: most likely it is again
	last   int
	since  float64
}

// A runConfig is how a job may run.
type runConfig struct {
	site, pool int // pool -1: it holds no GPU
	length     float64
	run        float64 // of that, without its input to come and not rounded up to seconds
	power      float64 // drawn by the job
	awake      float64 // its part of keeping a node awake, in hours in which power does not earn
	fixed      float64 // for moving input, and for rounding
	hour       float64 // rounding of a slot's part of an hour's bill
}

// A startBlock is the starts of one way in [from, to], with the least that they cost
// without the price of room.
type startBlock struct {
	least    float64
	config   int
	from, to float64
}

// price sets the prices of a pool and their running sum.
func (q *gpuPool) prefixSumPrices() {
	sum := 0.0
	for i := range q.sums {
		q.sums[i] = sum
		if i < len(q.price) {
			sum += q.price[i]
		}
	}
}

// interpolateSum returns a running sum between slots.
func interpolateSum(sums []float64, t float64) float64 {
	i := int(t)
	if i >= len(sums)-1 {
		return sums[len(sums)-1]
	}
	return sums[i] + float64((sums[i+1]-sums[i])*(t-float64(i)))
}

// costWithoutRoom returns what a way costs from a start on, room not counted.
func (p *boundProblem) costWithoutRoom(j *jobModel, w *runConfig, t float64) float64 {
	r := &p.sites[w.site]
	end := t + w.length
	v := w.fixed + float64(w.power*(interpolateSum(r.prefixSums, end)-interpolateSum(r.prefixSums, t)))
	if w.awake > 0 {
		v += float64(w.awake * (interpolateSum(r.plus, end) - interpolateSum(r.plus, t)))
	}
	v += float64(j.delay * (t - j.arrival))
	return v + float64(j.late*max(end-j.deadline, 0))
}

// costWithRoom returns cost with room paid for.
func (p *boundProblem) costWithRoom(j *jobModel, w *runConfig, t float64) float64 {
	v := p.costWithoutRoom(j, w, t)
	if w.pool < 0 {
		return v
	}
	s := p.pools[w.pool].sums
	return v + float64(j.gpus*(interpolateSum(s, t+w.length)-interpolateSum(s, t)))
}

// cheapestStart returns the cheapest start of a way in [from, to]. The cost is a straight
// line between the instants at which the run begins or ends with a slot or
// ends at the deadline, so the least is at one of these or at the rim.
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
		// Ends with a slot: starts lie 1-f past the boundary before.
		if v, i := p.scanSlotOffsets(j, w, int(math.Ceil(from-(1-f))), int(math.Floor(to-(1-f))), n, f, 1-f); v < value {
			value, start = v, min(max(float64(i)+(1-f), from), to)
		}
	}
	return value, start
}

// scanSlotOffsets tries starts at i+past for i in [first, last], where past is 0, and the
// run ends f into a slot, or 1-f, and it ends with one.
func (p *boundProblem) scanSlotOffsets(j *jobModel, w *runConfig, first, last, n int, f, past float64) (value float64, best int) {
	value = math.Inf(1)
	r := &p.sites[w.site]
	last = min(last, p.end-n-2)
	span := func(sums []float64, i int) float64 {
		if past == 0 {
			return sums[i+n] + float64((sums[i+n+1]-sums[i+n])*f) - sums[i]
		}
		return sums[i+n+1] - sums[i] - float64((sums[i+1]-sums[i])*past)
	}
	var room []float64
	if w.pool >= 0 {
		room = p.pools[w.pool].sums
	}
	for i := max(first, 0); i <= last; i++ {
		v := w.fixed + float64(w.power*span(r.prefixSums, i))
		if w.awake > 0 {
			v += float64(w.awake * span(r.plus, i))
		}
		if room != nil {
			v += float64(j.gpus * span(room, i))
		}
		t := float64(i) + past
		v += float64(j.delay * (t - j.arrival))
		if over := t + w.length - j.deadline; over > 0 {
			v += float64(j.late * over)
		}
		if v < value {
			value, best = v, i
		}
	}
	return value, best
}

// bestAtPrices returns the cheapest way and start of a job at the prices of room;
// way -1 is to take none of them, at no less than the job's rest.
func (p *boundProblem) bestAtPrices(j *jobModel) (wayIndex int, start, value float64) {
	wayIndex, value = -1, min(j.otherCost, j.neverRunCost)
	if j.picked {
		if v := p.costWithRoom(j, &j.configs[j.last], j.since); v < value {
			wayIndex, start, value = j.last, j.since, v
		}
	}
	for k := range j.blocks {
		b := &j.blocks[k]
		if b.least >= value {
			break // what follows costs more before its room is paid
		}
		if v, t := p.cheapestStart(j, &j.configs[b.config], b.from, b.to); v < value {
			wayIndex, start, value = b.config, t, v
		}
	}
	if wayIndex < 0 && j.droppedBlocks > 0 && j.otherCost <= j.neverRunCost {
		p.splitIntoBlocks(j, 4*len(j.blocks)) // prices have risen past what was kept
		return p.bestAtPrices(j)
	}
	j.picked, j.last, j.since = wayIndex >= 0, wayIndex, start
	return wayIndex, start, value
}
