package market

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// What is kept of a site does not grow with the names that it makes up.
func TestASiteHasSoManyModels(t *testing.T) {
	s := newStage(t, "oslo")
	s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	var rooms []protocol.CapacityProfile
	for i := range 5000 {
		r := room(s.now)
		r.Model = fmt.Sprint("V", 100+i)
		rooms = append(rooms, r)
	}
	s.tell("agent/oslo", protocol.Bids{Round: 1, Jobs: []protocol.JobBids{menu("train", s.option(0, time.Hour))}, Capacity: rooms})
	if n := len(s.rule.rounds[0].Sites[0].Capacity); n != 64 || s.market.RefusalCounts()["impossible-term"] != 5000-64 {
		t.Errorf("%d models are read, counts %v", n, s.market.RefusalCounts())
	}
	if a := the[protocol.Award](s); a.Option.Model != "V100" {
		t.Errorf("awarded %+v", a)
	}
}
