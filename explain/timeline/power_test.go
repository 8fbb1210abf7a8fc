package timeline_test

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// What a lost run drew is billed by the hour, too. It is no reading of what the site drew.
func TestALostRunIsNoReading(t *testing.T) {
	s := sold()
	hour := s.now
	s.now = s.now.Add(time.Hour)
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.SiteUsage{Hour: hour, Total: 7_200_000_000, Idle: protocol.Usage{IT: 3_600_000_000, Energy: 4_000_000_000}})
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.SiteUsage{Hour: hour, Idle: protocol.Usage{IT: 36_000_000, Energy: 40_000_000}})
	now := s.d.InstantAt(s.now)
	for _, x := range now.Sites {
		if x.Name == "oslo" && (x.Draw != 2_000_000 || x.Metered != hour) {
			t.Errorf("oslo drew %d mW in the hour from %s; want 2 kW", x.Draw, x.Metered)
		}
	}
	if now.Energy != 4_040_000_000 {
		t.Errorf("it took %d mJ; want both", now.Energy)
	}
}
