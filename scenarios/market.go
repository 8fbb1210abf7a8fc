package scenarios

import (
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// NewMarket returns a market that clears by the rule of a policy of ours, PolicyAuction or
// PolicyGreensched, for testbeds whose sites are not from a scenario. It collects jobs for the time
// gather before it calls for bids.
func NewMarket(policy string, w protocol.Weights, gather time.Duration) bus.Machine {
	rule, _, _ := policyConfig(policy, 0)
	return market.New(market.Config{Gather: gather, Terms: w}, rule)
}
