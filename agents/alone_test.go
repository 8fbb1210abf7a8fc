package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
)

// A site that hears no coordinator starts the jobs of its own queue, and no job in parts: another site would have to
// start the others, and nobody can commit them.
func TestASiteAloneStartsNoJobInParts(t *testing.T) {
	s := newSite(t, eager, 4)
	s.agent.cfg.Terms = terms.Terms{Own: []string{"lab"}}
	s.agent.SendHeartbeats(2 * time.Second)
	s.agent.Tick(s.now)
	plain := job("oslo/plain", 1)
	wide := job("oslo/wide", 0)
	wide.GPUs, wide.Share = 0, 0
	wide, _ = wide.WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 1, Share: 1000, CPU: 1000}}).WithEqualParts(2)
	wide.MaxSites = 2
	part := wide.PartJobs()[0]
	for _, j := range []*protocol.Job{&plain, &wide, &part} {
		j.Tenant = "lab"
		s.agent.Step(s.now, protocol.Message{Version: protocol.Current, At: s.now, From: protocol.QueueParty("oslo"), Seq: uint64(len(s.agent.own) + 1 + j.MaxSites), To: protocol.AgentParty("oslo"), Body: protocol.Submit{Job: *j, Alone: true}})
	}
	if !s.agent.MayStartAlone(&plain) || s.agent.MayStartAlone(&wide) || s.agent.MayStartAlone(&part) {
		t.Errorf("may start alone: plain %t, in parts %t, a part %t; want the first", s.agent.MayStartAlone(&plain), s.agent.MayStartAlone(&wide), s.agent.MayStartAlone(&part))
	}
	s.agent.hub.heard = s.now
	launched := make(map[protocol.JobID]bool)
	for range 60 {
		s.now = s.now.Add(2 * time.Second)
		for _, m := range s.agent.Tick(s.now) {
			if l, ok := m.Body.(protocol.Launch); ok {
				launched[l.Job.ID] = true
			}
		}
	}
	if len(launched) != 1 || !launched["oslo/plain"] {
		t.Errorf("launched alone: %v; want oslo/plain", launched)
	}
}
