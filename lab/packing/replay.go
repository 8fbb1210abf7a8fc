package packing

import (
	"errors"
	"fmt"
	"math"

	"github.com/gridbid/gridbid/agents/fgd"
)

// maxJobs is the number of pods that a published node runs at most (§4).
const maxJobs = 1001

// ReplayOptions say how to replay.
type ReplayOptions struct {
	Policy    fgd.Policy
	Tune      float64 // GPUs asked for over GPUs there, 1.3 in the published runs; 0 leaves the trace as it is
	Reference bool    // sum F in floats as the published program does
	// Clock reads nanoseconds of processor or wall time; nil times nothing.
	Clock func() int64
}

// A LoadPoint is what was measured at one load, in percent.
type LoadPoint struct {
	Alloc float64 `json:"alloc_pct"`           // allocated GPU of all GPU
	Frag  float64 `json:"frag_over_total_pct"` // F of all GPU
	Ratio float64 `json:"frag_ratio_pct"`      // F of idle GPU
}

// reportedLoads are the percents of arrived load that a Run reports by name.
var reportedLoads = [...]int{90, 100, 110, 120, 130}

// A ReplayResult is one replay of one seed under one policy.
type ReplayResult struct {
	Load        map[string]LoadPoint `json:"load"`            // at each of loads that was reached
	FinalAlloc  float64              `json:"final_alloc_pct"` // after the last arrival
	Failed      float64              `json:"failed"`          // arrivals that fitted nowhere
	Decisions   float64              `json:"decisions"`       // arrivals
	NsPerChoice float64              `json:"ns_per_decision"` // decide and place; 0 if not timed
	// Curve is the whole of Load: a point for each percent from 0 to the last
	// that has one; those without are null.
	Curve []*LoadPoint `json:"curve,omitempty"`
}

// ReplaySeed places one seed's arrivals, each once, and measures after each,
// failed or not (§9).
func (t *PlacementTrace) ReplaySeed(o ReplayOptions, seed int64) (ReplayResult, error) {
	if t.gpus == 0 {
		return ReplayResult{}, errors.New("pack: no node has a GPU: there is nothing to allocate")
	}
	sequence, rank, err := t.DrawArrivals(o.Tune, seed)
	if err != nil {
		return ReplayResult{}, err
	}
	cfg := fgd.Config{Policy: o.Policy, Rank: rank, MaxJobs: maxJobs, Seed: uint64(seed)}
	if o.Reference {
		cfg.Reference = int64(len(t.Pods))
	}
	c, err := fgd.New(cfg, t.Nodes, t.Target)
	if err != nil {
		return ReplayResult{}, fmt.Errorf("pack: %w", err)
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return 0 }
	}
	events := make([]arrivalEvent, len(sequence))
	var arrived int64
	failed := 0
	start := o.Clock()
	for i, p := range sequence {
		r := t.Pods[p].Request
		if _, ok := c.PlaceRequest(r); !ok {
			failed++
		}
		arrived += r.TotalMilli()
		num, den := c.Fragmentation()
		events[i] = arrivalEvent{arrived: arrived, idle: c.IdleMilli(), frag: float64(num) / float64(den)}
	}
	spent := o.Clock() - start

	run := ReplayResult{Failed: float64(failed), Decisions: float64(len(sequence))}
	if len(sequence) > 0 {
		run.NsPerChoice = math.Round(float64(spent) / float64(len(sequence)))
		run.FinalAlloc = roundToCents(100 * float64(t.gpus-c.IdleMilli()) / float64(t.gpus))
	}
	run.Curve = t.meanCurveOf(events)
	run.Load = map[string]LoadPoint{}
	for _, k := range reportedLoads {
		if k < len(run.Curve) && run.Curve[k] != nil {
			run.Load[fmt.Sprint(k)] = *run.Curve[k]
		}
	}
	return run, nil
}

// arrivalEvent is the state after one arrival, in thousandths of a GPU.
type arrivalEvent struct {
	arrived, idle int64
	frag          float64
}

// meanCurveOf is, for each percent of load, the mean over the events that round to
// it, half to even; where there are none, over those within one percent (§9).
func (t *PlacementTrace) meanCurveOf(events []arrivalEvent) []*LoadPoint {
	if len(events) == 0 {
		return nil
	}
	gpus := float64(t.gpus)
	load := func(e arrivalEvent) float64 { return float64(e.arrived) / (gpus / 1000) / 10 }
	last := int(math.RoundToEven(load(events[len(events)-1])))
	exact, near := make([]pointSum, last+1), make([]pointSum, last+2)
	for _, e := range events {
		// What the published log says, with its two decimals.
		p := LoadPoint{
			Alloc: roundToCents(100 * (gpus - float64(e.idle)) / gpus),
			Frag:  100 * roundToCents(e.frag) / gpus,
		}
		if e.idle > 0 {
			p.Ratio = roundToCents(100 * e.frag / float64(e.idle))
		}
		at := load(e)
		exact[int(math.RoundToEven(at))].addPoint(p)
		for k := int(math.Ceil(at - 1)); k <= int(math.Floor(at+1)); k++ {
			if k >= 0 && k <= last {
				near[k].addPoint(p)
			}
		}
	}
	points := make([]*LoadPoint, last+1)
	for k := range points {
		s := exact[k]
		if s.n == 0 {
			s = near[k]
		}
		if p := s.meanPoint(); p != nil { // published with two decimals, too
			points[k] = &LoadPoint{roundToCents(p.Alloc), roundToCents(p.Frag), roundToCents(p.Ratio)}
		}
	}
	return points
}

func roundToCents(x float64) float64 { return math.Round(x*100) / 100 }
