package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// asks returns a market with the real auction, a judge and an operator's note on lyon. An earlier
// round cost enough for the advice budget to cover two choices of lyon.
func asks(t *testing.T, a Advice) *testMarket {
	a.Ease = 20
	if a.MaxTotalExtra == 0 {
		a.MaxTotalExtra = 25
	}
	a.Notes = []TimedNote{{OperatorNotice: protocol.OperatorNotice{ID: "N1", Site: "lyon", Text: "please use"}}}
	s := &testMarket{T: t, now: noon, senders: make(map[protocol.Party]*protocol.Sender)}
	s.market = New(Config{Advice: a, Terms: protocol.Weights{Carbon: 100_000, WaitNow: 1, Late: 1}}, auction.New(auction.Config{Steps: 10}))
	for _, name := range []string{"lyon", "oslo"} {
		s.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
	}
	s.sell("first")
	s.accept()
	return s
}

// accept has the sites accept all that they were awarded.
func (s *testMarket) accept() {
	for _, m := range s.sent {
		if a, ok := m.Body.(protocol.Award); ok {
			s.market.Step(s.now, s.message(m.To, protocol.Accept{Job: a.Job, Epoch: a.Epoch}))
		}
	}
	s.sent = nil
}

// sell has a job called and bid for: oslo is cheapest, lyon costs 1 % more.
func (s *testMarket) sell(id protocol.JobID) {
	s.Helper()
	j := s.job()
	j.ID, j.Regions, j.Arrival, j.Deadline = id, nil, s.now, s.now.Add(8*time.Hour)
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	for s.market.round == nil {
		s.wait()
	}
	oslo, lyon := s.option(0, time.Hour), s.option(0, time.Hour)
	oslo.Money, lyon.Money = 1_000_000, 1_010_000
	s.offer("oslo", bidsOf(id, oslo))
	s.offer("lyon", bidsOf(id, lyon))
}

func (s *testMarket) answer(a protocol.JudgeAnswer) []protocol.Message {
	return s.send(protocol.Judge, a)
}

// handles returns those of oslo, which the rule takes, and of lyon.
func handles(a protocol.JudgeRequest) (oslo, lyon string) {
	for _, c := range a.Choices {
		if c.Site == "lyon" {
			lyon = c.Handle
		} else {
			oslo = c.Handle
		}
	}
	return oslo, lyon
}

func twice(handle string, why protocol.Code) []protocol.JudgePick {
	return []protocol.JudgePick{{Handle: handle, Why: why}, {Handle: handle, Why: why}}
}

