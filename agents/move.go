package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// TransferNeeds returns what moving j's input to a site takes: time, in which the job uses its
// GPUs already, money for carriers, and carbon.
func (n Network) TransferNeeds(j protocol.Job, site string) (time.Duration, protocol.Microdollars, protocol.Milligrams) {
	return n.transferTime(j, site), n.transferCost(j, site), n.transferCarbon(j, site)
}
