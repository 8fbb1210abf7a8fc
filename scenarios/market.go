package scenarios

import (
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// NewAuctionMarket returns a market with the auction as its clearing rule, for testbeds
// whose sites are not from a scenario. It collects jobs for the time gather before it
// calls for bids.
func NewAuctionMarket(w protocol.Weights, gather time.Duration) bus.Machine {
	return market.New(market.Config{Gather: gather, Terms: w}, auction.New(auction.Config{}))
}
