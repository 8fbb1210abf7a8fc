package history

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A job that runs where it is said that nobody comes back waits again, and its
// award says why.
func TestAJobOfASiteThatIsGoneWaitsAgain(t *testing.T) {
	const noon protocol.Time = 1_649_851_200_000
	b := New(Config{})
	mouths := make(map[protocol.Party]*protocol.Sender)
	say := func(who, to protocol.Party, body protocol.Body) {
		if mouths[who] == nil {
			mouths[who] = &protocol.Sender{Party: who}
		}
		b.AddMessage(mouths[who].NewMessage(noon, to, body))
	}
	job := protocol.Job{Urgency: protocol.UrgencyNow, ID: "train", Tenant: "lab", CPU: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(9 * time.Hour)}
	say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job})
	say(protocol.Coordinator, "agent/oslo", protocol.Award{Round: 1, Job: "train", Epoch: 1, Option: protocol.BidOption{Start: noon, Finish: noon.Add(time.Hour)}})
	say("agent/oslo", protocol.Coordinator, protocol.Accept{Job: "train", Epoch: 1, Start: noon})
	say("agent/oslo", "hands/oslo", protocol.Launch{Job: job, Epoch: 1, Node: "n1", Run: time.Hour})
	say("agent/bern", protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "eve"})
	if r, _ := b.LatestJob("train"); r.phase != phaseRunning {
		t.Fatalf("before anybody said so who may: %s", r.phase)
	}
	say(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	r, _ := b.LatestJob("train")
	if a := r.Awards[0]; r.phase != phaseWaiting || r.Run != nil || a.Declined.Code != protocol.SiteDecommissioned || a.Declined.Note != "ada" {
		t.Errorf("%s, run %v, award %+v", r.phase, r.Run, a)
	}
}

// A site that was declared gone runs its job on, and reports that when it is back. That is no broken
// promise, the job runs where it was awarded since, and its run at the first site lasted until it
// was stopped there.
func TestWhatASiteThatIsGoneReportsOfItsRunChangesNothing(t *testing.T) {
	s := &stage{now: noon}
	s.hello("oslo", "lyon")
	j := job("a")
	s.submit(j)
	run := func(site string, epoch uint64) {
		s.say(protocol.Coordinator, protocol.AgentParty(site), protocol.Award{Round: epoch, Job: "a", Epoch: epoch, Option: protocol.BidOption{Start: s.now, Finish: s.now.Add(time.Hour)}})
		s.say(protocol.AgentParty(site), protocol.Coordinator, protocol.Accept{Job: "a", Epoch: epoch, Start: s.now})
		s.say(protocol.AgentParty(site), protocol.ExecutorParty(site), protocol.Launch{Job: j, Epoch: epoch, Node: site + "-1", Devices: []int{0}, Run: time.Hour})
		s.say(protocol.ExecutorParty(site), protocol.AgentParty(site), protocol.Started{Job: "a", Epoch: epoch})
	}
	run("oslo", 1)
	s.now = s.now.Add(time.Minute)
	s.say(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	run("lyon", 2)
	s.now = s.now.Add(time.Minute)
	s.say(protocol.ExecutorParty("oslo"), protocol.AgentParty("oslo"), protocol.Started{Job: "a", Epoch: 1})
	s.say(protocol.ExecutorParty("oslo"), protocol.AgentParty("oslo"), protocol.Finished{Job: "a", Epoch: 1})
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.UsageReport{Job: "a", Epoch: 1, Started: noon, Ended: s.now})
	b := s.book(Config{})
	r, _ := b.LatestJob("a")
	if r.Run == nil || r.Run.Site != "lyon" || len(r.Lost) != 1 || r.Lost[0].Site != "oslo" || r.Lost[0].Exited.At != s.now || r.HasEnded() {
		t.Errorf("run %+v, lost %+v", r.Run, r.Lost)
	}
	if bad := b.CheckInvariants(nil); len(bad) != 0 {
		t.Errorf("broken: %v", bad)
	}
}

// An award lapsed, and its site was declared gone. The market takes no late accept of
// it, so the job still waits; without the declaration it is the site's.
func TestALateAcceptOfASiteThatIsGoneCountsForNothing(t *testing.T) {
	for _, gone := range []bool{false, true} {
		s := &stage{now: noon}
		s.hello("oslo")
		j := job("a")
		s.submit(j)
		s.say(protocol.Coordinator, protocol.AgentParty("oslo"), protocol.Award{Round: 1, Job: "a", Epoch: 1, Option: protocol.BidOption{Start: noon}})
		s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 2, Job: "a"})
		s.now = s.now.Add(time.Minute)
		if gone {
			s.say(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"})
		}
		s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: "a", Epoch: 1, Start: s.now})
		b := s.book(Config{})
		r, _ := b.LatestJob("a")
		if want := map[bool]phase{false: phaseAwarded, true: phaseWaiting}[gone]; r.phase != want {
			t.Errorf("site declared gone: %v; the job is %s, want %s", gone, r.phase, want)
		}
	}
}

// A site that bid is declared gone before the round is decided. Its bid counts for
// nothing, and the round says why.
func TestBidsOfASiteThatIsGoneAreVoid(t *testing.T) {
	s := &stage{now: noon}
	s.hello("oslo", "lyon")
	j := job("a")
	s.submit(j)
	s.call(1, j)
	s.offer("oslo", 1, menu("a", option(0, 1, 1)))
	s.offer("lyon", 1, menu("a", option(0, 9, 9)))
	s.say(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.award("lyon", 1, j, option(0, 9, 9))
	r, _ := s.book(Config{}).LatestJob("a")
	h := r.FullRounds[0]
	if a := h.Answers[1]; a.Site != "oslo" || len(a.Options) != 0 || a.Why != (protocol.Reason{Code: protocol.SiteDecommissioned, Note: "ada"}) {
		t.Errorf("oslo's answer is %+v", a)
	}
	if h.Summary.Options != 1 || h.Summary.BestSite != "lyon" {
		t.Errorf("the round has %+v", h.Summary)
	}
}
