package packing

import (
	"errors"
	"fmt"
	"math"

	"github.com/gridbid/gridbid/agents/fgd"
)

// maxJobs is the maximum number of pods on a node in the published setup (§4).
const maxJobs = 1001

// ReplayOptions configure a replay.
type ReplayOptions struct {
	Policy    fgd.Policy
	Tune      float64 // requested GPUs relative to the cluster's; 1.3 in the published runs; 0: trace unchanged
	Reference bool    // compute F in floats, as the published program does
	// Clock returns nanoseconds of CPU or wall time; nil: no timing.
	Clock func() int64
}

// A LoadPoint is the measurement at one load, in per cent.
type LoadPoint struct {
	Alloc float64 `json:"alloc_pct"`           // allocated GPU of all GPU
	Frag  float64 `json:"frag_over_total_pct"` // F of all GPU
	Ratio float64 `json:"frag_ratio_pct"`      // F of idle GPU
}

// reportedLoads are the percentages of arrived load that a Run reports by name.
var reportedLoads = [...]int{90, 100, 110, 120, 130}

// A ReplayResult is the result of one replay of one seed under one policy.
type ReplayResult struct {
	Load        map[string]LoadPoint `json:"load"`            // at each of loads that was reached, by its number
	FinalAlloc  float64              `json:"final_alloc_pct"` // after the last arrival
	Failed      float64              `json:"failed"`          // arrivals without a fitting node
	Decisions   float64              `json:"decisions"`       // number of arrivals
	NsPerChoice float64              `json:"ns_per_decision"` // mean time of a placement; 0 without timing
	// Curve has the point of each per cent of load from 0 to the last one; those
	// without measurements are null.
	Curve []*LoadPoint `json:"curve,omitempty"`
}

// ReplaySeed places the arrivals of a seed, each once, and measures after each, placed or
// not (§9).
func (t *PlacementTrace) ReplaySeed(o ReplayOptions, seed int64) (ReplayResult, error) {
	if t.gpus == 0 {
		return ReplayResult{}, errors.New("packing: no node has a GPU: use another node list")
	}
	sequence, rank, err := t.DrawArrivals(o.Tune, seed)
	if err != nil {
		return ReplayResult{}, err
	}
	cfg := fgd.Config{Policy: o.Policy, Rank: rank, MaxJobs: maxJobs, Seed: uint64(seed)}
	// The published program sums F in floats, over all pods.
	if o.Reference {
		cfg.Reference = int64(len(t.Pods))
	}
	c, err := fgd.New(cfg, t.Nodes, t.Target)
	if err != nil {
		return ReplayResult{}, fmt.Errorf("packing: %w", err)
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return 0 }
	}
	events := make([]arrivalEvent, len(sequence))
	var arrived int64
	failed := 0
	start := o.Clock()
	// One placement an arrival; a pod without a place is not tried a second time.
	for i, p := range sequence {
		r := t.Pods[p].Request
		if _, ok := c.PlaceRequest(r); !ok {
			failed++
		}
		arrived += r.TotalMilli()
		num, den := c.Fragmentation()
		events[i] = arrivalEvent{arrived: arrived, idle: c.IdleMilli(), frag: float64(num) / float64(den)}
	}
	// The measured time includes the counting after each placement.
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

// meanCurveOf returns, for each per cent of load, the mean over the events that round to it
// (half to even) or, without any, over those within one per cent (§9).
func (t *PlacementTrace) meanCurveOf(events []arrivalEvent) []*LoadPoint {
	if len(events) == 0 {
		return nil
	}
	gpus := float64(t.gpus)
	load := func(e arrivalEvent) float64 { return float64(e.arrived) / (gpus / 1000) / 10 }
	last := int(math.RoundToEven(load(events[len(events)-1])))
	exact, near := make([]pointSum, last+1), make([]pointSum, last+2)
	for _, e := range events {
		// Values as in the published log, with its two decimals.
		p := LoadPoint{
			Alloc: roundToCents(100 * (gpus - float64(e.idle)) / gpus),
			Frag:  100 * roundToCents(e.frag) / gpus,
		}
		if e.idle > 0 {
			p.Ratio = roundToCents(100 * e.frag / float64(e.idle))
		}
		// An event counts for its rounded per cent, and for those within one of it as a substitute.
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
		if p := s.meanPoint(); p != nil { // the published curve has two decimals, too
			points[k] = &LoadPoint{roundToCents(p.Alloc), roundToCents(p.Frag), roundToCents(p.Ratio)}
		}
	}
	return points
}

// roundToCents rounds to the two decimals of the published figures.
func roundToCents(x float64) float64 { return math.Round(x*100) / 100 }