func TestJudgeAnswerCountsOnlyIfValid(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer func(oslo, lyon string) protocol.JudgeAnswer
		site   string
		counts string
	}{
		{"twice the same", func(_, l string) protocol.JudgeAnswer {
			return protocol.JudgeAnswer{Picks: twice(l, protocol.OperatorNote)}
		}, "lyon", ""},
		{"the rule's own", func(o, _ string) protocol.JudgeAnswer {
			return protocol.JudgeAnswer{Picks: twice(o, protocol.SpreadLoad)}
		}, "oslo", ""},
		{"no preference", func(_, l string) protocol.JudgeAnswer {
			return protocol.JudgeAnswer{Picks: twice(l, protocol.NoPreference)}
		}, "oslo", ""},
		{"by the order shown", func(o, l string) protocol.JudgeAnswer {
			return protocol.JudgeAnswer{Picks: []protocol.JudgePick{{Handle: l, Why: protocol.SpreadLoad}, {Handle: o, Why: protocol.SpreadLoad}}}
		}, "oslo", "judge-order"},
		{"a handle that is not", func(_, _ string) protocol.JudgeAnswer {
			return protocol.JudgeAnswer{Picks: twice("k3", protocol.SpreadLoad)}
		}, "oslo", "judge-not-offered"},
		{"a site's name", func(_, _ string) protocol.JudgeAnswer {
			return protocol.JudgeAnswer{Picks: twice("lyon", protocol.SpreadLoad)}
		}, "oslo", "judge-not-offered"},
		{"no handle", func(_, _ string) protocol.JudgeAnswer {
			return protocol.JudgeAnswer{Picks: twice("", protocol.SpreadLoad)}
		}, "oslo", "judge-not-offered"},
		{"another reason", func(_, l string) protocol.JudgeAnswer { return protocol.JudgeAnswer{Picks: twice(l, "because")} }, "oslo", "judge-invalid"},
		{"asked once", func(_, l string) protocol.JudgeAnswer {
			return protocol.JudgeAnswer{Picks: twice(l, protocol.SpreadLoad)[:1]}
		}, "oslo", "judge-invalid"},
		{"nothing", func(_, _ string) protocol.JudgeAnswer { return protocol.JudgeAnswer{} }, "oslo", "judge-invalid"},
		{"a fault and picks", func(_, l string) protocol.JudgeAnswer {
			return protocol.JudgeAnswer{Fault: protocol.AnswerLate, Picks: twice(l, protocol.SpreadLoad)}
		}, "oslo", "judge-late"},
		{"a fault unheard of", func(_, _ string) protocol.JudgeAnswer { return protocol.JudgeAnswer{Fault: "<script>"} }, "oslo", "judge-error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := asks(t, Advice{})
			s.sell("job")
			ask := lastSent[protocol.JudgeRequest](s)
			a := tc.answer(handles(ask))
			a.Round, a.Job = ask.Round, ask.Job
			sent := s.answer(a)
			if count[protocol.Award](sent) != 1 || sent[0].To != protocol.AgentParty(tc.site) {
				t.Fatalf("sent %+v; want an award to %s", sent, tc.site)
			}
			if got := s.market.counts[tc.counts]; tc.counts != "" && got != 1 {
				t.Errorf("counted %d of %s: %v", got, tc.counts, s.market.counts)
			}
			if s.answer(a); s.market.counts["answer-too-late"] != 1 {
				t.Errorf("the same answer twice counts %v", s.market.counts)
			}
		})
	}
}

func TestJudgeAnswerOfAnotherPartyIsIgnored(t *testing.T) {
	s := asks(t, Advice{})
	s.sell("job")
	ask := lastSent[protocol.JudgeRequest](s)
	_, lyon := handles(ask)
	sound := protocol.JudgeAnswer{Round: ask.Round, Job: ask.Job, Picks: twice(lyon, protocol.OperatorNote)}
	stale, other := sound, sound
	stale.Round--
	other.Job = "first"
	sent := s.send(protocol.AgentParty("lyon"), sound)
	sent = append(sent, s.answer(stale)...)
	if sent = append(sent, s.answer(other)...); len(sent) > 0 {
		t.Fatalf("sent %+v", sent)
	}
	if sent := s.answer(sound); count[protocol.Award](sent) != 1 || sent[0].To != protocol.AgentParty("lyon") {
		t.Fatalf("sent %+v; want an award to lyon", sent)
	}
}

// A silent judge costs its budget and nothing else; no round opens meanwhile.
func TestRoundWaitsForJudgeUntilItsTimeBudgetEnds(t *testing.T) {
	s := asks(t, Advice{Budget: 300 * time.Millisecond})
	s.sell("job")
	ask, asked := lastSent[protocol.JudgeRequest](s), s.now
	later := s.job()
	later.ID, later.Arrival = "later", s.now
	s.send(protocol.Submitter, protocol.Submit{Job: later})
	if due := s.market.Due(); due != asked.Add(300*time.Millisecond) || due != ask.Until {
		t.Fatalf("due %v; want 300 ms after %v", due, asked)
	}
	if sent := s.market.Tick(asked.Add(299 * time.Millisecond)); len(sent) > 0 {
		t.Fatalf("sent %+v before the budget ended", sent)
	}
	if sent := s.wait(); count[protocol.Award](sent) != 1 || sent[0].To != protocol.AgentParty("oslo") {
		t.Fatalf("sent %+v; want the rule's award", sent)
	}
	_, lyon := handles(ask)
	if sent := s.answer(protocol.JudgeAnswer{Round: ask.Round, Job: ask.Job, Picks: twice(lyon, protocol.OperatorNote)}); len(sent) > 0 {
		t.Errorf("a late answer moves the market to say %+v", sent)
	}
}

