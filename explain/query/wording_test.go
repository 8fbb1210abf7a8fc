package query

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// Who asks for payments is shown them, and no idle draw is in them.
func TestPaymentsAreShown(t *testing.T) {
	l := day().buildDataset()
	for q, who := range map[string]string{"payments by tenant": "tenant/vision", "payments by site": "site/oslo"} {
		a := l.AnswerQuestion(q)
		i := slices.Index(a.Table.Head, "paid $")
		if i < 0 {
			t.Fatalf("%s: the columns are %q", q, a.Table.Head)
		}
		paid := format.FormatDollars(protocol.Microdollars(figureOfAnswer(t, a, who, "paid")))
		if !slices.ContainsFunc(a.Table.Rows, func(row []string) bool { return row[0] == who[strings.Index(who, "/")+1:] && row[i] == paid }) {
			t.Errorf("%s: %q; want %s of %s", q, a.Table.Rows, paid, who)
		}
		if text := strings.Join(a.Text, " "); strings.Contains(text, "idle") || !strings.Contains(text, "was paid to sites for jobs") {
			t.Errorf("%s: %q; idle draw is in no payment", q, a.Text)
		}
	}
}

// A job that was paused, or given up by its site, was there all the same; one that was
// accepted has not run there yet.
func TestWhereAJobWasBeforeIsNotDenied(t *testing.T) {
	l := paused().buildDataset()
	holds(t, l, "why did resumes run at lyon", "was awarded to lyon in round 2", "did not")
	holds(t, l, "why did halved run at lyon", "It did not", "")
	s, j := unanswered()
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: "train-1", Epoch: s.epoch, Start: s.now})
	holds(t, s.buildDataset(), "why did train-1 run at lyon", "It did not: job train-1 is at oslo, which accepted it", "ran at oslo")
	s.now = s.now.Add(time.Minute)
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Decline{Job: "train-1", Epoch: s.epoch, Why: protocol.Reason{Code: protocol.Evicted}})
	s.addCall(2, j)
	s.addOffer("lyon", 2, "train-1", "", option(0, 2, 50))
	s.addAward("lyon", 2, j, option(0, 2, 50), "l1", []int{0, 1}, time.Hour)
	holds(t, s.buildDataset(), "why did train-1 run at oslo", "oslo declined: it was evicted", "did not")
}

// What a site accepted has not run there by that, and a part that was paused has.
func TestWhatIsToRunIsNotCountedAsRun(t *testing.T) {
	s, _ := unanswered()
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: "train-1", Epoch: s.epoch, Start: s.now.Add(8 * time.Hour)})
	holds(t, s.buildDataset(), "how many jobs ran at oslo", "1 job is at oslo or was: 1 planned", "ran at")
	l := paused().buildDataset()
	holds(t, l, "how many jobs ran at lyon", "1 job ran at lyon: 1 done", "")
	holds(t, l, "how many jobs ran at oslo", "2 jobs ran at oslo: 1 done and 1 pending", "")
	holds(t, s.buildDataset(), "what is ahead of train-1", "0 jobs held GPUs at oslo at 13 Apr 11:59:59", "oslo at 13 Apr 19")
}

// What started as early as any site offered did not wait, and what another coordinator
// awarded was priced by nobody here: neither is told as a saving.
func TestOnlyWaitingSavesByWaiting(t *testing.T) {
	s, j := &runBuilder{now: noon}, task("train-1", "vision")
	s.addRegistration("lyon", "oslo")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(1, j)
	s.addOffer("lyon", 1, "train-1", "", option(0, 1, 50))
	s.addOffer("oslo", 1, "train-1", "", option(0, 3, 90), option(time.Hour, 1, 95))
	held := *s
	s.addAward("oslo", 1, j, option(0, 3, 90), "o1", []int{0, 1}, time.Hour)
	l := s.buildDataset()
	holds(t, l, "what did waiting save for train-1", "Job train-1 did not wait for a later start than the earliest that was offered", "saved job")
	if a := l.AnswerQuestion("what did waiting save"); figureOfAnswer(t, a, "run", "saved-cost") != 0 || figureOfAnswer(t, a, "run", "saved-carbon") != 0 {
		t.Errorf("%q", a.Text)
	}
	held.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: "train-1", Why: protocol.Reason{Code: protocol.CheaperLater}})
	held.addAward("oslo", 7, j, option(time.Hour, 1, 50), "o1", []int{0, 1}, time.Hour)
	holds(t, held.buildDataset(), "what did waiting save for train-1", "That is not known: the round of its award is not in this record", "saved job")
	if a := held.buildDataset().AnswerQuestion("what did waiting save"); figureOfAnswer(t, a, "run", "jobs") != 0 {
		t.Errorf("%q; want nothing of an award whose prices nobody knows", a.Text)
	}
}

