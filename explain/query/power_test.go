package query

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// What a lost run drew is billed by the hour, too. It is no reading of what the site drew.
func TestALostRunIsNoReading(t *testing.T) {
	s := day()
	bill := protocol.Usage{IT: 36_000_000, Energy: 40_000_000, Carbon: 9, Money: 8}
	for h := noon; h < noon.Add(3*time.Hour); h = h.Add(time.Hour) { // it ran for hours
		s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.SiteUsage{Hour: h, Idle: bill})
	}
	l := s.buildDataset()
	holds(t, l, "power draw at oslo at 14:30", "oslo drew 0.200 kW in the hour from 13 Apr 13:00.", "")
	if got, want := figureOfAnswer(t, l.AnswerQuestion("energy at oslo"), "run", "idle-energy"), figureOfAnswer(t, day().buildDataset().AnswerQuestion("energy at oslo"), "run", "idle-energy")+3*40_000_000; got != want {
		t.Errorf("idle draw is %d mJ; want %d, what was lost included", got, want)
	}
}
