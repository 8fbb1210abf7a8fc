package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// TransferNeeds returns what it takes to bring the input of j to a site: time, in which
// the job holds its GPUs already, money to carriers and carbon.
func (n Network) TransferNeeds(j protocol.Job, site string) (time.Duration, protocol.Microdollars, protocol.Milligrams) {
	return n.transferTime(j, site), n.transferCost(j, site), n.transferCarbon(j, site)
}
