package serving

import (
	"math/rand/v2"
)

// A Served is how one request fared in a simulation, in ms.
type Served struct {
	TTFT float64 // from its arrival to its first token
	TPOT float64 // from token to token after that, as the mean of the request; 0 of a single token
}

// A SimulationResult is what a simulation found.
type SimulationResult struct {
	Served []Served
	Watts  float64 // mean draw of the replica
	Batch  float64 // mean of running requests, while there are some
}

// warmUp is which part of a simulation is left out: it begins without load.
const warmUp = 10 // a tenth

// A running request is one in the batch.
type running struct {
	request int
	prompt  int // tokens that are to be prefilled
	output  int // tokens that are to be made
	tokens  int // of its answer
	arrived float64
	first   float64 // when its first token came
}

// Simulate serves so many requests at a load, iteration by iteration: arrivals are Poisson, tokens are
// drawn from pairs, prompts are taken first come, first served as far as an iteration has room beside a
// token of each request that decodes.
func Simulate(p Profile, pairs []Tokens, perSecond float64, requests int, seed uint64) (out SimulationResult) {
	d := rand.New(rand.NewPCG(seed, uint64(requests)))
	gap := func() float64 { return d.ExpFloat64() * 1000 / perSecond }
	skip := requests / warmUp
	var batch, queue []running
	now, next, arrived := 0.0, gap(), 0
	busy, idle, work, load := 0.0, 0.0, 0.0, 0.0 // ms, W·ms, requests·ms
	done := 0
	for done < requests {
		if len(batch)+len(queue) == 0 && next > now {
			idle += next - now
			now = next
		}
		for ; next <= now && arrived < requests; arrived++ {
			t := pairs[d.IntN(len(pairs))]
			queue = append(queue, running{request: arrived, prompt: max(t.Prompt, 1), output: max(t.Output, 1), tokens: max(t.Output, 1), arrived: next})
			next += gap()
		}
		for len(batch) < p.MaxBatch && len(queue) > 0 {
			batch, queue = append(batch, queue[0]), queue[1:]
		}
		decodes := 0
		for i := range batch {
			if batch[i].prompt == 0 {
				decodes++
			}
		}
		room := p.Chunk - decodes
		prefilled := 0
		for i := range batch {
			if take := min(batch[i].prompt, room); take > 0 {
				room, prefilled = room-take, prefilled+take
				if batch[i].prompt -= take; batch[i].prompt == 0 {
					batch[i].first = -1 // its first token comes with this iteration
				}
			}
		}
		took := p.TokenTime(float64(decodes)) + float64(p.Prefill*float64(prefilled))
		now += took
		busy += took
		work += float64(took * p.Watts(float64(max(len(batch), 1))))
		load += float64(took * float64(len(batch)))
		keep := batch[:0]
		for _, r := range batch {
			switch {
			case r.prompt > 0:
				keep = append(keep, r)
				continue
			case r.first < 0:
				r.first = now
			}
			if r.output--; r.output > 0 {
				keep = append(keep, r)
				continue
			}
			done++
			if r.request >= skip {
				out.Served = append(out.Served, r.served(now))
			}
		}
		batch = keep
	}
	out.Watts = (work + float64(idle*p.Watts(0))) / (busy + idle)
	out.Batch = load / busy
	return out
}

// served returns how a request fared that ended now.
func (r *running) served(now float64) Served {
	s := Served{TTFT: r.first - r.arrived}
	if r.tokens > 1 {
		s.TPOT = (now - r.first) / float64(r.tokens-1)
	}
	return s
}
