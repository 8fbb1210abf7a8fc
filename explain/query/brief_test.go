package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/protocol"
)

// briefed is a run in which one job ended late and one nearly, one finds no place, lyon declined an
// award, and bern was not heard of late.
func briefed() *runBuilder {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo", "lyon", "bern")
	late, near, stuck := task("late-1", "vision"), task("near-1", "vision"), task("stuck-1", "vision")
	late.Deadline, near.Deadline = after(30*time.Minute), after(2*time.Hour+5*time.Minute)
	for _, j := range []protocol.Job{late, near, stuck} {
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	}
	s.addCall(1, late, near, stuck)
	s.addOffer("oslo", 1, "late-1", "", option(0, 5, 100))
	s.addOffer("bern", 1, "late-1", "", option(0, 9, 900))
	s.addAward("oslo", 1, late, option(0, 5, 100), "n1", []int{0, 1}, time.Hour)
	s.addAward("oslo", 1, near, option(time.Hour, 5, 100), "n1", []int{0, 1}, time.Hour)
	s.addCall(2, stuck)
	s.addOffer("oslo", 2, "stuck-1", protocol.NoCapacity)
	s.epoch++
	s.addMessage(protocol.Coordinator, protocol.AgentParty("lyon"), protocol.Award{Round: 2, Job: "stuck-1", Epoch: s.epoch, Option: option(2*time.Hour, 1, 1), Why: protocol.Reason{Code: protocol.Cheapest}})
	s.addMessage(protocol.AgentParty("lyon"), protocol.Coordinator, protocol.Decline{Job: "stuck-1", Epoch: s.epoch, Why: protocol.Reason{Code: protocol.NoCapacity}})
	s.addMessage(protocol.Coordinator, "", protocol.Defer{Round: 2, Job: "stuck-1", Until: after(3 * time.Hour), Why: protocol.Reason{Code: protocol.NoBids}})
	return s
}

// A brief says what needs a person first, and each figure of it is in its data.
func TestABriefSaysWhatNeedsAPerson(t *testing.T) {
	l := briefed().buildDataset()
	a := l.AnswerQuestion("brief")
	text := strings.Join(a.Text, "\n")
	for _, want := range []string{
		"Site bern was last heard at", "1 job ended after its deadline: late-1.", "1 job nearly missed its deadline: near-1.", "1 job finds no place or did not start when it was to: stuck-1.",
		"Site lyon did not keep 1 of 1 award.", "Decided: The coordinator said", "2 jobs started and 2 ended.", "Those that ended took", "Changed: nothing.", "Saved: Over",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := figureOfAnswer(t, a, "run", "needs-a-person"); n != 5 {
		t.Errorf("%d things need a person:\n%s", n, text)
	}
	if claims, loose, typed := a.CheckGrounding(); !typed || claims < 10 || len(loose) > 0 {
		t.Errorf("%d figures, typed %t: %q", claims, typed, loose)
	}
	if strings.Index(text, "Needs a person") > strings.Index(text, "Decided") {
		t.Error("what needs a person is not first")
	}
}

// The brief of another hour is of that hour.
func TestABriefIsOfItsWindow(t *testing.T) {
	l := briefed().buildDataset()
	a := l.AnswerQuery(ask.Query{Ask: "brief", From: after(90 * time.Minute), To: after(3 * time.Hour)})
	text := strings.Join(a.Text, "\n")
	if strings.Contains(text, "late-1") || !strings.Contains(text, "near-1") || !strings.Contains(text, "0 jobs started and 1 ended.") {
		t.Errorf("from 13:30 on:\n%s", text)
	}
	s := briefed()
	s.addMessage(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "bern", By: "ada"})
	text = strings.Join(s.buildDataset().AnswerQuestion("brief").Text, "\n")
	if !strings.Contains(text, "Changed: An operator declared bern gone") || strings.Contains(text, "Site bern was last heard") {
		t.Errorf("after bern was declared gone:\n%s", text)
	}
}

// A model sees the sentences without the names of jobs and people.
func TestAModelSeesNoNames(t *testing.T) {
	s := briefed()
	s.addMessage(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "bern", By: "ada"})
	l := s.buildDataset()
	a := l.AnswerQuestion("brief")
	shown := a.TextWithoutNames(l.History().ReportingSiteNames())
	text := strings.Join(shown, "\n")
	if len(shown) != len(a.Text) || !strings.Contains(text, "declared bern gone") || !strings.Contains(text, "1 job ended after its deadline: (a name).") {
		t.Errorf("it sees\n%s", text)
	}
	for _, name := range []string{"late-1", "near-1", "stuck-1", "ada", "vision"} {
		if strings.Contains(text, name) {
			t.Errorf("it sees %s:\n%s", name, text)
		}
	}
}
