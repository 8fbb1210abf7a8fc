package jobstatus

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A site that was said to be gone is begun anew when it greets: also by the market,
// which sells to it again.
func TestASiteThatIsBackIsNotDrained(t *testing.T) {
	w := way()
	b := told(w[0], say(protocol.OperatorAPI, protocol.Coordinator, protocol.Drain{Site: "oslo"}),
		say(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"}), w[0])
	if s := b.AllSites(noon.Add(time.Minute))[0]; s.Drained || s.Decommissioned {
		t.Errorf("shown as %+v", s)
	}
}
