package agents

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
)

// lentSite returns a site of 4 GPUs that serves its own tenant first, on which a guest's job of 3 GPUs runs.
func lentSite(t *testing.T, f terms.File) *site {
	s := newSiteWithTerms(t, f, 4)
	guest := ofTenant("guest", job("guest", 3))
	guest.Pause, guest.Run, guest.Deadline, guest.Urgency = 2*time.Minute, 6*time.Hour, noon.Add(24*time.Hour), protocol.UrgencyStandard
	s.award(guest, 1, true)
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "guest", Epoch: 1}))
	return s
}

// A job of the site's own tenant that finds no room has a run of others recalled: it is offered the end of the
// notice, at which the run is stopped with a checkpoint, and then it starts.
func TestLentRoomIsRecalledForAnOwnJob(t *testing.T) {
	s := lentSite(t, terms.File{Own: []string{"us"}, OwnFirst: true})
	ours := ofTenant("us", job("ours", 2))
	m := s.call(ours)[0]
	if len(m.Options) == 0 || m.Options[0].Start.Sub(s.now) > recallNotice+time.Minute {
		t.Fatalf("offered %+v; want room at the end of the notice", m)
	}
	s.give(protocol.Award{Job: "ours", Epoch: 1, Option: m.Options[0], MayQueue: true, NotBeforeStart: true, Lease: s.now.Add(10 * time.Second)})
	if due := s.agent.nextRecall(); due != noon.Add(recallNotice) {
		t.Fatalf("due at %v; want the end of the notice", due)
	}
	s.now = noon.Add(recallNotice)
	want := protocol.Cancel{Job: "guest", Epoch: 1, Checkpoint: true}
	if sent := s.agent.Tick(s.now); !slices.ContainsFunc(sent, func(m protocol.Message) bool { c, ok := m.Body.(protocol.Cancel); return ok && c == want }) {
		t.Fatalf("at the end of the notice it sent %+v; want %+v", sent, want)
	}
	s.now = s.now.Add(time.Minute)
	sent := s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: "guest", Epoch: 1, Left: 5 * time.Hour}))
	if p, ok := sent[0].Body.(protocol.Preempted); !ok || p.Why.Code != protocol.Reclaimed || p.For != "ours" || p.Left == 0 {
		t.Errorf("of the run it reports %+v", sent[0].Body)
	}
	if got := launched(sent); got != "ours " {
		t.Errorf("launched %q; want the site's own job", got)
	}
}

// Nothing is recalled for others, by a site that does not serve its own first, for a job that waits by choice,
// or for one that went elsewhere meanwhile.
func TestNothingIsRecalledInVain(t *testing.T) {
	first := terms.File{Own: []string{"us"}, OwnFirst: true}
	flexible := ofTenant("us", job("ours", 2))
	flexible.Urgency = protocol.UrgencyFlexible
	for name, tc := range map[string]struct {
		terms terms.File
		job   protocol.Job
	}{
		"another guest":     {first, ofTenant("other", job("x", 2))},
		"not own first":     {terms.File{Own: []string{"us"}}, ofTenant("us", job("ours", 2))},
		"flexible":          {first, flexible},
		"there is room":     {first, ofTenant("us", job("ours", 1))},
		"it went elsewhere": {first, ofTenant("us", job("ours", 2))},
	} {
		t.Run(name, func(t *testing.T) {
			s := lentSite(t, tc.terms)
			s.call(tc.job)
			s.now = noon.Add(recallNotice + time.Second)
			for _, b := range bodies(s.agent.Tick(s.now)) {
				if _, ok := b.(protocol.Cancel); ok {
					t.Errorf("sent %+v", b)
				}
			}
			if m := s.call(ofTenant("third", job("y", 3)))[0]; len(m.Options) > 0 && m.Options[0].Start < noon.Add(5*time.Hour) {
				t.Errorf("the room of the run is offered from %v on", m.Options[0].Start)
			}
		})
	}
}

