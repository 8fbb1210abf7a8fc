package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A reported start is stored once, so that a standby knows it, and only if it is of the award in force.
func TestAReportedStartIsStoredOnce(t *testing.T) {
	s := newTestMarket(t)
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
	a := lastSent[protocol.Award](s)
	started := func(who protocol.Party, epoch uint64) int {
		if sent := s.send(who, protocol.Started{Job: a.Job, Epoch: epoch, Node: "n1"}); len(sent) > 0 {
			t.Errorf("the market answers %+v", sent)
		}
		return count[protocol.Started](s.market.Events())
	}
	if started("agent/oslo", a.Epoch) != 0 {
		t.Error("a start is stored that was not accepted")
	}
	s.send("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch, Start: s.now})
	for _, c := range []struct {
		who   protocol.Party
		epoch uint64
		want  int
	}{{"agent/bern", a.Epoch, 0}, {"agent/oslo", a.Epoch + 1, 0}, {"agent/oslo", a.Epoch, 1}, {"agent/oslo", a.Epoch, 0}} {
		if n := started(c.who, c.epoch); n != c.want {
			t.Errorf("a start by %s under epoch %d is stored %d times; want %d", c.who, c.epoch, n, c.want)
		}
	}
}