// More is not told as less by a sign.
func TestNothingIsSavedBelowNothing(t *testing.T) {
	s, j := &runBuilder{now: noon}, task("train-1", "vision")
	s.addRegistration("oslo")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(1, j)
	s.addOffer("oslo", 1, "train-1", "", option(time.Hour, 2, 60), option(0, 1, 50))
	s.addAward("oslo", 1, j, option(time.Hour, 2, 60), "o1", []int{0, 1}, time.Hour)
	l := s.buildDataset()
	holds(t, l, "what did waiting save for train-1", "Waiting saved job train-1 nothing: what it got in the end cost $0.0110 more, and 0.0100 kg of carbon more.", " -")
	holds(t, l, "what did waiting save", "Over 1 job, waiting saved nothing: it took 0.0100 kg of carbon more, and cost $0.0110 more, delay and lateness included.", " -")
}

// Why a job was refused is told by its refusal, and not by who made it an offer.
func TestAnswersGiveTheReasonOfARefusal(t *testing.T) {
	s, _ := unanswered()
	s.now = s.now.Add(time.Minute)
	s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Reject{Job: "train-1", Why: protocol.Reason{Code: protocol.Cancelled}})
	holds(t, s.buildDataset(), "why was train-1 refused", "Job train-1 was cancelled at 13 Apr 12:01.", "")
	holds(t, day().buildDataset(), "why was eval-1 refused", "Job eval-1 was refused at 13 Apr 12:00:02: the job makes no sense.", "")
}

// A job that is past its deadline and has not ended is late by now, be it not among
// those that ended.
func TestJobsPastTheirDeadlineAreNotHidden(t *testing.T) {
	l := day().buildDataset() // eval-2 and eval-3 were due at 15:00; the record ends at 16:30
	a := l.AnswerQuestion("late jobs")
	if got := figureOfAnswer(t, a, "run", "past-deadline"); got != 2 || !strings.Contains(strings.Join(a.Text, " "), "2 more had not ended at 13 Apr 16:30, and are past their deadline") {
		t.Errorf("%q; want two more", a.Text)
	}
	if got := figureOfAnswer(t, l.AnswerQuestion("late jobs of vision"), "run", "past-deadline"); got != 1 {
		t.Errorf("of vision: %d; want one", got)
	}
	holds(t, l, "late jobs from 12:00 to 13:00", "0 of 0 jobs", "more had")
	holds(t, l, "summary", "1 job was late. 2 more had not ended at 13 Apr 16:30, and are past their deadline.", "")
}

// Where no round was called, no site missed one.
func TestNoSiteMissesARoundThatWasNotCalled(t *testing.T) {
	holds(t, day().buildDataset(), "silent agents from 13:30 to 13:40", "No round was called in that time.", "answered all")
}

func TestASummaryTellsDecisionsByKind(t *testing.T) {
	a := day().buildDataset().AnswerQuestion("how many awards were made")
	if figureOfAnswer(t, a, "run", "awards") != 3 || figureOfAnswer(t, a, "run", "holds") != 1 || figureOfAnswer(t, a, "run", "refuses") != 1 || !strings.Contains(strings.Join(a.Text, " "), "said 5 decisions: 3 awards, 1 hold and 1 refusal") {
		t.Errorf("%q", a.Text)
	}
}

// Who asks for a forecast of the price is told it.
func TestAForecastOfThePriceIsOfThePrice(t *testing.T) {
	holds(t, day().buildDataset(), "price forecast for oslo at 15:00", "oslo first said 41.0 g/kWh and $95.00/MWh", "")
}

// In a federation that runs, today is the day that it is, be there no job yet.
func TestTodayIsTheDayThatItIsWhereOneRuns(t *testing.T) {
	s := day()
	s.now = after(15 * time.Hour) // three in the morning
	s.addMessage(protocol.Coordinator, "", protocol.CallForBids{Round: 9})
	if a := s.buildDataset().AnswerQuestion("carbon today"); a.Query == nil || dateText(a.Query.From) != "2022-04-13" {
		t.Errorf("of a replay: %s %q", a.Kind, a.Text)
	}
	s.addMessage(protocol.InputRecorder, protocol.InputRecorder, protocol.InputLog{Incarnation: 1})
	l := s.buildDataset()
	for q, from := range map[string]string{"carbon today": "2022-04-14", "carbon yesterday": "2022-04-13"} {
		if a := l.AnswerQuestion(q); a.Query == nil || dateText(a.Query.From) != from {
			t.Errorf("%s: %s %q; want %s", q, a.Kind, a.Text, from)
		}
	}
	if a := l.AnswerQuestion("compare with yesterday"); !strings.Contains(a.Read, "today is 2022-04-14") {
		t.Errorf("%q", a.Read)
	}
}

