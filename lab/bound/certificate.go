package bound

import (
	"fmt"
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Config says how hard to search. The zero of a field is its default.
type Config struct {
	Steps  int  // default 200
	Idle   bool // bound the objective with the idle draw of nodes, not of jobs alone
	Rounds int  // of a search for a schedule that comes near the bound; default none

	Stop func() error // asked on the way, says why to go no further; nil: nobody does
}

// A Certificate proves a bound: anybody can recompute it from the scenario and
// the prices.
type Certificate struct {
	Schema   int              `json:"schema"` // 1
	Scenario string           `json:"scenario"`
	Hash     string           `json:"hash"` // of the scenario
	Seed     uint64           `json:"seed"`
	Weights  protocol.Weights `json:"weights"`
	Idle     bool             `json:"idle"` // idle draw is in the objective
	Jobs     int              `json:"jobs"`
	BoundUSD float64          `json:"bound_usd"`
	FreeUSD  float64          `json:"free_usd"` // the bound if room were without end

	// KnownUSD is what the best schedule costs that was found, if one was looked
	// for and Idle is not set: no bound lies above it. It gives no node more
	// GPUs than it has, at any half minute; cores and memory are not counted.
	KnownUSD float64 `json:"known_usd,omitempty"`

	// OnlineUSD and BlindUSD are what it costs to place jobs as they arrive, by the
	// actual prices and intensities: with the price of room that the bound found,
	// and without any. They are computed with KnownUSD.
	OnlineUSD float64 `json:"online_usd,omitempty"`
	BlindUSD  float64 `json:"blind_usd,omitempty"`

	From  int64         `json:"from_ms"` // start of the first slot, since 1970
	Slot  time.Duration `json:"slot_ns"`
	Pools []PricedPool  `json:"pools"`
}

// A PricedPool is what the room of one kind of node is worth.
type PricedPool struct {
	Site   string                  `json:"site"`
	Model  string                  `json:"model"`
	Size   int                     `json:"size"` // GPUs of each node
	GPUs   int                     `json:"gpus"`
	Values []protocol.Microdollars `json:"values"` // per GPU-hour, by slot; then nothing
}

// ComputeCertificate returns a bound on what any policy can reach on a scenario, and its proof.
func ComputeCertificate(s spec.Scenario, cfg Config) (Certificate, error) {
	if cfg.Steps == 0 {
		cfg.Steps = 200
	}
	p, err := modelScenario(s, cfg.Idle)
	if err != nil {
		return Certificate{}, err
	}
	p.stop = cfg.Stop
	c := Certificate{
		Schema: 1, Scenario: s.Name, Hash: s.Hash, Seed: s.Seed, Weights: scenarios.MarketWeights(s),
		Idle: cfg.Idle, Jobs: len(s.Jobs), From: int64(s.Start.Floor(time.Hour)), Slot: slotLength,
	}
	c.FreeUSD = roundDownToCents(p.lowerBound(nil))
	p.subgradientSearch(cfg.Steps)
	if cfg.Rounds > 0 && !cfg.Idle {
		known, _ := p.bestKnownSchedule(cfg.Rounds)
		c.KnownUSD = roundDownToCents(known)
		c.OnlineUSD, c.BlindUSD = roundDownToCents(p.onlineCost(true)), roundDownToCents(p.onlineCost(false))
	}
	if p.isStopped() {
		return Certificate{}, fmt.Errorf("bound: %w", p.stop())
	}
	c.Pools = p.roundPrices()
	c.BoundUSD = roundDownToCents(p.lowerBound(nil))
	return c, nil
}

// roundPrices rounds the prices to whole units per GPU-hour and returns them.
func (p *boundProblem) roundPrices() []PricedPool {
	out := make([]PricedPool, len(p.pools))
	for i := range p.pools {
		q := &p.pools[i]
		x := PricedPool{Site: q.Site, Model: q.Model, Size: q.Size, GPUs: int(q.GPUs)}
		for t, v := range q.price {
			whole := math.Round(v / slotHours)
			q.price[t] = whole * slotHours
			if whole > 0 {
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

// roundDownToCents rounds down to a hundredth of a cent.
func roundDownToCents(v float64) float64 { return math.Floor(v/100) / 10_000 }

// GapToBound returns how far an objective lies above the bound, as a part of the
// bound. Where the bound is not above zero there is no such part: it is false.
func (c Certificate) GapToBound(objectiveUSD float64) (float64, bool) {
	if c.BoundUSD <= 0 {
		return 0, false
	}
	return objectiveUSD/c.BoundUSD - 1, true
}

// String returns the bound in words.
func (c Certificate) String() string {
	return fmt.Sprintf("no policy can do the %d jobs of %s below $%.4f (%s)", c.Jobs, c.Scenario, c.BoundUSD, c.ScopeText())
}

// ScopeText says whose cost is bounded.
func (c Certificate) ScopeText() string {
	if c.Idle {
		return "of jobs and idle nodes"
	}
	return "of jobs"
}
