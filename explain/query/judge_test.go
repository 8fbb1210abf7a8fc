package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/protocol"
)

// judgedRun is a run in which a judge was asked about two jobs: it gave train-1 to
// lyon, which costs 20 microdollars more, and said nothing of train-2. From the
// beginning a policy forbids bern.
func judgedRun() *runBuilder {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo", "lyon", "bern")
	s.addMessage(protocol.Coordinator, "", protocol.Policy{Version: 3, By: "ada", Second: "ben\x1b[2J", Sentence: "forbid bern", Rules: []protocol.Rule{{ID: "R-9", Kind: protocol.Forbid, Sites: []string{"bern"}}}})
	for i, id := range []protocol.JobID{"train-1", "train-2"} {
		j := task(id, "vision")
		j.Regions = nil
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		round := uint64(i + 1)
		s.addCall(round, j)
		oslo, lyon := option(0, 1, 50), option(0, 1, 51)
		s.addOffer("oslo", round, id, "", oslo)
		s.addOffer("lyon", round, id, "", lyon)
		s.addOffer("bern", round, id, "", option(0, 9, 50))
		s.addMessage(protocol.Coordinator, protocol.Judge, protocol.JudgeRequest{Round: round, Job: id, Until: s.now.Add(time.Second),
			Choices: []protocol.JudgeChoice{{Handle: "k1", Site: "lyon", Option: lyon, Extra: 20}, {Handle: "k2", Site: "oslo", Option: oslo}}})
		why, site, o := protocol.Reason{Code: protocol.Cheapest}, "oslo", oslo
		if i == 0 {
			s.addMessage(protocol.Judge, protocol.Coordinator, protocol.JudgeAnswer{Round: round, Job: id, Picks: []protocol.JudgePick{{Handle: "k1", Why: protocol.SpreadLoad}, {Handle: "k1", Why: protocol.SpreadLoad}}})
			why, site, o = protocol.Reason{Code: protocol.ChosenByJudge}, "lyon", lyon
		}
		s.addMessage(protocol.Coordinator, protocol.AgentParty(site), protocol.Award{Round: round, Job: id, Epoch: 1, Option: o, Why: why})
	}
	return s
}

func TestAnswersNameTheJudgesPart(t *testing.T) {
	s := judgedRun()
	l := s.buildDataset()
	for _, tc := range []struct{ q, says string }{
		{"did the model decide " + s.addDecision("train-1", 1), "A judge decided: it chose lyon among 2 options that cost nearly the same; it cost $0"},
		{"was train-2 arbitrated", "A judge was asked, and the rule decided: it did not answer in time."},
		{"why train-2", "A judge was asked, and the rule decided: it did not answer in time."},
		{"how many decisions were arbitrated", "A judge decided 1 award"},
		{"who changed the policy last", "by ada and ben·[2J: version 3"},
		{"which rules are active", "R-9: jobs may not run at bern."},
		{"never run at oslo", "gridbid policy say 'never run at oslo'"},
	} {
		if a := l.AnswerQuestion(tc.q); !strings.Contains(strings.Join(a.Text, " "), tc.says) {
			t.Errorf("%q: %s %q; want %q in it", tc.q, a.Kind, a.Text, tc.says)
		}
	}
	if got := figureOfAnswer(t, l.AnswerQuestion("what did arbitration cost in all"), "run", "extra-of-judge"); got != 20 {
		t.Errorf("arbitration cost %d microdollars; want 20", got)
	}
	for i, want := range []string{"judge", "fallback:late"} {
		d, ok := l.DecisionDocument(l.DecisionNumbers()[i])
		if !ok || d.Path != want || d.Policy != 3 {
			t.Errorf("decision %d: path %q under policy %d; want %q under 3", i, d.Path, d.Policy, want)
		}
		for _, b := range d.Bids {
			if b.Feasible == (b.Site == "bern") {
				t.Errorf("decision %d: bid %+v; the policy forbids bern and nothing else", i, b)
			}
		}
	}
}

// A site that says it asked the judge has asked nobody, and no decision was left to
// one.
func TestOnlyTheCoordinatorAsksAJudge(t *testing.T) {
	s := day()
	s.addMessage(protocol.AgentParty("lyon"), protocol.Coordinator, protocol.JudgeRequest{Round: 2, Job: "train-1", Choices: []protocol.JudgeChoice{{Handle: "k1", Site: "lyon"}, {Handle: "k2", Site: "oslo"}}})
	l := s.buildDataset()
	for _, q := range []string{"was train-1 arbitrated", "what did arbitration cost", "why train-1"} {
		a := l.AnswerQuestion(q)
		if text := strings.Join(a.Text, " "); strings.Contains(text, "judge was asked") || strings.Contains(text, "asked 1 time") {
			t.Errorf("%s: %s %q", q, a.Kind, a.Text)
		}
	}
	id := l.caseOf(ask.Query{Job: "train-1"}).decision
	if d, ok := l.DecisionDocument(id); !ok || d.Path != "rule" {
		t.Errorf("%s went by %q; want the rule", decisionLabel(id), d.Path)
	}
}
