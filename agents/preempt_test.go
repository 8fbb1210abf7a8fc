package agents

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

// Whatever fits when, as many are stopped as are needed: the job fits without them, and not if one of them
// stays. If it does not help, or is not needed, none is.
func TestNoMoreAreStoppedThanNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "runs")
		size, node, free := make(map[protocol.JobID]int), make(map[protocol.JobID]int), make([]int, 2)
		var order []protocol.JobID
		for i := range n {
			id := protocol.JobID(fmt.Sprint("r", i))
			size[id], node[id] = rapid.IntRange(1, 4).Draw(t, "size"), rapid.IntRange(0, 1).Draw(t, "node")
			order = append(order, id)
		}
		for i := range free {
			free[i] = rapid.IntRange(0, 3).Draw(t, "free")
		}
		want := rapid.IntRange(1, 8).Draw(t, "want")
		fits := func(gone []protocol.JobID) bool {
			for i, have := range free {
				for _, id := range gone {
					if node[id] == i {
						have += size[id]
					}
				}
				if have >= want {
					return true
				}
			}
			return false
		}
		got := leastToStop(order, fits)
		if len(got) == 0 {
			if !fits(nil) && fits(order) {
				t.Fatalf("nobody is stopped, and all of %v would do", order)
			}
			return
		}
		if fits(nil) || !fits(got) {
			t.Fatalf("%v are stopped; needed %t, helps %t", got, !fits(nil), fits(got))
		}
		for i := range got {
			if fewer := slices.Delete(slices.Clone(got), i, i+1); fits(fewer) {
				t.Fatalf("%v are stopped, and %v would do", got, fewer)
			}
		}
	})
}

// fullSite returns a site of one node of 4 GPUs on which low runs on 3 and other on 1, and the call that names
// low for the job high of 3 GPUs.
func fullSite(t *testing.T, pause time.Duration) (*site, protocol.CallForBids) {
	s := greeted(t)
	low := job("low", 3)
	low.Urgency, low.Pause, low.Run, low.Deadline = protocol.UrgencyStandard, pause, 4*time.Hour, noon.Add(24*time.Hour)
	for _, j := range []protocol.Job{low, job("other", 1)} {
		m := s.call(j)[0]
		s.give(protocol.Award{Job: j.ID, Epoch: 1, Option: m.Options[0], Lease: s.now.Add(10 * time.Second)})
		s.confirm(j.ID, 1, protocol.AcceptConfirmed)
		s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: j.ID, Epoch: 1}))
	}
	s.now = s.now.Add(30 * time.Minute)
	high := job("high", 3)
	high.Arrival, high.Deadline = s.now, s.now.Add(8*time.Hour)
	return s, protocol.CallForBids{Jobs: []protocol.Job{high}, Weights: weights, Preemptable: []protocol.PreemptionSet{{Job: "high", Runs: []protocol.JobID{"elsewhere", "low"}}}}
}

// A site says which runs are in the way, stops the one that it is asked to, keeps the room for the job that needs
// it and for no other, and reports the run with its bill. A restart in between changes nothing of that.
func TestARunIsStoppedAndItsRoomKept(t *testing.T) {
	for _, tc := range []struct {
		name  string
		pause time.Duration
		end   protocol.Finished
		left  bool
	}{
		{"without a checkpoint", 0, protocol.Finished{Job: "low", Epoch: 1, Stopped: true}, false},
		{"with one", 2 * time.Minute, protocol.Finished{Job: "low", Epoch: 1, Left: 3 * time.Hour}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, call := fullSite(t, tc.pause)
			o := s.offer(call)
			if len(o.Preemptions) != 1 || o.Preemptions[0].Job != "high" || !slices.Equal(o.Preemptions[0].Runs, []protocol.JobID{"low"}) {
				t.Fatalf("it would stop %+v", o.Preemptions)
			}
			p := protocol.Preempt{Job: "low", Epoch: 1, For: "high", Why: protocol.Reason{Code: protocol.StrongerClaim}, Until: s.now.Add(5 * time.Minute)}
			for range 2 { // the coordinator repeats it
				sent := s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", p))
				if want := (protocol.Cancel{Job: "low", Epoch: 1, Checkpoint: tc.pause > 0}); len(sent) != 1 || sent[0].To != "hands/oslo" || sent[0].Body != want {
					t.Fatalf("asked to stop it, it sent %v", sent)
				}
			}
			s.now = s.now.Add(2 * time.Second)
			sent := s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", tc.end))
			r, ok := sent[0].Body.(protocol.Preempted)
			if !ok || r.For != "high" || r.Epoch != 1 || r.Why.Code != protocol.StrongerClaim || r.Ended != s.now || (r.Left > 0) != tc.left || (r.Lost > 0) == tc.left {
				t.Fatalf("of the end it reports %+v", sent)
			}
			small, high := job("small", 1), call.Jobs[0]
			small.Arrival = s.now
			if m := s.call(small)[0]; len(m.Options) > 0 && m.Options[0].Start <= s.now {
				t.Errorf("the room is offered to another job: %+v", m.Options[0])
			}
			if m := s.call(high)[0]; len(m.Options) == 0 || m.Options[0].Start > s.now {
				t.Errorf("the room is not offered to the job that it is kept for: %+v", m)
			}
			s.now = p.Until
			s.agent.Tick(s.now)
			if m := s.call(small)[0]; len(m.Options) == 0 || m.Options[0].Start > s.now {
				t.Errorf("the room is kept for too long: %+v", m)
			}
		})
	}
}

