package bound

import (
	"fmt"
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Config sets the effort of the search. Zero fields have their defaults.
type Config struct {
	Steps  int  // of the price search; default 200
	Idle   bool // include the idle power of nodes in the bounded objective
	Rounds int  // of the search for a schedule near the bound; default none

	Stop func() error // polled during the search; a non-nil error ends it; nil: never
}

// A Certificate proves a bound: anyone can recompute it from the scenario and the
// prices (see VerifyCertificate).
type Certificate struct {
	Schema   int              `json:"schema"` // 1
	Scenario string           `json:"scenario"`
	Hash     string           `json:"hash"` // of the scenario: see spec.Scenario
	Seed     uint64           `json:"seed"`
	Weights  protocol.Weights `json:"weights"`
	Idle     bool             `json:"idle"` // whether the objective includes idle power
	Jobs     int              `json:"jobs"`
	BoundUSD float64          `json:"bound_usd"`
	FreeUSD  float64          `json:"free_usd"` // the bound if capacity were unlimited

	// KnownUSD is the cost of the best schedule that was found, if one was searched
	// for and Idle is false: no valid bound is above it. The schedule never gives a
	// node more GPUs than it has, at any half minute; CPU and memory are not checked.
	KnownUSD float64 `json:"known_usd,omitempty"`

	// OnlineUSD and BlindUSD are the costs of placing jobs as they arrive, by the
	// actual prices and intensities: with the bound's shadow prices of capacity, and
	// without. They are computed with KnownUSD.
	OnlineUSD float64 `json:"online_usd,omitempty"`
	BlindUSD  float64 `json:"blind_usd,omitempty"`

	From  int64         `json:"from_ms"` // start of the first slot, ms since 1970
	Slot  time.Duration `json:"slot_ns"`
	Pools []PricedPool  `json:"pools"`
}

// A PricedPool has the shadow prices of the GPUs on one kind of node.
type PricedPool struct {
	Site   string                  `json:"site"`
	Model  string                  `json:"model"`
	Size   int                     `json:"size"` // GPUs of each node
	GPUs   int                     `json:"gpus"`
	Values []protocol.Microdollars `json:"values"` // per GPU-hour, by slot; missing slots are 0
}

// ComputeCertificate returns a lower bound on the objective of any policy on a scenario, with its proof.
// If Rounds asks for a schedule of a day that has none, the error is a WideGangError.
func ComputeCertificate(s spec.Scenario, cfg Config) (Certificate, error) {
	s = s.WithPartsAsJobs()
	if cfg.Steps == 0 {
		cfg.Steps = 200
	}
	m, err := newScenarioModel(s, cfg.Idle)
	if err != nil {
		return Certificate{}, err
	}
	if cfg.Rounds > 0 && !cfg.Idle {
		if err := m.firstWideGang(); err != nil {
			return Certificate{}, fmt.Errorf("bound: %w", err)
		}
	}
	p := m.p
	p.stop = cfg.Stop
	c := Certificate{
		Schema: 1, Scenario: s.Name, Hash: s.Hash, Seed: s.Seed, Weights: scenarios.MarketWeights(s),
		Idle: cfg.Idle, Jobs: len(s.Jobs), From: int64(s.Start.Floor(time.Hour)), Slot: slotLength,
	}
	// All prices are still zero here: capacity is free.
	c.FreeUSD = roundDownToCents(p.lowerBound(nil))
	// The order matters: bestKnownSchedule and onlineCost use the prices that the search has set.
	p.subgradientSearch(cfg.Steps)
	if cfg.Rounds > 0 && !cfg.Idle {
		known, _ := p.bestKnownSchedule(cfg.Rounds)
		c.KnownUSD = roundDownToCents(known)
		c.OnlineUSD, c.BlindUSD = roundDownToCents(p.onlineCost(true)), roundDownToCents(p.onlineCost(false))
	}
	if p.isStopped() {
		return Certificate{}, fmt.Errorf("bound: %w", p.stop())
	}
	// The bound is computed from the rounded prices, as a reader of the certificate does.
	c.Pools = p.roundPrices()
	c.BoundUSD = roundDownToCents(p.lowerBound(nil))
	return c, nil
}

// FreeCost returns the cost below which no policy can be even where capacity is unlimited, in dollars:
// every job at the place and hour that suit it best. It is ComputeCertificate's FreeUSD, and takes a
// small part of its time.
func FreeCost(s spec.Scenario, cfg Config) (float64, error) {
	s = s.WithPartsAsJobs()
	m, err := newUnsplitModel(s, cfg.Idle)
	if err != nil {
		return 0, err
	}
	if m.p.stop = cfg.Stop; m.p.isStopped() {
		return 0, fmt.Errorf("bound: %w", m.p.stop())
	}
	// Without a search for prices there is nothing that smaller blocks would save.
	for i := range m.p.jobs {
		j := &m.p.jobs[i]
		m.p.splitStarts(j, len(j.configs), math.Inf(1))
	}
	return roundDownToCents(m.p.lowerBound(nil)), nil
}

// roundPrices rounds the prices to whole units per GPU-hour, so that the certificate's
// prices are exactly those of its bound, and returns them.
func (p *boundProblem) roundPrices() []PricedPool {
	out := make([]PricedPool, len(p.pools))
	for i := range p.pools {
		q := &p.pools[i]
		x := PricedPool{Site: q.Site, Model: q.Model, Size: q.Size, GPUs: int(q.GPUs)}
		for t, v := range q.price {
			whole := math.Round(v / slotHours)
			q.price[t] = whole * slotHours
			if whole > 0 {
				// Slots before the first priced one and between priced ones are written out as zeros.
				for len(x.Values) < t {
					x.Values = append(x.Values, 0)
				}
				x.Values = append(x.Values, protocol.Microdollars(whole))
			}
		}
		q.prefixSumPrices()
		out[i] = x
	}
	return out
}

// roundDownToCents rounds down to a hundredth of a cent: a bound must not be rounded up.
func roundDownToCents(v float64) float64 { return math.Floor(v/100) / 10_000 }

// GapToBound returns how far an objective is above the bound, relative to the bound. It is
// undefined (false) if the bound is not positive.
func (c Certificate) GapToBound(objectiveUSD float64) (float64, bool) {
	if c.BoundUSD <= 0 {
		return 0, false
	}
	return objectiveUSD/c.BoundUSD - 1, true
}

// String returns the bound as a sentence.
func (c Certificate) String() string {
	return fmt.Sprintf("no policy can do the %d jobs of %s below $%.4f (%s)", c.Jobs, c.Scenario, c.BoundUSD, c.ScopeText())
}

// ScopeText returns which cost is bounded.
func (c Certificate) ScopeText() string {
	if c.Idle {
		return "of jobs and idle nodes"
	}
	return "of jobs"
}
