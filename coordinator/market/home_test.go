package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A rule is about where a job's data is from, and not about where it was paused.
func TestPolicyRuleHoldsForTheRestOfAPausedJob(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{}, &pauser{})
	for _, site := range []string{"bern", "oslo"} {
		s.send(protocol.AgentParty(site), protocol.RegisterSite{Site: site})
	}
	s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Rules: []protocol.Rule{
		{ID: "R-1", Kind: protocol.Forbid, Homes: []string{"kiel"}, Sites: []string{"oslo"}},
		{ID: "R-2", Kind: protocol.Cap, Homes: []string{"kiel"}, Sites: []string{"bern"}, Power: 1_000_000_000},
	}})
	s.send(protocol.Submitter, protocol.Submit{Job: s.pausable()})
	s.wait()
	s.offer("oslo")
	s.offer("bern", bidsOf("train", s.option(0, 4*time.Hour)))
	a := lastSent[protocol.Award](s)
	if !a.NotBeforeStart {
		t.Errorf("awarded %+v where power is capped; want it firm", a)
	}
	s.send("agent/bern", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
	d := s.done(a)
	d.Left, s.now = 3*time.Hour, d.Ended
	s.send("agent/bern", d)
	s.wait()
	s.offer("oslo", bidsOf("train", s.option(0, 3*time.Hour)))
	s.offer("bern", bidsOf("train", s.option(time.Second, 3*time.Hour)))
	if a := lastSent[protocol.Award](s); a.Epoch != 2 || s.sent[len(s.sent)-1].To != "agent/bern" || !a.NotBeforeStart {
		t.Errorf("the rest is awarded to %s: %+v; want bern, and firm", s.sent[len(s.sent)-1].To, a)
	}
}
