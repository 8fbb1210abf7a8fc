package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// ran has a job run at the site for so long, and returns the facts of its end.
func (s *site) ran(id protocol.JobID, took time.Duration, draw protocol.Millijoules) []protocol.Message {
	s.Helper()
	s.award(job(id, 1), 1, false)
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: id, Epoch: 1}))
	s.now = s.now.Add(took)
	s.exit(id, 1, protocol.HourlyEnergy{Hour: s.now.Floor(time.Hour), Energy: draw})
	return append([]protocol.Message(nil), s.agent.Events()...)
}

func (s *site) unknown(id protocol.JobID) protocol.Job {
	j := job(id, 1)
	j.Run, j.Arrival, j.Deadline = 0, s.now, s.now.Add(100*time.Hour)
	return j
}

// Waiting of a job of unknown run is priced as the market prices it, by an hour, whatever the site
// expects: a site that expects three hours offers no start after the limit of one.
func TestWaitingOfAJobOfUnknownLengthIsPricedAsTheMarketDoes(t *testing.T) {
	s := newSite(t, eager, 8)
	for i := range 40 {
		s.ran(protocol.JobID(rune('a'+i)), 3*time.Hour, 100_000)
	}
	s.signal(protocol.GridPrice, 100_000, 100_000, 100_000, 100_000, 10_000, 10_000, 10_000, 10_000)
	j := s.unknown("next")
	j.Urgency = protocol.UrgencyStandard
	m := s.offer(protocol.CallForBids{Jobs: []protocol.Job{j}, Weights: protocol.DefaultWeights()}).Jobs[0]
	if len(m.Expect) != 1 || m.Expect[0].Mean < 170*time.Minute {
		t.Fatalf("the site expects %+v; want three hours", m.Expect)
	}
	for _, o := range m.Options {
		if o.Start > s.now.Add(3*time.Hour) {
			t.Errorf("it is offered %v, arrived %v; want three hours later at most", o.Start, s.now)
		}
	}
}

func TestJobOfUnknownLengthIsBidByEarlierRuns(t *testing.T) {
	s := newSite(t, MarginalCost{}, 8)
	m := s.call(s.unknown("first"))[0]
	if len(m.Expect) != 1 || m.Expect[0].Runs != 0 || len(m.Options) == 0 || m.Options[0].Finish.Sub(m.Options[0].Start) != time.Hour {
		t.Fatalf("with nothing to go by it offers %+v", m)
	}
	for i := range 40 {
		s.ran(protocol.JobID(rune('a'+i)), 3*time.Hour, 100_000)
	}
	s.signal(protocol.GridPrice, 100_000)
	m = s.call(s.unknown("next"))[0]
	if len(m.Expect) != 1 || m.Expect[0].Runs != 40 {
		t.Fatalf("after 40 runs it expects %+v", m.Expect)
	}
	for what, d := range map[string]time.Duration{"mean": m.Expect[0].Mean, "p50": m.Expect[0].P50, "p90": m.Expect[0].P90, "the plan": m.Options[0].Finish.Sub(m.Options[0].Start)} {
		if d < 170*time.Minute || d > 190*time.Minute {
			t.Errorf("%s is %v; all took 3h", what, d)
		}
	}
	if m := s.call(job("told", 1))[0]; m.Expect != nil || m.Options[0].Finish.Sub(m.Options[0].Start) != time.Hour {
		t.Errorf("a job that says how long it runs is offered %+v", m)
	}
	// What is won is planned as it was bid, and the executor gets that plan.
	sent := s.award(s.unknown("next"), 9, false)
	for _, x := range sent {
		if l, ok := x.Body.(protocol.Launch); ok && (l.Run < 170*time.Minute || l.Job.Run == 0) {
			t.Errorf("it is launched as %+v", l)
		}
	}
	if launched(sent) != "next " {
		t.Errorf("launched %q", launched(sent))
	}
}

func TestCompletedRunsSurviveARestart(t *testing.T) {
	s := newSite(t, MarginalCost{}, 8)
	var kept []protocol.Message
	for i := range 12 {
		for _, f := range s.ran(protocol.JobID(rune('a'+i)), 2*time.Hour, 720_000_000) {
			if _, ok := f.Body.(protocol.CompletedRun); ok {
				if !s.agent.NeedsEvent(f) {
					t.Errorf("%v is not needed", f)
				}
				kept = append(kept, f)
			}
		}
	}
	if len(kept) != 12 {
		t.Fatalf("%d events of 12 runs", len(kept))
	}
	ran := kept[0].Body.(protocol.CompletedRun)
	if ran.Lasted != 2*time.Hour || ran.Power != 100_000 || ran.Job.Tenant != "lab" || ran.Job.ID != "" {
		t.Errorf("it remembers %+v; want two hours at 100 W", ran)
	}
	f, err := capacity.New(capacity.Config{Power: power.DefaultTable()})
	if err != nil {
		t.Fatal(err)
	}
	again := New(Config{Site: "oslo"}, f, forecast.New(forecast.Config{}))
	for _, m := range kept {
		if err := again.Restore(m); err != nil {
			t.Error(err)
		}
	}
	j := s.unknown("x")
	if here, there := s.agent.jobs.EstimateRun(j).Estimate, again.jobs.EstimateRun(j).Estimate; here != there || there.Runs != 12 {
		t.Errorf("before the restart it expects %+v, and after it %+v", here, there)
	}
}

func TestFailedRunIsNotLearned(t *testing.T) {
	s := newSite(t, MarginalCost{}, 8)
	s.award(job("a", 1), 1, false)
	s.now = s.now.Add(time.Minute)
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: "a", Epoch: 1, Failed: "exit code 1"}))
	if e := s.agent.jobs.EstimateRun(s.unknown("x")); e.Runs != 0 {
		t.Errorf("it expects %+v", e.Estimate)
	}
}

func TestOnlyTheLastRunsAreKept(t *testing.T) {
	s := newSite(t, MarginalCost{}, 1)
	of := func(n int) protocol.Message {
		return protocol.Message{From: "agent/oslo", Seq: uint64(n), Body: protocol.CompletedRun{}}
	}
	for n := 1; n <= 3*maxRememberedRuns; n++ {
		s.agent.rememberRun(of(n), protocol.CompletedRun{Lasted: time.Hour})
	}
	if s.agent.NeedsEvent(of(2*maxRememberedRuns)) || !s.agent.NeedsEvent(of(2*maxRememberedRuns+1)) || !s.agent.NeedsEvent(of(3*maxRememberedRuns)) || len(s.agent.rememberedRuns) > 2*maxRememberedRuns {
		t.Errorf("of %d runs it keeps other than the last %d", 3*maxRememberedRuns, maxRememberedRuns)
	}
}
