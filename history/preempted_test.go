package history

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// preemptedRun is a run at oslo that is taken down to make room, as the log of a coordinator
// has it or, with inside, as that of a replay.
func preemptedRun(inside bool) *stage {
	s := &stage{now: noon}
	s.hello("oslo", "lyon")
	j := job("a")
	s.submit(j)
	s.call(1, j)
	oslo, hands := protocol.AgentParty("oslo"), protocol.ExecutorParty("oslo")
	s.say(protocol.Coordinator, oslo, protocol.Award{Round: 1, Job: "a", Epoch: 1, Option: option(0, 1, 1)})
	s.say(oslo, protocol.Coordinator, protocol.Accept{Job: "a", Epoch: 1, Start: noon})
	if inside {
		s.say(oslo, hands, protocol.Launch{Job: j, Epoch: 1, Node: "n1", Devices: []int{0}, Run: time.Hour})
		s.say(hands, oslo, protocol.Started{Job: "a", Epoch: 1})
	}
	s.now = s.now.Add(20 * time.Minute)
	if inside {
		s.say(hands, oslo, protocol.Interrupted{Job: "a", Epoch: 1, Why: protocol.Reason{Code: protocol.Evicted}})
	}
	s.say(oslo, protocol.Coordinator, protocol.Preempted{Job: "a", Epoch: 1, For: "b", Why: protocol.Reason{Code: protocol.StrongerClaim}, Lost: 5 * time.Minute})
	return s
}

func TestAPreemptedJobIsOnSaleUntilItIsAwarded(t *testing.T) {
	for _, inside := range []bool{false, true} {
		for _, live := range []bool{false, true} {
			if inside && live {
				continue // a coordinator does not receive messages between an agent and its executor
			}
			s := preemptedRun(inside)
			s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Preempted{Job: "a", Epoch: 1}) // a repeat
			s.say(protocol.AgentParty("lyon"), protocol.Coordinator, protocol.Preempted{Job: "a", Epoch: 1}) // by another
			s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 2, Job: "a"})
			b := s.book(Config{Live: live})
			r, _ := b.LatestJob("a")
			if r.phase != phasePreempted || !r.phase.isOnSale() || r.CurrentAward() != nil || r.Run != nil || len(r.Lost) != 1 || r.Hold == nil {
				t.Fatalf("inside %v, live %v: preempted and held, the job is %+v", inside, live, r)
			}
			if a := r.Awards[0]; a.Preempted.For != "b" || a.Preempted.Lost != 5*time.Minute || a.Released == (MessageRef{}) || r.Lost[0].Exited == (MessageRef{}) {
				t.Errorf("inside %v, live %v: its award is %+v, its run %+v", inside, live, a, r.Lost[0])
			}
			if problems := b.CheckInvariants(nil); len(problems) > 0 && inside { // without it the devices are not known
				t.Errorf("%v", problems)
			}
			s.say(protocol.Coordinator, protocol.AgentParty("lyon"), protocol.Award{Round: 3, Job: "a", Epoch: 2, Option: option(1, 1, 1)})
			if r, _ := s.book(Config{Live: live}).LatestJob("a"); r.phase != phaseAwarded || r.CurrentAward() == nil || r.CurrentAward().Site != "lyon" {
				t.Errorf("awarded to lyon, the job is %s", r.phase)
			}
		}
	}
}

// At an instant before, the job ran; from then on it is preempted.
func TestAPreemptedJobRanUntilThen(t *testing.T) {
	b := preemptedRun(false).book(Config{})
	r, _ := b.LatestJob("a")
	for at, want := range map[protocol.Time]State{noon.Add(10 * time.Minute): Running, noon.Add(20 * time.Minute): Preempted, noon.Add(time.Hour): Preempted} {
		if got := b.JobStateAt(&r, at); got.State != want {
			t.Errorf("at %s it was %+v; want %s", at, got, want)
		}
	}
}
