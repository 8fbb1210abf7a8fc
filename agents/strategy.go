package agents

import (
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// A BidStrategy decides what a site bids for a job. The agent does the rest: it checks whether the
// job may run here at all, checks every option against what the site can deliver, and delivers
// what is won. See docs/bid-strategy.md.
//
// A strategy is a function of its BidRequest and of earlier requests. It must not read a clock or
// draw from a global source of randomness: a replay must produce the same bids.
type BidStrategy interface {
	// ProposeOptions returns options for the request's job, each made by its PriceOption. No
	// option means that the site has no capacity for it. On an error, or if one option fails the
	// agent's check, the agent bids by DefaultStrategy instead.
	ProposeOptions(r *BidRequest) ([]protocol.BidOption, error)

	// Delivery returns how the site keeps what it sold. New asks once.
	Delivery() Delivery
}

// Delivery is how a site keeps what it sold.
type Delivery struct {
	// KeepRoom reserves capacity for each queued job as soon as it is accepted, and gives a job
	// back whose reservation starts later than the call allows. Without it only jobs of several
	// GPUs get a reservation, and all wait for as long as it takes.
	KeepRoom bool
	// AsOffered runs a job on the model and under the power cap of its option. Without it the
	// placement policy picks the model, and there is no cap.
	AsOffered bool
	// Sizes bids an elastic job on several numbers of pods. Without it runs on as many as it names.
	Sizes bool
}

// maxOptions bounds what a strategy may propose for one job: far above MaxOptionsPerModel times
// the models of a site, so that a broken strategy cannot fill the message.
const maxOptions = 64

// A BidRequest is all that a strategy may know: a job, the site's state, and the call. It is valid
// until ProposeOptions returns.
type BidRequest struct {
	Now      protocol.Time
	Site     string
	Job      protocol.Job     // with the site's estimate of the run time, if the job states none
	Weights  protocol.Weights // for ranking: see protocol.Weights.ForRanking
	Planning protocol.Planning
	// Ways are the configurations in which the job could run here if every node were empty: GPU
	// model, power cap, duration and power, grouped by model.
	Ways []capacity.RunConfig

	pricing *bidPricing
}

// GridForecast returns the site's hourly grid forecast. The caller must not change it.
func (r *BidRequest) GridForecast() protocol.GridForecast { return r.pricing.agent.gridForecast }

// FreeCapacity returns the free capacity of each GPU model, by the planning's slots. The caller must
// not change it.
func (r *BidRequest) FreeCapacity() []protocol.CapacityProfile {
	return r.pricing.agent.fleet.CapacityProfiles(r.Now, r.Planning.Slot, r.Planning.SlotCount())
}

// RunTime returns how long the job uses its GPUs in configuration w: the transfer of its input,
// then its run.
func (r *BidRequest) RunTime(w capacity.RunConfig) time.Duration {
	return w.Run + r.pricing.agent.cfg.Network.transferTime(r.Job, r.Site)
}

// ShadowPrice returns the mean announced price of a GPU-hour of a model between two instants.
func (r *BidRequest) ShadowPrice(model string, start, finish protocol.Time) protocol.Microdollars {
	return r.pricing.shadow.meanPrice(model, start, finish)
}

// FindOpening returns the first start, at or after at, from which the site could run the job in
// configuration w; false if there is none.
func (r *BidRequest) FindOpening(w capacity.RunConfig, at protocol.Time) (protocol.Time, bool) {
	fleet, run := r.pricing.agent.fleet, r.RunTime(w)
	if at <= r.Now {
		if _, ok := fleet.QuotePlacement(r.Now, r.Job, w.Model, run); ok {
			return r.Now, true
		}
		at = r.Now.Add(time.Second) // enough GPUs may be free in total, but no single node has them now
	}
	return fleet.EarliestStart(r.Now, r.Job, w.Model, at, run)
}

// PriceOption returns the option of running the job in configuration w from start on, and its cost
// by the call's weights and announced prices. It does not check for capacity.
func (r *BidRequest) PriceOption(w capacity.RunConfig, start protocol.Time) (o protocol.BidOption, cost protocol.Microdollars) {
	place := capacity.PlacementQuote{}
	if start == r.Now {
		place, _ = r.pricing.agent.fleet.QuotePlacement(r.Now, r.Job, w.Model, r.RunTime(w))
	}
	p := r.pricing
	c := p.pricingOf(p.asDeclared(&r.Job), w, p.agent.fleet.IdlePowerShare(r.Now, r.Job, w.Model))
	priced := c.priceStart(start, &place)
	return priced.BidOption, priced.cost
}

// checkOption returns why the site could not deliver an option as it stands, or nil.
func (r *BidRequest) checkOption(o protocol.BidOption) error {
	i := slices.IndexFunc(r.Ways, func(w capacity.RunConfig) bool { return w.Model == o.Model && w.Choice.Cap == o.Cap })
	switch {
	case i < 0:
		return fmt.Errorf("%q under a cap of %d mW is none of the ways to run the job", o.Model, o.Cap)
	case o.Start < r.Now:
		return fmt.Errorf("its start %v is in the past", o.Start)
	}
	w := r.Ways[i]
	if want, _ := r.PriceOption(w, o.Start); o != want {
		return fmt.Errorf("the option is %+v, but the site computes %+v", o, want)
	}
	if terms := r.pricing.agent.termsFor(&r.Job, r.pricing.lendingPlan); !terms.allows(o.Start, o.Finish) {
		return fmt.Errorf("the site's terms do not allow a run from %v to %v", o.Start, o.Finish)
	}
	at, beyond := o.Start, o.Start > r.Now.Add(r.Planning.Horizon)
	if beyond || !r.pricing.needsNodeByNode(&r.Job, o.Finish) {
		at = r.Now // capacity that is free now counts as free then, by the totals: see bidPricing.needsNodeByNode
	}
	opening, ok := r.FindOpening(w, at)
	if !ok || opening > o.Start {
		return fmt.Errorf("%q has no free capacity at %v", o.Model, o.Start)
	}
	if beyond && opening < o.Start {
		return fmt.Errorf("its start %v is beyond the horizon, but there is free capacity at %v", o.Start, opening)
	}
	return nil
}

// proposeOptions asks the strategy for a job's options. If it fails, or proposes an option that
// does not pass checkOption, the agent counts that and bids by the default strategy.
func (a *Agent) proposeOptions(r *BidRequest) []protocol.BidOption {
	options, err := a.strategy.ProposeOptions(r)
	if _, own := a.strategy.(MarginalCost); own {
		return options // MarginalCost searches as checkOption does; a test checks that they agree
	}
	switch {
	case err != nil:
		a.faults["strategy-error"]++
	case len(options) > maxOptions:
		a.faults["strategy-too-many"]++
	case slices.ContainsFunc(options, func(o protocol.BidOption) bool { return r.checkOption(o) != nil }):
		a.faults["strategy-invalid"]++
	default:
		slices.SortStableFunc(options, byStart)
		return options
	}
	options, _ = DefaultStrategy().ProposeOptions(r) // it never fails
	return options
}

// StrategyFaults returns how often the site's strategy was overruled, by reason: "strategy-error",
// "strategy-too-many", "strategy-invalid". The caller must not change it.
func (a *Agent) StrategyFaults() map[string]int { return a.faults }
