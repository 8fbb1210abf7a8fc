package market

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Memory per site does not grow with the model names that it invents.
func TestSiteMayHaveMaxSiteModels(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	var rooms []protocol.CapacityProfile
	for i := range 5000 {
		r := freeCapacity(s.now)
		r.Model = fmt.Sprint("V", 100+i)
		rooms = append(rooms, r)
	}
	s.send("agent/oslo", protocol.Bids{Round: 1, Jobs: []protocol.JobBids{bidsOf("train", s.option(0, time.Hour))}, Capacity: rooms})
	if n := len(s.rule.rounds[0].Sites[0].Capacity); n != 64 || s.market.RefusalCounts()["impossible-term"] != 5000-64 {
		t.Errorf("%d models are read, counts %v", n, s.market.RefusalCounts())
	}
	if a := lastSent[protocol.Award](s); a.Option.Model != "V100" {
		t.Errorf("awarded %+v", a)
	}
}
