package agents

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// startsOf returns the starts that were reported to the coordinator.
func startsOf(ms []protocol.Message) (all []protocol.Started) {
	for _, m := range ms {
		if b, ok := m.Body.(protocol.Started); ok && m.To == protocol.Coordinator {
			all = append(all, b)
		}
	}
	return all
}

// A live agent says when a job runs, and where, a few times; in a replay it says nothing.
func TestALiveAgentReportsStarts(t *testing.T) {
	for _, live := range []bool{false, true} {
		s := newSite(t, eager, 4)
		if live {
			s.agent.ReportStarts()
		}
		s.agent.Tick(s.now)
		sent := s.award(job("a", 2), 7, false)
		i := slices.IndexFunc(sent, func(m protocol.Message) bool { _, ok := m.Body.(protocol.Launch); return ok })
		l := sent[i].Body.(protocol.Launch)
		all := startsOf(s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "a", Epoch: 7})))
		for s.now < noon.Add(30*time.Minute) {
			s.now = s.now.Add(time.Second)
			if due := s.agent.Due(); due != 0 && due <= s.now {
				all = append(all, startsOf(s.agent.Tick(s.now))...)
			}
		}
		switch {
		case !live && len(all) > 0:
			t.Errorf("in a replay it sends %+v", all)
		case live && len(all) != 1+len(startReportDelays):
			t.Errorf("it sends %d reports, %+v", len(all), all)
		}
		for _, x := range all {
			if x.Job != "a" || x.Epoch != 7 || x.Node != l.Node || !slices.Equal(x.Devices, l.Devices) {
				t.Errorf("it reports %+v; launched was %+v", x, l)
			}
		}
	}
}

// A job that is over before its report is repeated is not reported once more.
func TestAnEndedJobIsNotReportedAsStarted(t *testing.T) {
	s := newSite(t, eager, 4)
	s.agent.ReportStarts()
	s.agent.Tick(s.now)
	s.award(job("a", 1), 1, false)
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: "a", Epoch: 1}))
	s.now = s.now.Add(time.Second)
	s.exit("a", 1)
	s.now = s.now.Add(time.Hour)
	if again := startsOf(s.agent.Tick(s.now)); len(again) > 0 || s.agent.nextStartReport() != 0 {
		t.Errorf("it sends %+v", again)
	}
}
