package agents

import (
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// A BidStrategy decides what a site offers for a job. The agent does the rest: it
// looks whether the job may run here at all, holds every option to what the site can
// keep, and delivers what is won. See docs/bid-strategy.md.
//
// A strategy is a function of its BidRequest and of what it was asked before. It must
// not read a clock or draw from a global source: a replay has to come to the same bids.
type BidStrategy interface {
	// ProposeOptions returns options for the request's job, each made by its
	// PriceOption. No option is an answer: the site has no room for it. An error, or one
	// option that does not hold, has the agent bid by DefaultStrategy instead.
	ProposeOptions(r *BidRequest) ([]protocol.BidOption, error)

	// Delivery says how the site keeps what it sold. It is asked once, by New.
	Delivery() Delivery
}

// Delivery is how a site keeps what it sold.
type Delivery struct {
	// KeepRoom has room set aside for each job of the queue as soon as it is accepted,
	// and a job given back whose room would come later than the call allows. Without it
	// only jobs of several GPUs have room set aside, and all wait for as long as it takes.
	KeepRoom bool
	// AsOffered has a job run on the model and under the cap that its option names.
	// Without it the placement policy picks the model, and there is no cap.
	AsOffered bool
}

// maxOptions bounds what a strategy may propose for one job: MaxOptionsPerModel times
// more models than a site has.
const maxOptions = 64

// A BidRequest is what a strategy may know: a job, and what the site knows of itself and
// was told by the call. It holds until ProposeOptions returns.
type BidRequest struct {
	Now      protocol.Time
	Site     string
	Job      protocol.Job // with the run time that the site estimates, if it names none
	Weights  protocol.Weights
	Planning protocol.Planning
	// Ways is how the job could run here were every node empty: on which GPU model, under
	// which power cap, how long and at what draw, grouped by model.
	Ways []capacity.RunConfig

	pricing *bidPricing
}

// GridForecast returns how the site expects its grid to be, hour by hour. The caller must
// not change it.
func (r *BidRequest) GridForecast() protocol.GridForecast { return r.pricing.agent.gridForecast }

// FreeCapacity returns what could still be given of each GPU model, by the planning's slots.
func (r *BidRequest) FreeCapacity() []protocol.CapacityProfile {
	return r.pricing.agent.fleet.CapacityProfiles(r.Now, r.Planning.Slot, r.Planning.SlotCount())
}

// RunTime returns how long the job holds its GPUs one way: its run, and before that
// the transfer of its input.
func (r *BidRequest) RunTime(w capacity.RunConfig) time.Duration {
	return w.Run + r.pricing.agent.cfg.Network.transferTime(r.Job, r.Site)
}

// ShadowPrice returns what a GPU-hour of a model is worth on the mean between two
// instants, by the prices that the call announced.
func (r *BidRequest) ShadowPrice(model string, start, finish protocol.Time) protocol.Microdollars {
	return r.pricing.shadow.meanPrice(model, start, finish)
}

// FindOpening returns the first start, not before at, from which on the site could run
// the job one way. False if it never can.
func (r *BidRequest) FindOpening(w capacity.RunConfig, at protocol.Time) (protocol.Time, bool) {
	fleet, run := r.pricing.agent.fleet, r.RunTime(w)
	if at <= r.Now {
		if _, ok := fleet.QuotePlacement(r.Now, r.Job, w.Model, run); ok {
			return r.Now, true
		}
		at = r.Now.Add(time.Second) // by the sums there may be room now, but no node has it
	}
	return fleet.EarliestStart(r.Now, r.Job, w.Model, at, run)
}

// PriceOption returns what it takes to run the job one way from a start on, and what
// that counts for by the call's weights, room paid for at the announced prices. It does
// not look whether there is room.
func (r *BidRequest) PriceOption(w capacity.RunConfig, start protocol.Time) (o protocol.BidOption, cost protocol.Microdollars) {
	place := capacity.PlacementQuote{}
	if start == r.Now {
		place, _ = r.pricing.agent.fleet.QuotePlacement(r.Now, r.Job, w.Model, r.RunTime(w))
	}
	priced := r.pricing.priceOption(r.Job, w, start, r.RunTime(w), 0, place)
	return priced.BidOption, priced.cost
}

// checkOption says why the site could not keep an option as it stands, or returns nil.
func (r *BidRequest) checkOption(o protocol.BidOption) error {
	i := slices.IndexFunc(r.Ways, func(w capacity.RunConfig) bool { return w.Model == o.Model && w.Choice.Cap == o.Cap })
	switch {
	case i < 0:
		return fmt.Errorf("no way to run it is on %q under a cap of %d mW", o.Model, o.Cap)
	case o.Start < r.Now:
		return fmt.Errorf("it starts at %v, which is over", o.Start)
	}
	w := r.Ways[i]
	if want, _ := r.PriceOption(w, o.Start); o != want {
		return fmt.Errorf("it says %+v; the site's own figures are %+v", o, want)
	}
	at, beyond := o.Start, o.Start > r.Now.Add(r.Planning.Horizon)
	if beyond || !r.needsNodeByNode(o.Finish) {
		at = r.Now // room that is free once counts as free, by the sums: see needsNodeByNode
	}
	opening, ok := r.FindOpening(w, at)
	if !ok || opening > o.Start {
		return fmt.Errorf("there is no room on %q at %v", o.Model, o.Start)
	}
	if beyond && opening < o.Start {
		return fmt.Errorf("it starts at %v, beyond the horizon, and there is room at %v", o.Start, opening)
	}
	return nil
}

// needsNodeByNode reports whether room for a later start has to be looked for node by
// node: by FirmLead before the deadline the market has a site keep it, and for several
// GPUs the sum of what is free says nothing.
func (r *BidRequest) needsNodeByNode(finish protocol.Time) bool {
	return r.Job.GPUs > 1 || finish.Add(r.Planning.FirmLead) > r.Job.Deadline
}

// proposeOptions asks the strategy for a job's options. One that fails, or proposes what
// does not hold, is counted, and the default's options are taken.
func (a *Agent) proposeOptions(r *BidRequest) []protocol.BidOption {
	options, err := a.strategy.ProposeOptions(r)
	if _, own := a.strategy.(MarginalCost); own {
		return options // made by the same looks that checkOption takes; a test holds it to that
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
	options, _ = DefaultStrategy(false).ProposeOptions(r) // it never fails
	return options
}

// StrategyFaults returns how often the site's strategy was not heeded, by reason:
// "strategy-error", "strategy-too-many", "strategy-invalid". The caller must not change it.
func (a *Agent) StrategyFaults() map[string]int { return a.faults }
