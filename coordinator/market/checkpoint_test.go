package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// pausable is a job that may be paused, and whose home is another site than those
// that offer.
func (s *testMarket) pausable() protocol.Job {
	j := s.job()
	j.Run, j.Deadline, j.Urgency = 4*time.Hour, noon.Add(24*time.Hour), protocol.UrgencyStandard
	j.Pause, j.State, j.Home, j.Input = 2*time.Minute, 4096, "kiel", 100
	return j
}

// paused has a site win the job, and pause it when an hour of it is done.
func (s *testMarket) paused(site string, left time.Duration) {
	s.Helper()
	s.wait()
	s.offer(site, bidsOf("train", s.option(0, left+time.Hour)))
	a := lastSent[protocol.Award](s)
	s.send(protocol.AgentParty(site), protocol.Accept{Job: a.Job, Epoch: a.Epoch})
	d := s.done(a)
	d.Left, s.now = left, d.Ended
	s.send(protocol.AgentParty(site), d)
}

// What lies at the site that paused a job last is its input and its checkpoint:
// one, however often it was paused.
func TestJobPausedTwiceHasOneCheckpoint(t *testing.T) {
	s := newTestMarket(t)
	s.market = New(Config{}, &pauser{})
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	s.send(protocol.Submitter, protocol.Submit{Job: s.pausable()})
	s.paused("oslo", 3*time.Hour)
	s.paused("oslo", 2*time.Hour)
	s.wait()
	if j := lastSent[protocol.CallForBids](s).Jobs[0]; j.Input != 4196 || j.Run != 2*time.Hour+2*time.Minute || j.Home != "oslo" {
		t.Errorf("called as %+v; want 4,196 MiB at oslo", j)
	}
}