// A run that ends soon, or before its checkpoint is saved, is not stopped (R-P13).
func TestARunThatEndsFirstIsNotStopped(t *testing.T) {
	for _, tc := range []struct {
		pause, left time.Duration
		stops       bool
	}{{5 * time.Minute, 4 * time.Minute, false}, {10 * time.Minute, 8 * time.Minute, false}, {5 * time.Minute, 8 * time.Minute, true}} {
		s, call := fullSite(t, tc.pause)
		l := s.agent.running["low"]
		s.now = l.started.Add(l.launch.Run - tc.left)
		call.Jobs[0].Arrival, call.Jobs[0].Deadline = s.now, s.now.Add(8*time.Hour)
		if o := s.offer(call); len(o.Preemptions) > 0 != tc.stops {
			t.Errorf("saving takes %v, and the run ends in %v: it would stop %+v", tc.pause, tc.left, o.Preemptions)
		}
	}
}

// A run that ended by itself is over, though it was to be stopped; one that its executor cannot save is stopped
// without a checkpoint.
func TestWhatEndsByItselfIsNotPreempted(t *testing.T) {
	s, call := fullSite(t, 2*time.Minute)
	s.offer(call)
	p := protocol.Preempt{Job: "low", Epoch: 1, For: "high", Until: s.now.Add(5 * time.Minute)}
	s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", p))
	sent := s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "low", Epoch: 1}))
	if want := (protocol.Cancel{Job: "low", Epoch: 1}); len(sent) != 1 || sent[0].Body != want {
		t.Errorf("to an executor that cannot save it, it sent %v", sent)
	}
	sent = s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: "low", Epoch: 1}))
	if _, ok := sent[0].Body.(protocol.UsageReport); !ok {
		t.Errorf("the end of a run is reported by %+v", sent)
	}
}

// A run for which a budget has no room is paused, and one that its executor cannot save runs out.
func TestForABudgetNoRunIsStoppedWithoutACheckpoint(t *testing.T) {
	s, _ := fullSite(t, 2*time.Minute)
	p := protocol.Preempt{Job: "low", Epoch: 1, Why: protocol.Reason{Code: protocol.BudgetSpent}, Until: s.now}
	sent := s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", p))
	if want := (protocol.Cancel{Job: "low", Epoch: 1, Checkpoint: true}); len(sent) != 1 || sent[0].Body != want {
		t.Fatalf("asked to pause it, it sent %v", sent)
	}
	for _, m := range append(s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "low", Epoch: 1})),
		s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", p))...) {
		if c, stops := m.Body.(protocol.Cancel); stops {
			t.Errorf("to an executor that cannot save it, it sent %+v", c)
		}
	}
	sent = s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: "low", Epoch: 1}))
	if _, ok := sent[0].Body.(protocol.UsageReport); !ok {
		t.Errorf("the end of a run is reported by %+v", sent)
	}
}

// Of the runs of a job's way a restarted site still knows which it was to stop.
func TestARestartedSiteKnowsWhatItWasToStop(t *testing.T) {
	s := greeted(t)
	var events []protocol.Message
	step := func(m protocol.Message) []protocol.Message {
		said := s.agent.Step(s.now, m)
		events = append(events, slices.Clone(s.agent.Events())...)
		return said
	}
	low := job("low", 3)
	m := s.call(low)[0]
	step(s.market.NewMessage(s.now, "agent/oslo", protocol.Award{Job: "low", Epoch: 1, Option: m.Options[0], Lease: s.now.Add(10 * time.Second)}))
	step(s.market.NewMessage(s.now, "agent/oslo", protocol.Confirm{Job: "low", Epoch: 1, Code: protocol.AcceptConfirmed}))
	step(s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "low", Epoch: 1}))
	step(s.market.NewMessage(s.now, "agent/oslo", protocol.Preempt{Job: "low", Epoch: 1, For: "high", Until: s.now.Add(5 * time.Minute)}))
	next := newSite(t, MarginalCost{}, 4)
	next.now = s.now.Add(time.Second)
	for _, e := range events {
		if err := next.agent.Restore(e); err != nil {
			t.Fatal(err)
		}
	}
	end := func() []protocol.Message {
		return next.agent.Step(next.now, s.executor.NewMessage(next.now, "agent/oslo", protocol.Finished{Job: "low", Epoch: 1, Stopped: true}))
	}
	sent := end()
	if len(sent) == 0 {
		t.Fatal("nothing was reported")
	}
	if p, ok := sent[0].Body.(protocol.Preempted); !ok || p.For != "high" {
		t.Errorf("after a restart the end is reported by %+v", sent)
	}
}
