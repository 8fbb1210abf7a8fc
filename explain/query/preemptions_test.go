package query

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// addIdleReport says that a site has so many idle GPUs, some of no use.
func (s *runBuilder) addIdleReport(site string, all, useless protocol.Milli) {
	s.addMessage(protocol.AgentParty(site), protocol.Coordinator, protocol.Bids{Round: 99, Idle: all, FragmentedGPUs: useless})
}

func TestFragmentsAreAsTheSitesReported(t *testing.T) {
	s := day()
	s.addIdleReport("oslo", 6000, 1500)
	s.addIdleReport("lyon", 8000, 8000)
	s.addIdleReport("bern", 4000, 4001) // which cannot be
	at := s.now
	s.now = s.now.Add(time.Hour)
	s.addIdleReport("oslo", 2000, 0)
	s.now = s.now.Add(time.Minute)
	s.addIdleReport("lyon", 8000, 8000)
	l := s.buildDataset()
	for _, tc := range []struct {
		q, site string
		share   int64
	}{
		{"how fragmented is oslo at " + at.String() + "?", "oslo", 250},
		{"how fragmented is oslo?", "oslo", 0},
		{"fragmentation of lyon", "lyon", 1000},
		{"which site is most fragmented now", "lyon", 1000},
	} {
		a := l.AnswerQuestion(tc.q)
		if got := figureOfAnswer(t, a, "site/"+tc.site, "fragmentation"); got != tc.share {
			t.Errorf("%s: %d; want %d: %q", tc.q, got, tc.share, a.Text)
		}
		if a.Chart == nil || !strings.Contains(a.Text[0], tc.site) {
			t.Errorf("%s: a chart: %v, %q", tc.q, a.Chart != nil, a.Text)
		}
	}
	if a := l.AnswerQuestion("how fragmented is bern"); a.Kind != "absent" || len(a.Figures) > 0 {
		t.Errorf("of a site that told nothing that can be true: %s %q", a.Kind, a.Text)
	}
}

func TestADayIsComparedWithTheOneBefore(t *testing.T) {
	s := day()
	if a := s.buildDataset().AnswerQuestion("compare with yesterday"); a.Kind != "absent" || !strings.Contains(a.Text[0], "the record begins at 13 Apr 12:00") {
		t.Errorf("a record of one day: %s %q", a.Kind, a.Text)
	}
	s.now = noon.Add(23 * time.Hour)
	j := task("next", "vision")
	j.Arrival, j.Deadline = s.now, s.now.Add(9*time.Hour)
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(5, j)
	s.addOffer("oslo", 5, "next", "", option(23*time.Hour, 1, 70))
	s.addAward("oslo", 5, j, option(23*time.Hour, 1, 70), "o1", []int{0, 1}, time.Hour)
	s.now = s.now.Add(12 * time.Hour)
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.SiteUsage{Hour: s.now})
	done := bodies[protocol.UsageReport](s)
	var idle protocol.Milligrams
	for _, m := range bodies[protocol.SiteUsage](s) {
		idle += m.Idle.Carbon
	}
	l := s.buildDataset()
	a := l.AnswerQuestion("how did today compare with yesterday?")
	for _, tc := range []struct {
		day, name string
		want      int64
	}{
		{"2022-04-13", "carbon", int64(done[0].Carbon+done[1].Carbon) + int64(idle)}, {"2022-04-14", "carbon", int64(done[2].Carbon)},
		{"2022-04-13", "jobs that arrived", 5}, {"2022-04-14", "jobs that arrived", 1}, {"2022-04-13", "late jobs", 1}, {"2022-04-13", "holds", 1}, {"2022-04-14", "awards", 1},
	} {
		if got := figureOfAnswer(t, a, "day/"+tc.day, tc.name); got != tc.want {
			t.Errorf("%s of %s: %d; want %d", tc.name, tc.day, got, tc.want)
		}
	}
	if a.Chart == nil || a.Chart.Kind != "compare" || len(a.Cites) != 3 {
		t.Errorf("chart %+v, from %q", a.Chart, a.Cites)
	}
	if of := l.AnswerQuestion("carbon against yesterday at lyon"); figureOfAnswer(t, of, "day/2022-04-14", "carbon") != 0 || of.Query.Site != "lyon" {
		t.Errorf("of lyon: %q", of.Text)
	}
}

// Both days are counted up to the same hour, idle draw too, which of the hour that is not
// over is not told yet.
func TestADayThatIsNotOverIsComparedByWholeHours(t *testing.T) {
	midnight := noon.Add(-12 * time.Hour)
	s := &runBuilder{now: midnight}
	s.addRegistration("oslo")
	for h := range 37 {
		s.now = midnight.Add(time.Duration(h+1) * time.Hour)
		s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.SiteUsage{Hour: s.now.Add(-time.Hour), Total: 7, Idle: protocol.Usage{IT: 7, Energy: 7, Carbon: 1000}})
	}
	s.now = s.now.Add(40 * time.Minute)
	s.addCall(9)
	a := s.buildDataset().AnswerQuestion("compare with yesterday")
	was, is := figureOfAnswer(t, a, "day/2022-04-13", "carbon"), figureOfAnswer(t, a, "day/2022-04-14", "carbon")
	if was != 13_000 || is != 13_000 || !strings.Contains(a.Read, "count up to 14 Apr 13:00") {
		t.Errorf("%d against %d; want 13 hours of both: %s", is, was, a.Read)
	}
}

