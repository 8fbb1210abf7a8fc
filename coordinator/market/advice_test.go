package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// asks is a market over the real auction, with a judge and a note on lyon. A
// round before has cost enough for its purse to hold two choices of lyon.
func asks(t *testing.T, a Advice) *stage {
	a.Ease = 20
	if a.Purse == 0 {
		a.Purse = 25
	}
	a.Notes = []Notice{{Note: protocol.Note{ID: "N1", Site: "lyon", Text: "please use"}}}
	s := &stage{T: t, now: noon, mouths: make(map[protocol.Party]*protocol.Mouth)}
	s.market = New(Config{Advice: a, Terms: protocol.Weights{Carbon: 100_000, Delay: 1, Late: 1}}, auction.New(auction.Config{Steps: 10}))
	for _, name := range []string{"lyon", "oslo"} {
		s.tell(protocol.Agent(name), protocol.Hello{Site: name})
	}
	s.sell("first")
	s.accept()
	return s
}

// accept has the sites accept all that they were awarded.
func (s *stage) accept() {
	for _, m := range s.said {
		if a, ok := m.Body.(protocol.Award); ok {
			s.market.Step(s.now, s.say(m.To, protocol.Accept{Job: a.Job, Epoch: a.Epoch}))
		}
	}
	s.said = nil
}

// sell has a job called and offered for: oslo is cheapest, and lyon 1 % dearer.
func (s *stage) sell(id protocol.JobID) {
	s.Helper()
	j := s.job()
	j.ID, j.Regions, j.Arrival, j.Deadline = id, nil, s.now, s.now.Add(8*time.Hour)
	s.tell(protocol.Submitter, protocol.Submit{Job: j})
	for s.market.round == nil {
		s.wait()
	}
	oslo, lyon := s.option(0, time.Hour), s.option(0, time.Hour)
	oslo.Money, lyon.Money = 1_000_000, 1_010_000
	s.offer("oslo", menu(id, oslo))
	s.offer("lyon", menu(id, lyon))
}

func (s *stage) answer(a protocol.Answer) []protocol.Message { return s.tell(protocol.Judge, a) }

// handles returns those of oslo, which the rule takes, and of lyon.
func handles(a protocol.Ask) (oslo, lyon string) {
	for _, c := range a.Choices {
		if c.Site == "lyon" {
			lyon = c.Handle
		} else {
			oslo = c.Handle
		}
	}
	return oslo, lyon
}

func twice(handle string, why protocol.Code) []protocol.Pick {
	return []protocol.Pick{{Handle: handle, Why: why}, {Handle: handle, Why: why}}
}

