package agents

import "github.com/gridbid/gridbid/protocol"

// MarginalCost is the default strategy; baselines switch parts of it off. It bids the marginal
// energy, carbon and cost of a run at cost. The zero MarginalCost bids the earliest start, on the
// model that the placement policy picks, without a power cap.
type MarginalCost struct {
	TemporalShift      bool // bid later starts for deferrable jobs
	SweepModelsAndCaps bool // bid each GPU model and cap, not only what the policy picks
	Sizes              bool // bid elastic jobs on several numbers of pods; SweepModelsAndCaps does that, too
	MaxOptionsPerModel int  // options for one job on each GPU model; default 4
}

// DefaultStrategy returns how the sites of an auction bid: every model, cap and hour.
func DefaultStrategy() MarginalCost {
	return MarginalCost{TemporalShift: true, SweepModelsAndCaps: true}
}

// ProposeOptions implements BidStrategy. It never fails.
func (m MarginalCost) ProposeOptions(r *BidRequest) ([]protocol.BidOption, error) {
	p := *r.pricing
	p.strategy = m
	return p.optionsPerModel(&r.Job, r.Ways), nil
}

// Delivery implements BidStrategy. A strategy that sells later hours reserves capacity for them.
func (m MarginalCost) Delivery() Delivery {
	return Delivery{KeepRoom: m.TemporalShift, AsOffered: m.SweepModelsAndCaps, Sizes: m.Sizes || m.SweepModelsAndCaps}
}

// maxOptions returns MaxOptionsPerModel or its default.
func (m MarginalCost) maxOptions() int {
	if m.MaxOptionsPerModel == 0 {
		return 4
	}
	return m.MaxOptionsPerModel
}