func TestAdviceBudgetBoundsExtraCost(t *testing.T) {
	s := asks(t, Advice{MaxTotalExtra: 1})
	var spent, cost protocol.Microdollars
	chosen := 0
	for i := range 60 {
		s.now = s.now.Add(3 * time.Minute)
		s.accept()
		s.sell(protocol.JobID([]byte{'a' + byte(i/26), 'a' + byte(i%26)}))
		if i := slices.IndexFunc(s.sent, func(m protocol.Message) bool { _, ok := m.Body.(protocol.JudgeRequest); return ok }); i >= 0 {
			ask := s.sent[i].Body.(protocol.JudgeRequest)
			_, lyon := handles(ask)
			s.answer(protocol.JudgeAnswer{Round: ask.Round, Job: ask.Job, Picks: twice(lyon, protocol.OperatorNote)})
			chosen++
		}
		a := lastSent[protocol.Award](s)
		cost += a.Option.Money
		spent += a.Option.Money - 1_000_000
		if s.market.advisor.budget < 0 || spent > cost/1000 {
			t.Fatalf("after %d awards %d is spent of %d, and %d left", i+1, spent, cost, s.market.advisor.budget)
		}
	}
	if chosen < 3 || chosen > 10 {
		t.Errorf("the judge chose %d of 60 times; at 1 %% more, and a purse of 0.1 %%, want about 6", chosen)
	}
}

func TestBreakerOpensAfterThreeFaultsAndCloses(t *testing.T) {
	s := asks(t, Advice{})
	for i, id := range []protocol.JobID{"a", "b", "c", "d", "e"} {
		if i == 4 {
			s.now = s.now.Add(breakerPause)
		}
		s.accept()
		s.sell(id)
		asked := count[protocol.JudgeRequest](s.sent) == 1
		if asked != (i != 3) {
			t.Fatalf("job %s: asked %t", id, asked)
		}
		if asked {
			ask := lastSent[protocol.JudgeRequest](s)
			s.answer(protocol.JudgeAnswer{Round: ask.Round, Job: ask.Job, Fault: protocol.AnswerFailed})
		}
	}
}

func TestJudgeIsAskedOnlyIfNeeded(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Advice)
	}{
		{"with no leeway", func(a *Advice) { a.Ease = 0 }},
		{"with no note", func(a *Advice) { a.Notes = nil }},
		{"with a note of tomorrow", func(a *Advice) { a.Notes[0].From = noon.Add(24 * time.Hour) }},
		{"with a note of yesterday", func(a *Advice) { a.Notes[0].To = noon }},
		{"over the calls of an hour", func(a *Advice) { a.Calls = -1 }},
	} {
		s := asks(t, Advice{})
		tc.change(&s.market.cfg.Advice)
		s.sent = nil
		if s.sell("job"); count[protocol.JudgeRequest](s.sent) != 0 || count[protocol.Award](s.sent) != 1 {
			t.Errorf("%s: sent %+v", tc.name, s.sent)
		}
	}
}

// The pause was planned by the grid of the site that the rule chose.
func TestAwardMovedByJudgeLosesItsPause(t *testing.T) {
	for site, want := range map[string]protocol.Time{"oslo": noon.Add(time.Hour), "lyon": 0} {
		k := New(Config{}, &soonest{})
		k.advisor.openQuestions = 1
		r := lotRuling{lot: &lot{}, decision: auction.Decision{Verdict: auction.Award, Site: "oslo", PauseAt: noon.Add(time.Hour)}, choices: []protocol.JudgeChoice{{Site: site}}}
		k.closeQuestion(noon, &r, 0, "")
		if r.decision.Site != site || r.decision.PauseAt != want {
			t.Errorf("chosen %s: it is awarded to %s, to pause at %v; want %v", site, r.decision.Site, r.decision.PauseAt, want)
		}
	}
}