func TestAnAnswerCountsOnlyIfItIsSound(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer func(oslo, lyon string) protocol.Answer
		site   string
		counts string
	}{
		{"twice the same", func(_, l string) protocol.Answer { return protocol.Answer{Picks: twice(l, protocol.OperatorNote)} }, "lyon", ""},
		{"the rule's own", func(o, _ string) protocol.Answer { return protocol.Answer{Picks: twice(o, protocol.SpreadLoad)} }, "oslo", ""},
		{"no preference", func(_, l string) protocol.Answer { return protocol.Answer{Picks: twice(l, protocol.NoPreference)} }, "oslo", ""},
		{"by the order shown", func(o, l string) protocol.Answer {
			return protocol.Answer{Picks: []protocol.Pick{{Handle: l, Why: protocol.SpreadLoad}, {Handle: o, Why: protocol.SpreadLoad}}}
		}, "oslo", "judge-order"},
		{"a handle that is not", func(_, _ string) protocol.Answer { return protocol.Answer{Picks: twice("k3", protocol.SpreadLoad)} }, "oslo", "judge-not-offered"},
		{"a site's name", func(_, _ string) protocol.Answer { return protocol.Answer{Picks: twice("lyon", protocol.SpreadLoad)} }, "oslo", "judge-not-offered"},
		{"no handle", func(_, _ string) protocol.Answer { return protocol.Answer{Picks: twice("", protocol.SpreadLoad)} }, "oslo", "judge-not-offered"},
		{"another reason", func(_, l string) protocol.Answer { return protocol.Answer{Picks: twice(l, "because")} }, "oslo", "judge-invalid"},
		{"asked once", func(_, l string) protocol.Answer {
			return protocol.Answer{Picks: twice(l, protocol.SpreadLoad)[:1]}
		}, "oslo", "judge-invalid"},
		{"nothing", func(_, _ string) protocol.Answer { return protocol.Answer{} }, "oslo", "judge-invalid"},
		{"a fault and picks", func(_, l string) protocol.Answer {
			return protocol.Answer{Fault: protocol.Late, Picks: twice(l, protocol.SpreadLoad)}
		}, "oslo", "judge-late"},
		{"a fault unheard of", func(_, _ string) protocol.Answer { return protocol.Answer{Fault: "<script>"} }, "oslo", "judge-error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := asks(t, Advice{})
			s.sell("job")
			ask := the[protocol.Ask](s)
			a := tc.answer(handles(ask))
			a.Round, a.Job = ask.Round, ask.Job
			said := s.answer(a)
			if count[protocol.Award](said) != 1 || said[0].To != protocol.Agent(tc.site) {
				t.Fatalf("said %+v; want an award to %s", said, tc.site)
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

func TestAnAnswerOfAnotherCountsForNothing(t *testing.T) {
	s := asks(t, Advice{})
	s.sell("job")
	ask := the[protocol.Ask](s)
	_, lyon := handles(ask)
	sound := protocol.Answer{Round: ask.Round, Job: ask.Job, Picks: twice(lyon, protocol.OperatorNote)}
	stale, other := sound, sound
	stale.Round--
	other.Job = "first"
	said := s.tell(protocol.Agent("lyon"), sound)
	said = append(said, s.answer(stale)...)
	if said = append(said, s.answer(other)...); len(said) > 0 {
		t.Fatalf("said %+v", said)
	}
	if said := s.answer(sound); count[protocol.Award](said) != 1 || said[0].To != protocol.Agent("lyon") {
		t.Fatalf("said %+v; want an award to lyon", said)
	}
}

// A silent judge costs its budget and nothing else; no round opens meanwhile.
func TestASilentJudgeIsWaitedForUntilItsBudgetEnds(t *testing.T) {
	s := asks(t, Advice{Budget: 300 * time.Millisecond})
	s.sell("job")
	ask, asked := the[protocol.Ask](s), s.now
	later := s.job()
	later.ID, later.Arrival = "later", s.now
	s.tell(protocol.Submitter, protocol.Submit{Job: later})
	if due := s.market.Due(); due != asked.Add(300*time.Millisecond) || due != ask.Until {
		t.Fatalf("due %v; want 300 ms after %v", due, asked)
	}
	if said := s.market.Tick(asked.Add(299 * time.Millisecond)); len(said) > 0 {
		t.Fatalf("said %+v before the budget ended", said)
	}
	if said := s.wait(); count[protocol.Award](said) != 1 || said[0].To != protocol.Agent("oslo") {
		t.Fatalf("said %+v; want the rule's award", said)
	}
	_, lyon := handles(ask)
	if said := s.answer(protocol.Answer{Round: ask.Round, Job: ask.Job, Picks: twice(lyon, protocol.OperatorNote)}); len(said) > 0 {
		t.Errorf("a late answer moves the market to say %+v", said)
	}
}

func TestThePurseBoundsWhatAJudgeSpends(t *testing.T) {
	s := asks(t, Advice{Purse: 1})
	var spent, cost protocol.Microdollars
	chosen := 0
	for i := range 60 {
		s.now = s.now.Add(3 * time.Minute)
		s.accept()
		s.sell(protocol.JobID([]byte{'a' + byte(i/26), 'a' + byte(i%26)}))
		if i := slices.IndexFunc(s.said, func(m protocol.Message) bool { _, ok := m.Body.(protocol.Ask); return ok }); i >= 0 {
			ask := s.said[i].Body.(protocol.Ask)
			_, lyon := handles(ask)
			s.answer(protocol.Answer{Round: ask.Round, Job: ask.Job, Picks: twice(lyon, protocol.OperatorNote)})
			chosen++
		}
		a := the[protocol.Award](s)
		cost += a.Option.Money
		spent += a.Option.Money - 1_000_000
		if s.market.advisor.purse < 0 || spent > cost/1000 {
			t.Fatalf("after %d awards %d is spent of %d, and %d left", i+1, spent, cost, s.market.advisor.purse)
		}
	}
	if chosen < 3 || chosen > 10 {
		t.Errorf("the judge chose %d of 60 times; at 1 %% more, and a purse of 0.1 %%, want about 6", chosen)
	}
}

func TestTheBreakerOpensAfterThreeFaultsAndClosesAgain(t *testing.T) {
	s := asks(t, Advice{})
	for i, id := range []protocol.JobID{"a", "b", "c", "d", "e"} {
		if i == 4 {
			s.now = s.now.Add(pause)
		}
		s.accept()
		s.sell(id)
		asked := count[protocol.Ask](s.said) == 1
		if asked != (i != 3) {
			t.Fatalf("job %s: asked %t", id, asked)
		}
		if asked {
			ask := the[protocol.Ask](s)
			s.answer(protocol.Answer{Round: ask.Round, Job: ask.Job, Fault: protocol.Failed})
		}
	}
}

func TestNobodyIsAskedWithoutNeed(t *testing.T) {
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
		s.said = nil
		if s.sell("job"); count[protocol.Ask](s.said) != 0 || count[protocol.Award](s.said) != 1 {
			t.Errorf("%s: said %+v", tc.name, s.said)
		}
	}
}

// When a job is to be paused was reckoned by the grid of the site that the rule chose.
func TestAnAwardThatAJudgeMovesIsNotPausedByTheGridOfAnotherSite(t *testing.T) {
	for site, want := range map[string]protocol.Time{"oslo": noon.Add(time.Hour), "lyon": 0} {
		k := New(Config{}, &soonest{})
		k.advisor.open = 1
		r := ruling{lot: &lot{}, is: auction.Decision{Verdict: auction.Award, Site: "oslo", Pause: noon.Add(time.Hour)}, choices: []protocol.Choice{{Site: site}}}
		k.judged(noon, &r, 0, "")
		if r.is.Site != site || r.is.Pause != want {
			t.Errorf("chosen %s: it is awarded to %s, to pause at %v; want %v", site, r.is.Site, r.is.Pause, want)
		}
	}
}