// Where prices were negative, half of what was earned is no half of a cost.
func TestNothingIsInPartsOfACostBelowNothing(t *testing.T) {
	for _, tc := range []struct {
		now, was float64
		want     string
	}{{5, 10, "-50.0 %"}, {-5, 10, "-150.0 %"}, {-5, -10, "not comparable"}, {5, -10, "not comparable"}, {5, 0, "not comparable"}} {
		got := changePart("cost", tc.now, tc.was)
		if got.renderText() != tc.want || (len(figuresIn(got)) > 0) != strings.Contains(tc.want, "%") {
			t.Errorf("%v against %v: %q, %v; want %q", tc.now, tc.was, got.renderText(), figuresIn(got), tc.want)
		}
	}
}

// A job that its site gives up is listed with what that award cost and what the next
// one does; before that no preemption is reported.
func TestALostAwardIsListedWithItsCost(t *testing.T) {
	s := day()
	if a := s.buildDataset().AnswerQuestion("who preempted eval-2, by which rule, at what price?"); figureOfAnswer(t, a, "run", "lost") != 0 || len(a.Table.Rows) != 0 {
		t.Errorf("nothing was lost: %q", a.Text)
	}
	epoch := s.epoch // of eval-2 at bern
	s.addMessage(protocol.AgentParty("bern"), protocol.Coordinator, protocol.Decline{Job: "eval-2", Epoch: epoch, Why: protocol.Reason{Code: protocol.Evicted}})
	four := task("eval-2", "vision")
	s.addCall(6, four)
	s.addOffer("oslo", 6, "eval-2", "", option(6*time.Hour, 5, 40))
	s.addAward("oslo", 6, four, option(6*time.Hour, 5, 40), "o1", []int{0}, 0)
	a := s.buildDataset().AnswerQuestion("who preempted eval-2, by which rule, at what price?")
	if figureOfAnswer(t, a, "run", "lost") != 1 || figureOfAnswer(t, a, "job/eval-2", "next-cost") <= figureOfAnswer(t, a, "job/eval-2", "lost-cost") || len(a.Cites) != 2 {
		t.Errorf("%q %v, from %q", a.Text, a.Table.Rows, a.Cites)
	}
}

func TestPrioritiesAreCounted(t *testing.T) {
	s := day()
	j := task("urgent", "speech")
	j.Priority = 50
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	a := s.buildDataset().AnswerQuestion("what do priority, class and factor each do?")
	if figureOfAnswer(t, a, "priority/50", "jobs") != 1 || figureOfAnswer(t, a, "priority/0", "jobs") != 5 || a.Table.Rows[0][0] != "50" {
		t.Errorf("%q %v", a.Text, a.Table.Rows)
	}
	if a := s.buildDataset().AnswerQuestion("what is the priority of job urgent"); figureOfAnswer(t, a, "job/urgent", "priority") != 50 {
		t.Errorf("%q", a.Text)
	}
}

func TestAFullHomeIsExplained(t *testing.T) {
	a := day().buildDataset().AnswerQuestion("lyon is full: why did it not overflow?")
	if figureOfAnswer(t, a, "site/lyon", "jobs") != 4 || figureOfAnswer(t, a, "site/lyon", "at-home") != 1 || figureOfAnswer(t, a, "site/lyon", "elsewhere") != 1 || figureOfAnswer(t, a, "site/lyon", "held") != 1 {
		t.Errorf("%q %+v", a.Text, a.Figures)
	}
}

// A text that asks several things gets an answer to each, or none at all.
func TestSeveralQuestionsAreAnsweredInTurn(t *testing.T) {
	l := day().buildDataset()
	for _, tc := range []struct {
		text string
		asks []string
	}{
		{"where is it cheapest, and what does waiting save?", []string{"cheapest", "saved"}},
		{"is tenant vision getting its fair share? what do priority, class and factor each do?", []string{"shares", "no-priority"}},
		{"where did train-1 run, when did it start, and how long did it wait?", []string{"where", "times", "waited"}},
		{"what happened from 12:00 to 13:00, what changed, show it as a graph", []string{"activity"}},
		{"why oslo and not lyon for train-1", []string{"why-not"}},
		{"carbon and cost by site", []string{"bill"}},
	} {
		a := l.AnswerQuestion(tc.text)
		var got []string
		for _, x := range append([]Answer{a}, a.More...) {
			if x.Query != nil {
				got = append(got, x.Query.Ask)
			}
		}
		if !slices.Equal(got, tc.asks) {
			t.Errorf("%q asks %q; want %q: %s %q", tc.text, got, tc.asks, a.Kind, a.Text)
		}
	}
	for _, text := range []string{
		"where did train-1 run, and why did it frobnicate?", "late jobs, and what of nobody?", `why train-1? why "no, and what does waiting save"?`,
	} {
		if a := l.AnswerQuestion(text); a.Kind == "answer" {
			t.Errorf("%q is answered: %q", text, a.Read)
		}
	}
}

