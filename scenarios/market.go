package scenarios

import (
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// NewMarket returns a market under our auction, for stages whose sites are not
// of a script. It gathers jobs for so long before it calls them out.
func NewMarket(w protocol.Weights, gather time.Duration) bus.Machine {
	return market.New(market.Config{Gather: gather, Terms: w}, auction.New(auction.Config{}))
}
