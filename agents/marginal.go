package agents

import "github.com/gridbid/gridbid/protocol"

// MarginalCost is the strategy of our own sites, and with less of it that of baselines:
// it offers what a run changes at the site, energy and carbon, at cost. The zero
// MarginalCost offers the earliest start, on what the placement policy picks, without a
// cap.
type MarginalCost struct {
	TemporalShift      bool // offer later starts to jobs that can wait
	SweepModelsAndCaps bool // offer each GPU model and cap, not only what the policy picks
	ChargeIdle         bool // charge a job its share of what its node draws for being awake
	MaxOptionsPerModel int  // for one job; default 4
}

// DefaultStrategy returns how the sites of an auction bid: every model, cap and hour.
// ChargeIdle is each site's own choice (decision 0013).
func DefaultStrategy(chargeIdle bool) MarginalCost {
	return MarginalCost{TemporalShift: true, SweepModelsAndCaps: true, ChargeIdle: chargeIdle}
}

// ProposeOptions implements BidStrategy. It never fails.
func (m MarginalCost) ProposeOptions(r *BidRequest) ([]protocol.BidOption, error) {
	p := *r.pricing
	p.strategy = m
	return p.optionsPerModel(r.Job, r.Ways), nil
}

// Delivery implements BidStrategy: who sells an hour keeps room for it.
func (m MarginalCost) Delivery() Delivery {
	return Delivery{KeepRoom: m.TemporalShift, AsOffered: m.SweepModelsAndCaps}
}

func (m MarginalCost) maxOptions() int {
	if m.MaxOptionsPerModel == 0 {
		return 4
	}
	return m.MaxOptionsPerModel
}
