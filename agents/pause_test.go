package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// greeted returns a site that the market knows.
func greeted(t *testing.T) *site {
	s := newSite(t, MarginalCost{}, 4)
	s.agent.Tick(s.now)
	s.confirm("", 0, protocol.Acknowledged)
	return s
}

// interrupted awards oslo a job of two hours with a pause after some time, and returns what oslo
// sends then, and what it sends when its executor reports the pause a while later.
func interrupted(t *testing.T, after time.Duration) (s *site, asked, paused []protocol.Message) {
	s = greeted(t)
	j := job("train", 1)
	j.Run, j.Urgency, j.Pause, j.Deadline = 2*time.Hour, protocol.UrgencyStandard, 2*time.Minute, noon.Add(24*time.Hour)
	m := s.call(j)[0]
	s.give(protocol.Award{Job: j.ID, Epoch: 1, Option: m.Options[0], Lease: s.now.Add(10 * time.Second), Pause: s.now.Add(after)})
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: j.ID, Epoch: 1}))
	s.now = s.agent.Due()
	asked = s.agent.Tick(s.now)
	s.now = s.now.Add(time.Second)
	paused = s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: j.ID, Epoch: 1, Left: 90 * time.Minute}))
	return s, asked, paused
}

func TestAwardedPauseIsExecutedAndReported(t *testing.T) {
	_, asked, paused := interrupted(t, 30*time.Minute)
	want := protocol.Cancel{Job: "train", Epoch: 1, Checkpoint: true}
	if len(asked) != 1 || asked[0].Body != want || asked[0].To != "hands/oslo" || asked[0].At != noon.Add(30*time.Minute) {
		t.Fatalf("sent %v", asked)
	}
	d, ok := paused[0].Body.(protocol.UsageReport)
	// Of two hours on a V100 three quarters are left, to the second above.
	if !ok || d.Left < 90*time.Minute || d.Left > 90*time.Minute+time.Second {
		t.Errorf("reported %v", paused)
	}
}

func TestPauseIsRequestedUntilAnswered(t *testing.T) {
	s := greeted(t)
	j := job("train", 1)
	j.Run, j.Urgency, j.Pause, j.Deadline = 2*time.Hour, protocol.UrgencyStandard, 2*time.Minute, noon.Add(24*time.Hour)
	m := s.call(j)[0]
	s.give(protocol.Award{Job: j.ID, Epoch: 1, Option: m.Options[0], Lease: s.now.Add(10 * time.Second), Pause: s.now.Add(time.Hour)})
	started := func() {
		s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: j.ID, Epoch: 1}))
	}
	asks := func() (n int) {
		s.now = s.agent.Due()
		for _, m := range s.agent.Tick(s.now) {
			if c, ok := m.Body.(protocol.Cancel); ok && c.Checkpoint {
				n++
			}
		}
		return n
	}
	started()
	for range 2 {
		if n := asks(); n != 1 {
			t.Fatalf("the executor was asked %d times to pause; want once at each tick", n)
		}
	}
	started() // they cannot, and it runs on
	if n := asks(); n != 0 || s.now < noon.Add(2*time.Hour) {
		t.Errorf("at %v it was asked %d times more", s.now, n)
	}
}

func TestUselessPauseIsNotPlanned(t *testing.T) {
	_, asked, _ := interrupted(t, time.Minute) // less than pausing takes
	for _, m := range asked {
		if _, ok := m.Body.(protocol.Cancel); ok {
			t.Errorf("sent %v", m)
		}
	}
}

// A job whose Accept was lost is awarded anew. It is paused as the newer award says: a pause that
// the market does not know of would end the job unpaid.
func TestAJobIsPausedAsItsNewestAwardSays(t *testing.T) {
	s := greeted(t)
	j := job("train", 1)
	j.Run, j.Urgency, j.Pause, j.Deadline = 2*time.Hour, protocol.UrgencyStandard, 2*time.Minute, noon.Add(24*time.Hour)
	a := protocol.Award{Job: j.ID, Epoch: 1, Option: s.call(j)[0].Options[0], Lease: s.now.Add(10 * time.Second), Pause: s.now.Add(time.Hour)}
	s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", a))
	a.Epoch, a.Pause = 2, 0
	s.call(j)
	s.give(a)
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: j.ID, Epoch: 2}))
	for s.now < noon.Add(2*time.Hour) {
		s.now = s.agent.Due()
		for _, m := range s.agent.Tick(s.now) {
			if c, ok := m.Body.(protocol.Cancel); ok {
				t.Fatalf("at %v the executor gets %+v", s.now, c)
			}
		}
	}
}

// An elastic job on few pods for a part that turned out too short for a pause is paused a little later: to its
// end it would run for weeks.
func TestAnElasticJobIsPausedThoughItsPartIsShort(t *testing.T) {
	s := newSite(t, DefaultStrategy(), 8, 8)
	j := elastic()
	j.Pause, j.State = 2*time.Minute, 64
	m := s.call(j)[0]
	started := s.now
	s.give(protocol.Award{Job: j.ID, Epoch: 1, Option: m.Options[0], Lease: s.now.Add(10 * time.Second), Pause: s.now.Add(time.Minute)})
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: j.ID, Epoch: 1}))
	for range 20 {
		s.now = max(s.now.Add(time.Second), s.agent.Due())
		for _, m := range s.agent.Tick(s.now) {
			if c, ok := m.Body.(protocol.Cancel); ok && c.Checkpoint {
				if at := s.now.Sub(started); at < 3*time.Minute || at > 10*time.Minute {
					t.Errorf("paused %v after its start", at)
				}
				return
			}
		}
	}
	t.Error("it was not paused")
}
