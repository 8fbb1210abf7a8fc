package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Move returns what it takes to bring the input of j to a site: time, in which
// the job holds its GPUs already, money to carriers and carbon.
func (n Network) Move(j protocol.Job, site string) (time.Duration, protocol.Microdollars, protocol.Milligrams) {
	return n.takes(j, site), n.costs(j, site), n.emits(j, site)
}