// Of what waits at the site, jobs of its own tenants start first.
func TestOwnJobsStartFirst(t *testing.T) {
	s := newSiteWithTerms(t, terms.File{Own: []string{"us"}, OwnFirst: true}, 1)
	s.award(ofTenant("guest", job("runs", 1)), 1, true)
	for _, tenant := range []string{"guest", "us"} {
		s.award(ofTenant(tenant, job(protocol.JobID(tenant+"-waits"), 1)), 1, true)
	}
	s.now = s.now.Add(time.Hour)
	if got := launched(s.exit("runs", 1)); got != "us-waits " {
		t.Errorf("launched %q; want the job of the site's own tenant", got)
	}
}

// A restarted agent remembers what it had recalled.
func TestARecallSurvivesARestart(t *testing.T) {
	s := lentSite(t, terms.File{Own: []string{"us"}, OwnFirst: true})
	s.call(ofTenant("us", job("ours", 2)))
	events := s.agent.Events()
	if l := s.agent.running["guest"]; l.recall == nil || len(events) == 0 {
		t.Fatalf("recalled %+v, with events %v", l.recall, events)
	}
	want := s.agent.running["guest"].recall.Until
	s.agent.running["guest"].recall = nil
	for _, m := range events {
		if err := s.agent.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	if l := s.agent.running["guest"]; l.recall == nil || l.recall.Until != want || l.preempt != nil {
		t.Errorf("restored %+v", l)
	}
}

// A site that leaves offers others nothing beyond that instant, stops with a checkpoint what still runs then, and
// leaves no sooner than a day after its agent first knew, also across a restart.
func TestASiteLeavesWithNotice(t *testing.T) {
	leave := noon.Add(time.Hour) // too soon
	s := newSiteWithTerms(t, terms.File{Own: []string{"us"}, Leave: leave.StdTime().Format(time.RFC3339)}, 4)
	s.agent.Tick(s.now)
	noted := slices.Clone(s.agent.Events())
	guest := ofTenant("guest", job("guest", 1))
	guest.Pause, guest.Run, guest.Deadline = time.Minute, 18*time.Hour, noon.Add(99*time.Hour)
	s.award(guest, 1, true)
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "guest", Epoch: 1}))
	s.now = noon.Add(23 * time.Hour)
	late := ofTenant("guest", job("late", 1))
	late.Run = 2 * time.Hour
	if m := s.call(late)[0]; len(m.Options) > 0 {
		t.Errorf("offers %+v, which ends after the site has left", m.Options[0])
	}
	if m := s.call(ofTenant("us", job("ours", 1)))[0]; len(m.Options) == 0 {
		t.Errorf("offers nothing to its own tenant: %+v", m)
	}
	stops := func(at protocol.Time) bool {
		s.now = at
		return slices.ContainsFunc(bodies(s.agent.Tick(at)), func(b protocol.Body) bool {
			c, ok := b.(protocol.Cancel)
			return ok && c.Job == "guest" && c.Checkpoint
		})
	}
	if stops(noon.Add(leaveNotice - time.Second)) {
		t.Error("stopped before the notice was over")
	}
	if !stops(noon.Add(leaveNotice)) {
		t.Error("not stopped once the site had left")
	}
	again := newSiteWithTerms(t, terms.File{Leave: leave.StdTime().Format(time.RFC3339)}, 4)
	for _, m := range noted {
		if !again.agent.NeedsEvent(m) || again.agent.Restore(m) != nil {
			t.Errorf("%+v is not kept", m)
		}
	}
	if again.agent.Tick(noon.Add(2 * time.Hour)); again.agent.cfg.Terms.Leave != noon.Add(leaveNotice) {
		t.Errorf("after a restart it leaves at %v; want %v", again.agent.cfg.Terms.Leave, noon.Add(leaveNotice))
	}
}