// A site says that it gives a job back until it is answered; it gave it back once.
func TestADeclinedAwardIsCountedOnce(t *testing.T) {
	s := day()
	for range 3 {
		s.addMessage(protocol.AgentParty("bern"), protocol.Coordinator, protocol.Decline{Job: "eval-2", Epoch: s.epoch, Why: protocol.Reason{Code: protocol.Evicted}})
		s.now = s.now.Add(3 * time.Second)
	}
	if got := figureOfAnswer(t, s.buildDataset().AnswerQuestion("what happened to eval-2"), "job/eval-2", "declines"); got != 1 {
		t.Errorf("it was given back %d times; want 1", got)
	}
}

// Who submits another job under a known id is refused. That decides nothing on the
// job that has the id.
func TestARefusedDuplicateIsNoDecisionOnTheJob(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo")
	j := task("train-9", "vision")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(1, j)
	s.addOffer("oslo", 1, j.ID, protocol.NoCapacity)
	s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: j.ID, Until: after(time.Hour), Why: protocol.Reason{Code: protocol.NoBids}})
	no := s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Reject{Job: j.ID, Why: protocol.Reason{Code: protocol.Duplicate}})
	l := s.buildDataset()
	if a := l.AnswerQuestion("what happened to train-9"); figureOfAnswer(t, a, "job/train-9", "decisions") != 1 {
		t.Errorf("%q", a.Text)
	}
	if a := l.AnswerQuestion("stuck jobs"); figureOfAnswer(t, a, "run", "stuck") != 1 || a.Table.Rows[0][5] != "D-2" {
		t.Errorf("%q %v; want it stuck by D-2, since no site has an option", a.Text, a.Table.Rows)
	}
	if a := l.AnswerQuestion("explain " + decisionLabel(no)); !strings.Contains(strings.Join(a.Text, " "), "Another submission") || strings.Contains(strings.Join(a.Text, " "), "held") {
		t.Errorf("explain %s: %q", decisionLabel(no), a.Text)
	}
}

// A site whose clock is wrong does not say what time it is in a federation that
// runs, nor does a job that says it comes next year. In a replay there is one
// clock.
func TestAWrongClockIsNotTheTime(t *testing.T) {
	for _, wrong := range []protocol.Time{1, noon.Add(365 * 24 * time.Hour)} {
		s := day()
		s.addMessage(protocol.InputRecorder, protocol.InputRecorder, protocol.InputLog{Incarnation: 1})
		end := s.now.Add(time.Minute)
		for _, site := range []string{"oslo", "lyon"} {
			s.now = end
			s.addMessage(protocol.AgentParty(site), protocol.Coordinator, protocol.SiteUsage{Hour: end.Floor(time.Hour)})
		}
		s.now = wrong
		s.addMessage(protocol.AgentParty("bern"), protocol.Coordinator, protocol.SiteUsage{Hour: wrong.Floor(time.Hour)})
		l := s.buildDataset()
		if first, last := l.firstTime(), l.lastTime(); first != noon || last != end {
			t.Errorf("with a clock at %s the record goes from %s to %s; want %s to %s", wrong, first, last, noon, end)
		}
		if a := l.AnswerQuestion("carbon today"); a.Kind != "answer" || dateText(a.Query.From) != "2022-04-13" {
			t.Errorf("with a clock at %s: %s %q", wrong, a.Kind, a.Text)
		}
	}
	s := day()
	j := task("next-year", "vision")
	j.Arrival, j.Deadline = noon.Add(365*24*time.Hour), noon.Add(366*24*time.Hour)
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	if a := s.buildDataset().AnswerQuestion("carbon today"); a.Kind != "answer" || dateText(a.Query.From) != "2022-04-13" {
		t.Errorf("with a job of next year: %s %q", a.Kind, a.Text)
	}
}

// A site that declined a job by a clock that is ahead does not take it from the site that
// was awarded it since.
func TestAJobBelongsToTheSiteThatHasIt(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo", "lyon")
	j := task("train-1", "vision")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addAward("oslo", 1, j, option(time.Hour, 1, 50), "", nil, 0)
	s.now = after(10 * time.Minute)
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Decline{Job: j.ID, Epoch: 1, Why: protocol.Reason{Code: protocol.CapacityTaken}})
	s.now = after(5 * time.Minute)
	s.addAward("lyon", 2, j, option(time.Hour, 1, 50), "", nil, 0)
	s.now = after(20 * time.Minute)
	s.addCall(3)
	if a := s.buildDataset().AnswerQuestion("which jobs are waiting at lyon"); figureOfAnswer(t, a, "run", "waiting") != 1 {
		t.Errorf("%q", a.Text)
	}
}
