package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/protocol"
)

// A site made the best bid and was declared gone before the round was decided. The
// reason that the job is elsewhere is that, and not what its room was worth to others.
func TestAJobIsNotAtADecommissionedSite(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo", "lyon")
	j := task("train-1", "vision")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(1, j)
	s.addOffer("oslo", 1, j.ID, "", option(0, 1, 50))
	s.addOffer("lyon", 1, j.ID, "", option(0, 5, 500))
	s.addMessage(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.addAward("lyon", 1, j, option(0, 5, 500), "", nil, 0)
	a := s.buildDataset().AnswerQuestion("why not oslo for train-1")
	if text := strings.Join(a.Text, " "); !strings.Contains(text, "an operator said that the site will not come back (ada)") || strings.Contains(text, "by its prices the room") {
		t.Errorf("why not oslo: %q", text)
	}
}

// What was lost in an outage is what the site had when it was declared gone: here a job
// whose run was two hours old.
func TestAnOutageIsAnswered(t *testing.T) {
	s := acceptedRun()
	from := s.now
	s.now = after(2 * time.Hour)
	s.addMessage(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.now = after(3 * time.Hour)
	s.addCall(2)
	s.addOffer("lyon", 2, "train-1", protocol.NoCapacity)
	l := s.buildDataset()
	for _, a := range []Answer{l.AnswerQuestion("what was lost in the outage"), l.AnswerQuestion("when was the outage"), l.AnswerQuestion("was there an outage"), l.AnswerQuery(ask.Query{Ask: "outages"}), l.AnswerQuery(ask.Query{Ask: "outages", Site: "oslo"})} {
		text := strings.Join(a.Text, " ")
		if !strings.Contains(text, "ada declared oslo gone at 13 Apr 14:00, and it has not come back. 1 job was taken from it and put on sale: train-1.") || strings.Contains(text, "None") {
			t.Errorf("%s: %q", a.Read, text)
		}
		if got, want := figureOfAnswer(t, a, "site/oslo", "gpu-time-lost"), 2*after(2*time.Hour).Sub(from).Milliseconds(); got != want || figureOfAnswer(t, a, "site/oslo", "jobs-taken") != 1 {
			t.Errorf("%d GPU milliseconds are lost; want %d", got, want)
		}
	}
	if a := l.AnswerQuery(ask.Query{Ask: "outages", Site: "lyon"}); figureOfAnswer(t, a, "run", "outages") != 0 || !strings.Contains(a.Text[0], "No site was declared gone") {
		t.Errorf("outages of lyon: %q", a.Text)
	}
	s.addRegistration("oslo")
	if a := s.buildDataset().AnswerQuery(ask.Query{Ask: "outages"}); !strings.Contains(a.Text[0], "it came back at 13 Apr 15:00") {
		t.Errorf("after oslo came back: %q", a.Text)
	}
}

// Whether a job was paused, when, and when it went on.
func TestAPauseIsAnswered(t *testing.T) {
	l := paused().buildDataset()
	for _, tc := range []struct {
		q              ask.Query
		pauses, paused int64
		row            string
	}{
		{ask.Query{Ask: "pauses"}, 3, 1, ""},
		{ask.Query{Ask: "pauses", Job: "halved"}, 1, 1, "halved oslo 13 Apr 13:10 13 Apr 13:35 not yet"},
		{ask.Query{Ask: "pauses", Job: "resumes"}, 2, 0, "resumes oslo 13 Apr 12:00 13 Apr 12:25 13 Apr 12:35"},
		{ask.Query{Ask: "pauses", Site: "lyon"}, 1, 0, ""},
	} {
		a := l.AnswerQuery(tc.q)
		if figureOfAnswer(t, a, "run", "pauses") != tc.pauses || figureOfAnswer(t, a, "run", "paused-now") != tc.paused {
			t.Errorf("%+v: %q", tc.q, a.Text)
		}
		if got := strings.Join(a.Table.Rows[0], " "); tc.row != "" && got != tc.row {
			t.Errorf("%+v: %q; want %q", tc.q, got, tc.row)
		}
	}
	for q, n := range map[string]int64{"was resumes paused": 2, "is halved paused": 1, "why was halved paused": 1, "which jobs were paused": 3} {
		if a := l.AnswerQuestion(q); a.Kind != "answer" || figureOfAnswer(t, a, "run", "pauses") != n {
			t.Errorf("%s: %s %q", q, a.Kind, a.Text)
		}
	}
	if a := acceptedRun().buildDataset().AnswerQuery(ask.Query{Ask: "pauses", Job: "train-1"}); figureOfAnswer(t, a, "run", "pauses") != 0 || a.Text[0] != "Job train-1 was not paused." {
		t.Errorf("a job that was never paused: %q", a.Text)
	}
}
