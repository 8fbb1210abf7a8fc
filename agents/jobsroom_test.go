package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// beyond returns how many replicas of a service a site of eight GPUs bids that would take what is left to jobs.
func (s *serviceSite) beyond(x protocol.Service) int {
	s.hear(&s.coordinator, protocol.CallForCapacity{Round: 7, Services: []protocol.Service{x}})
	for _, m := range s.said {
		if b, ok := m.Body.(protocol.CapacityBid); ok {
			return b.Services[0].Beyond
		}
	}
	s.t.Fatalf("no bid among %+v", s.said)
	return 0
}

// Replicas leave to jobs what these asked for within a day: a quarter of the GPUs, and up to three quarters where
// jobs hold more. Where nobody asks they leave nothing, and what one service holds another finds gone.
func TestReplicasLeaveToJobsWhatTheseAskFor(t *testing.T) {
	s := newServiceSite(t, Config{})
	feed := protocol.Sender{Party: protocol.SignalParty("oslo")}
	for what, v := range map[protocol.Quantity]int64{protocol.GridPrice: 55_000, protocol.GridCarbon: 28_000, protocol.GridPUE: 1100} {
		s.hear(&feed, protocol.Signal{What: what, Points: []protocol.Point{{At: s.now.Floor(time.Hour), Value: v}}})
	}
	x := llm(8, 1).Service
	asks := func(model string, gpus int) {
		j := job("j", 1)
		j.GPUs, j.Models = gpus, []string{model}
		s.hear(&s.coordinator, protocol.CallForBids{Round: 1, Jobs: []protocol.Job{j}})
	}
	want := func(what string, n int) {
		t.Helper()
		if got := s.beyond(x); got != n {
			t.Errorf("%s: %d replicas of 8 are beyond; want %d", what, got, n)
		}
	}
	runs := func(id protocol.JobID) {
		t.Helper()
		if _, ok := s.agent.fleet.StartRun(s.now, job(id, 2), capacity.RunConfig{Model: "V100", Run: time.Hour}, 0); !ok {
			t.Fatalf("job %s found no room", id)
		}
	}
	want("no job asked", 0)
	asks("A100", 4)
	want("jobs asked for another model", 0)
	asks("V100", 1)
	want("jobs asked for one GPU", 1)
	asks("V100", 4)
	want("jobs asked for four, and hold none", 2)
	runs("a")
	want("jobs hold two, of six places", 1)
	other := llm(3, 1)
	other.Service.ID = "other"
	s.hear(&s.coordinator, other)
	want("another service has three of the five places", 1)
	runs("b")
	want("jobs hold four, and asked for four", 0)
	asks("V100", 8)
	want("jobs hold four, and asked for eight", 1)
	s.agent.fleet.EndRun(s.now, "a")
	s.agent.fleet.EndRun(s.now, "b")
	want("jobs hold none any more", 2)
	s.now = s.now.Add(25 * time.Hour)
	want("nobody asked for a day", 0)
}
