package agents

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// deferrable is a job that can wait for a day.
func deferrable(id protocol.JobID) protocol.Job {
	j := job(id, 1)
	j.Urgency, j.Deadline = protocol.UrgencyStandard, noon.Add(24*time.Hour)
	return j
}

func TestCallWithInvalidPlanningIsRefused(t *testing.T) {
	for _, bad := range []protocol.Planning{
		{Slot: time.Hour},
		{Slot: -time.Minute, Horizon: time.Hour, MaxStartDelay: time.Minute, FirmLead: time.Minute},
		{Slot: 7 * time.Minute, Horizon: 7 * time.Hour, MaxStartDelay: time.Minute, FirmLead: time.Minute},
		{Slot: time.Minute, Horizon: 1 << 62, MaxStartDelay: time.Minute, FirmLead: time.Minute},
		{Slot: time.Minute, Horizon: time.Hour, FirmLead: time.Minute},
	} {
		s := newSite(t, eager, 4)
		s.offer(protocol.CallForBids{Jobs: []protocol.Job{deferrable("first")}, Weights: weights})
		o := s.offer(protocol.CallForBids{Jobs: []protocol.Job{deferrable("a"), deferrable("b")}, Weights: weights, Planning: bad})
		if len(o.Jobs) != 2 || len(o.Capacity) != 0 {
			t.Fatalf("%+v: offered %d menus and %d rooms; want a refusal of each job and no room", bad, len(o.Jobs), len(o.Capacity))
		}
		for _, m := range o.Jobs {
			if len(m.Options) != 0 || m.Why.Code != protocol.BadPlanning || !strings.HasPrefix(m.Why.Note, "planning: ") {
				t.Errorf("%+v: offered %d options for %s, because %v; want none, and what is wrong", bad, len(m.Options), m.Job, m.Why)
			}
		}
		sent := bodies(s.give(protocol.Award{Job: "a", Epoch: 1, Option: protocol.BidOption{Start: s.now, Finish: s.now.Add(time.Hour)}, MayQueue: true, Lease: s.now.Add(time.Minute)}))
		if d, ok := sent[0].(protocol.Decline); !ok || d.Why.Code != protocol.UnknownJob {
			t.Errorf("an award of a job that was not offered for got %+v", sent)
		}
		if got := s.agent.planning; got != protocol.DefaultPlanning() {
			t.Errorf("after a call with %+v the agent plans by it: %+v", bad, got)
		}
	}
}

func TestAnAgentPlansByTheCall(t *testing.T) {
	plan := protocol.Planning{Slot: 30 * time.Minute, Horizon: 4 * time.Hour, MaxStartDelay: time.Hour, FirmLead: time.Hour}
	s := newSite(t, MarginalCost{TemporalShift: true, SweepModelsAndCaps: true, MaxOptionsPerModel: 20}, 4)
	s.now = noon.Add(time.Minute)
	o := s.offer(protocol.CallForBids{Jobs: []protocol.Job{deferrable("a")}, Weights: weights, Planning: plan})
	for _, r := range o.Capacity {
		if r.Slot != plan.Slot || len(r.Free) != plan.SlotCount() {
			t.Errorf("room is said in %d slots of %v; want %d of %v", len(r.Free), r.Slot, plan.SlotCount(), plan.Slot)
		}
	}
	options := o.Jobs[0].Options
	for _, x := range options[1:] {
		if x.Start != x.Start.Floor(plan.Slot) || x.Start > s.now.Add(plan.Horizon) {
			t.Errorf("a start at %v is offered; want whole slots of %v up to %v ahead", x.Start, plan.Slot, plan.Horizon)
		}
	}
	if len(options) != 9 { // now, and the borders of eight slots
		t.Errorf("%d starts are offered; want 9", len(options))
	}
	if o := s.offer(protocol.CallForBids{Jobs: []protocol.Job{deferrable("b")}, Weights: weights}); len(o.Capacity[0].Free) != 288 {
		t.Errorf("a call without planning is answered in %d slots; want 288", len(o.Capacity[0].Free))
	}
}

// A job may start later than it was sold for by what the call allows, and no more.
func TestAStartMaySlipByWhatTheCallAllows(t *testing.T) {
	for _, tc := range []struct {
		slip   time.Duration
		accept bool
	}{{15 * time.Minute, false}, {time.Hour, true}} {
		plan := protocol.DefaultPlanning()
		plan.MaxStartDelay = tc.slip
		s := newSite(t, eager, 1)
		s.award(job("first", 1), 1, false) // runs for an hour
		s.offer(protocol.CallForBids{Jobs: []protocol.Job{deferrable("next")}, Weights: weights, Planning: plan})
		sold := protocol.BidOption{Start: s.now.Add(20 * time.Minute), Finish: s.now.Add(80 * time.Minute), Model: "V100"}
		sent := bodies(s.give(protocol.Award{Job: "next", Epoch: 2, Option: sold, MayQueue: true, Lease: s.now.Add(time.Minute)}))
		if _, got := sent[0].(protocol.Accept); got != tc.accept {
			t.Errorf("sold for 20 minutes before there is room, with a slip of %v: sent %+v; want accept %v", tc.slip, sent, tc.accept)
		}
	}
}

// An agent that is begun anew goes on by the planning of what it accepted.
func TestPlanningSurvivesARestart(t *testing.T) {
	plan := protocol.DefaultPlanning()
	plan.MaxStartDelay = time.Hour
	s := newSite(t, eager, 4)
	s.offer(protocol.CallForBids{Jobs: []protocol.Job{deferrable("a")}, Weights: weights, Planning: plan})
	s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Award{Job: "a", Epoch: 1, Option: protocol.BidOption{Start: s.now.Add(time.Hour), Finish: s.now.Add(2 * time.Hour), Model: "V100"}, MayQueue: true, Lease: s.now.Add(time.Minute)}))
	events := s.agent.Events()
	next := newSite(t, eager, 4).agent
	for _, m := range events {
		if err := next.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	if next.planning != plan {
		t.Errorf("restored from %d events it plans by %+v; want %+v", len(events), next.planning, plan)
	}
}