// A rule whose time is over is not in force.
func TestAnExpiredRuleIsNotInForce(t *testing.T) {
	s := day()
	s.addMessage(protocol.Coordinator, "", protocol.Policy{Version: 3, By: "ada", Rules: []protocol.Rule{
		{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"bern"}, To: noon}, {ID: "R-2", Kind: protocol.Forbid, Sites: []string{"lyon"}},
	}})
	l := s.buildDataset()
	holds(t, l, "rules in force", "Rules of operators, version 3: R-2: jobs may not run at lyon. R-1 is over: jobs may not run at bern", "")
	for _, q := range []string{"what does R-2 do", "is R-1 in force"} {
		holds(t, l, q, "R-2: jobs may not run at lyon. R-1 is over: jobs may not run at bern", "No rules")
	}
	if a := day().buildDataset().AnswerQuestion("what does R-2 do"); a.Kind != "absent" {
		t.Errorf("%s %q", a.Kind, a.Text)
	}
	if got := figureOfAnswer(t, l.AnswerQuestion("rules in force"), "run", "rules"); got != 1 {
		t.Errorf("%d rules are in force; want one", got)
	}
}

// A run with quotas says them, where one without says that there are none.
func TestQuotasInForceAreSaid(t *testing.T) {
	s := day()
	s.addMessage(protocol.Coordinator, "", protocol.Policy{Version: 3, By: "ada", Quotas: []protocol.Quota{{Name: "vision", Min: 8000, Max: 24000, Weight: 1000}}})
	l := s.buildDataset()
	for _, q := range []string{"how much quota has vision left", "rules in force"} {
		holds(t, l, q, "GPUs are divided by quotas: vision min 8 max 24 weight 1", "has no quotas")
	}
	if a := day().buildDataset().AnswerQuestion("how much quota has vision left"); a.Kind != "absent" {
		t.Errorf("%s %q", a.Kind, a.Text)
	}
}

// Where a year was asked for that is not in the record, the record's is told.
func TestTimesOfTheRecordHaveTheirYear(t *testing.T) {
	if a := day().buildDataset().AnswerQuestion("carbon on 13 april 2021"); a.Kind != "not-found" || !strings.Contains(a.Text[0], "from 2022-04-13T12:00:00Z to 2022-04-13T16:30:00Z") {
		t.Errorf("%s %q", a.Kind, a.Text)
	}
}

// What an award cost that another coordinator made is not known here, and not nothing.
func TestALostAwardWithoutItsRoundHasNoCost(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo")
	j := task("train-1", "vision")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addAward("oslo", 7, j, option(0, 1, 50), "", nil, 0)
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Decline{Job: "train-1", Epoch: s.epoch, Why: protocol.Reason{Code: protocol.Evicted}})
	a := s.buildDataset().AnswerQuestion("preemption of job train-1")
	if len(a.Table.Rows) != 1 || a.Table.Rows[0][3] != "not known" || slices.ContainsFunc(a.Figures, func(f Figure) bool { return f.Name == "lost-cost" }) {
		t.Errorf("%q %+v", a.Table.Rows, a.Figures)
	}
}

// What was so at a time does not change by what is said later: a job that its site lost
// had its GPUs until then.
func TestAJobThatWasLostHeldItsPlaceBefore(t *testing.T) {
	for _, end := range []protocol.Body{
		protocol.Decline{Job: "train-1", Epoch: 1, Why: protocol.Reason{Code: protocol.Evicted}}, protocol.DecommissionSite{Site: "oslo", By: "ada"},
	} {
		s, _ := unanswered()
		s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: "train-1", Epoch: s.epoch, Start: s.now})
		s.now = after(2 * time.Hour)
		who := protocol.AgentParty("oslo")
		if _, gone := end.(protocol.DecommissionSite); gone {
			who = protocol.OperatorAPI
		}
		s.addMessage(who, protocol.Coordinator, end)
		s.now = after(3 * time.Hour)
		s.addRegistration("lyon")
		l := s.buildDataset()
		for at, waiting := range map[string]int64{"13:00": 0, "14:30": 1} {
			if got := figureOfAnswer(t, l.AnswerQuestion("which jobs were waiting at "+at), "run", "waiting"); got != waiting {
				t.Errorf("%T: at %s %d were waiting; want %d", end, at, got, waiting)
			}
			if _, gone := end.(protocol.DecommissionSite); gone && waiting > 0 {
				continue // it has none any more
			}
			if got := figureOfAnswer(t, l.AnswerQuestion("free gpus at oslo at "+at), "site/oslo", "free-V100"); got != 6000+2000*waiting {
				t.Errorf("%T: at %s %d thousandths were free", end, at, got)
			}
		}
	}
}
