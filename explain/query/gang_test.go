package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Who asks why a gang waits is told for how many of its pods there was room, and what is kept idle for it; who
// asks for its nodes is told them.
func TestAGangThatWaitsIsToldWhatItWaitsFor(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo")
	j := task("wide", "lab").WithPods([]protocol.Component{{Role: "worker", Pods: 4, GPUs: 8, Share: 1000, CPU: 8000}})
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(1, j)
	o := option(2*time.Hour, 5, 5)
	places := []protocol.Place{{Pods: 1, Node: "n1"}, {Pods: 3, Node: "n2"}}
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Bids{
		Round: 1, Jobs: []protocol.JobBids{{Job: j.ID, Options: []protocol.BidOption{o}}}, Spreads: []protocol.Spread{{Job: j.ID, Places: places}},
		Holes: []protocol.Hole{{Job: j.ID, Fit: 3, From: noon, GPUHours: 48_000, Cost: 7}},
	})
	s.addAward("oslo", 1, j, o, "n1", nil, 0)
	a := s.buildDataset().AnswerQuestion("why does wide wait")
	text := strings.Join(a.Text, " ")
	if !strings.Contains(text, "It needs room for its 4 pods (4 pods of 8 GPUs) at once, and the largest site, oslo, had room for 3.") || !strings.Contains(text, "oslo keeps nodes for it from 13 Apr 12:00 on, as they become free: 48 GPU-hours") {
		t.Errorf("%s %q", a.Kind, a.Text)
	}
	s.addMessage(protocol.AgentParty("oslo"), protocol.ExecutorParty("oslo"), protocol.Launch{Job: j, Epoch: s.epoch, Node: "n1", Model: "V100", Run: time.Hour, Places: places})
	if a := s.buildDataset().AnswerQuestion("which nodes does wide run on"); !strings.Contains(strings.Join(a.Text, " "), "on 2 nodes (n1 and n2)") {
		t.Errorf("%s %q", a.Kind, a.Text)
	}
}
