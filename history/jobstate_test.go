package history

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A step is what one party says, after some time.
type step struct {
	after time.Duration // since noon
	who   protocol.Party
	to    protocol.Party
	body  protocol.Body
}

// steps of a job as a coordinator's log has them.
var (
	toSubmit  = step{0, protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job("a")}}
	toHold    = step{time.Minute, protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: "a", Until: at(time.Hour), Site: "oslo", Start: at(3 * time.Hour), Why: protocol.Reason{Code: protocol.CheaperLater}}}
	toAward   = step{2 * time.Minute, protocol.Coordinator, "agent/oslo", protocol.Award{Round: 2, Job: "a", Epoch: 1, Option: option(3*time.Hour, 1, 1)}}
	toAccept  = step{2 * time.Minute, "agent/oslo", protocol.Coordinator, protocol.Accept{Job: "a", Epoch: 1, Start: at(3 * time.Hour)}}
	toStart   = step{2 * time.Hour, "agent/oslo", protocol.Coordinator, protocol.Started{Job: "a", Epoch: 1, Node: "n1", Devices: []int{2}}}
	toStop    = step{3*time.Hour + time.Minute, protocol.Coordinator, "agent/oslo", protocol.Cancel{Job: "a", Epoch: 1}}
	toReport  = step{4 * time.Hour, "agent/oslo", protocol.Coordinator, protocol.UsageReport{Job: "a", Epoch: 1, Started: at(3 * time.Hour), Ended: at(4 * time.Hour), Node: "n1"}}
	toSettle  = step{4 * time.Hour, protocol.Coordinator, "", protocol.Settlement{Job: "a", Site: "oslo"}}
	toPreempt = step{3*time.Hour + time.Minute, "agent/oslo", protocol.Coordinator, protocol.Preempted{Job: "a", Epoch: 1, For: "b", Why: protocol.Reason{Code: protocol.StrongerClaim}}}
)

// reject is the market's refusal of the job.
func reject(after time.Duration, code protocol.Code) step {
	return step{after, protocol.Coordinator, protocol.Submitter, protocol.Reject{Job: "a", Why: protocol.Reason{Code: code}}}
}

// history returns a history of steps.
func historyOf(cfg Config, all ...step) *History {
	s := &stage{now: noon}
	s.hello("oslo", "lyon")
	for _, x := range all {
		s.now = at(x.after)
		s.say(x.who, x.to, x.body)
	}
	return s.book(cfg)
}

func TestAJobStandsAsPeopleKnowIt(t *testing.T) {
	failed := toReport.body.(protocol.UsageReport)
	failed.Failed = "exit code 3"
	part := toReport.body.(protocol.UsageReport)
	part.Left = time.Hour
	early := toAccept
	early.body = protocol.Accept{Job: "a", Epoch: 1, Start: at(time.Hour)}
	noPlan := toHold
	noPlan.body = protocol.Defer{Round: 1, Job: "a", Until: at(time.Hour), Why: protocol.Reason{Code: protocol.NoBids}}
	for _, c := range []struct {
		name  string
		steps []step
		now   time.Duration
		want  State
		site  string
		start time.Duration // since noon; 0: none
	}{
		{"submitted", []step{toSubmit}, time.Minute, Pending, "", 0},
		{"held without a plan", []step{toSubmit, noPlan}, 2 * time.Minute, Pending, "", 0},
		{"held with a plan", []step{toSubmit, toHold}, 2 * time.Minute, Planned, "oslo", 3 * time.Hour},
		{"awarded", []step{toSubmit, toHold, toAward}, 2 * time.Minute, Planned, "oslo", 3 * time.Hour},
		{"awarded, and not accepted when it was to start", []step{toSubmit, toAward}, 4 * time.Hour, Planned, "oslo", 3 * time.Hour},
		{"accepted", []step{toSubmit, toAward, toAccept}, time.Hour, Planned, "oslo", 3 * time.Hour},
		{"accepted for an earlier start", []step{toSubmit, toAward, early}, 2 * time.Hour, Running, "oslo", time.Hour},
		{"its planned start has come, and its site reports none", []step{toSubmit, toAward, toAccept}, 3 * time.Hour, Running, "oslo", 3 * time.Hour},
		{"its start was reported before it was planned", []step{toSubmit, toAward, toAccept, toStart}, 2 * time.Hour, Running, "oslo", 2 * time.Hour},
		{"to be stopped", []step{toSubmit, toAward, toAccept, toStop}, 3*time.Hour + time.Minute, Running, "oslo", 3 * time.Hour},
		{"declined", []step{toSubmit, toAward, {time.Hour, "agent/oslo", protocol.Coordinator, protocol.Decline{Job: "a", Epoch: 1}}}, time.Hour, Pending, "", 0},
		{"preempted", []step{toSubmit, toAward, toAccept, toPreempt}, 4 * time.Hour, Preempted, "", 0},
		{"preempted, and held with a plan", []step{toSubmit, toAward, toAccept, toPreempt, {4 * time.Hour, protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 3, Job: "a", Site: "lyon", Start: at(5 * time.Hour)}}}, 4 * time.Hour, Preempted, "lyon", 5 * time.Hour},
		{"paused", []step{toSubmit, toAward, toAccept, {4 * time.Hour, "agent/oslo", protocol.Coordinator, part}}, 4 * time.Hour, Pending, "", 0},
		{"reported", []step{toSubmit, toAward, toAccept, toReport}, 4 * time.Hour, Done, "oslo", 3 * time.Hour},
		{"settled", []step{toSubmit, toAward, toAccept, toReport, toSettle}, 5 * time.Hour, Done, "oslo", 3 * time.Hour},
		{"failed", []step{toSubmit, toAward, toAccept, {4 * time.Hour, "agent/oslo", protocol.Coordinator, failed}, toSettle}, 5 * time.Hour, Failed, "oslo", 3 * time.Hour},
		{"stopped, which killed its program", []step{toSubmit, toAward, toAccept, toStop, {4 * time.Hour, "agent/oslo", protocol.Coordinator, failed}, toSettle}, 5 * time.Hour, Cancelled, "oslo", 3 * time.Hour},
		{"cancelled before it ran", []step{toSubmit, toHold, reject(time.Hour, protocol.Cancelled)}, time.Hour, Cancelled, "", 0},
		{"ended with its site", []step{toSubmit, toHold, reject(time.Hour, protocol.SiteDecommissioned)}, time.Hour, Cancelled, "", 0},
		{"refused", []step{toSubmit, reject(time.Hour, protocol.NoSuchGPU)}, time.Hour, Refused, "", 0},
		{"reported as it cannot be", []step{toSubmit, toAward, toAccept, reject(4*time.Hour, protocol.ImpossibleBid)}, 4 * time.Hour, Failed, "", 0},
	} {
		for _, live := range []bool{false, true} {
			b := historyOf(Config{Live: live}, c.steps...)
			r, _ := b.LatestJob("a")
			got := b.JobStateNow(&r, at(c.now))
			var start protocol.Time
			if c.start != 0 {
				start = at(c.start)
			}
			if got.State != c.want || got.Site != c.site || got.Start != start || got.State.IsFinal() != slices.Contains([]State{Done, Failed, Cancelled, Refused}, c.want) {
				t.Errorf("%s (live: %v): %+v; want %s at %q from %v", c.name, live, got, c.want, c.site, start)
			}
			if n, _ := b.CountJobsAt(at(c.now)); n[c.want] != 1 || len(n) != 1 {
				t.Errorf("%s (live: %v): counted as %v", c.name, live, n)
			}
			if !live {
				if at := b.JobStateAt(&r, at(c.now)); at != got {
					t.Errorf("%s: at that instant %+v; now %+v", c.name, at, got)
				}
			}
			if stopping := c.name == "to be stopped"; stopping != (got.Stopping && !got.State.IsFinal()) {
				t.Errorf("%s: stopping is %v", c.name, got.Stopping)
			}
		}
	}
}

// At each instant a job stands as was known then.
func TestAJobStoodAsWasKnownThen(t *testing.T) {
	b := historyOf(Config{}, toSubmit, toHold, toAward, toAccept, toStart, toReport, toSettle)
	r, _ := b.LatestJob("a")
	for after, want := range map[time.Duration]State{
		-time.Minute: "", 0: Pending, time.Minute: Planned, 2 * time.Minute: Planned, time.Hour: Planned, 2 * time.Hour: Running, 4 * time.Hour: Done,
	} {
		if got := b.JobStateAt(&r, at(after)); got.State != want {
			t.Errorf("at %v it was %+v; want %s", at(after), got, want)
		}
	}
}

// A site that reports starts has a job running only from then on, whatever was planned.
func TestALateStartIsNotTakenForARun(t *testing.T) {
	b := historyOf(Config{Live: true}, toSubmit, toAward, toAccept, toStart, toReport, toSettle,
		step{5 * time.Hour, protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job("b")}},
		step{5 * time.Hour, protocol.Coordinator, "agent/oslo", protocol.Award{Round: 3, Job: "b", Epoch: 1, Option: option(5*time.Hour, 1, 1)}},
		step{5 * time.Hour, "agent/oslo", protocol.Coordinator, protocol.Accept{Job: "b", Epoch: 1, Start: at(5 * time.Hour)}})
	r, _ := b.LatestJob("b")
	if got := b.JobStateNow(&r, at(6*time.Hour)); got.State != Planned {
		t.Errorf("an hour after its planned start, not reported: %+v", got)
	}
	a, _ := historyOf(Config{Live: true}, toSubmit, toAward, toAccept, toStart).LatestJob("a")
	if wait, known := a.WaitTime(); a.Run.Node != "n1" || !slices.Equal(a.Run.Devices, []int{2}) || !known || wait != 2*time.Hour {
		t.Errorf("of a reported start is known: %+v, waited %v", a.Run, wait)
	}
	if len(b.problems) > 0 {
		t.Error(b.problems)
	}
}

// Who is before a job is known: awards and plans of held jobs at the same site, by start.
func TestAPlannedJobHasAPlaceInTheQueue(t *testing.T) {
	submit := func(id protocol.JobID) step {
		return step{0, protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: job(id)}}
	}
	hold := func(id protocol.JobID, site string, start time.Duration) step {
		return step{time.Minute, protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: id, Site: site, Start: at(start)}}
	}
	all := []step{submit("a"), submit("b"), submit("c"), submit("d"), submit("e"), hold("b", "oslo", time.Hour), hold("c", "oslo", 4*time.Hour), hold("d", "lyon", time.Hour), hold("e", "oslo", time.Hour), toAward, toAccept}
	for _, live := range []bool{false, true} {
		q := historyOf(Config{Live: live}, all...).SiteQueuesNow(at(2 * time.Minute))
		if !slices.Equal(q["oslo"], SiteQueue{"b", "e", "a", "c"}) || !slices.Equal(q["lyon"], SiteQueue{"d"}) {
			t.Fatalf("live %v: %v", live, q)
		}
		if place, before := q["oslo"].PlaceOf("a"); place != 3 || !slices.Equal(before, []protocol.JobID{"b", "e"}) {
			t.Errorf("place %d after %v", place, before)
		}
		if place, before := q["lyon"].PlaceOf("a"); place != 0 || len(before) != 0 {
			t.Errorf("where it is not: place %d after %v", place, before)
		}
	}
	if q := historyOf(Config{}, all...).SiteQueuesAt(noon); len(q) != 0 {
		t.Errorf("before anything was planned: %v", q)
	}
}

// What the plan of a hold saves is known in a live view, too, which keeps no bids.
func TestAHoldSaysWhatItsPlanSaves(t *testing.T) {
	for _, live := range []bool{false, true} {
		s := twoRounds()
		b := New(Config{Live: live})
		for _, m := range s.said {
			b.AddMessage(m)
			if d, held := m.Body.(protocol.Defer); held {
				r, _ := b.LatestJob(d.Job)
				saved, ok := r.SavingOfHold()
				// An hour later it costs a cent and 50 g less, at 0.1 dollars per kg, and waits an hour longer.
				if whole, _ := twoRounds().book(Config{}).LatestJob(d.Job); !ok || saved <= 0 || saved != whole.FullRounds[0].Answers[2].Options[1].Terms.Total()-whole.FullRounds[0].Answers[2].Options[0].Terms.Total() {
					t.Errorf("live %v: it saves %v, %v", live, saved, ok)
				}
			}
		}
		if live {
			for _, e := range b.jobs {
				if e.last != nil {
					t.Errorf("the bids for %s are kept", e.rec.Job.ID)
				}
			}
		}
	}
}

func TestAJobHasEvents(t *testing.T) {
	again := toHold
	again.after = 90 * time.Second
	for _, c := range []struct {
		steps []step
		want  []JobEventKind
	}{
		{[]step{toSubmit, toHold, again, toAward, toAccept, toStart, toReport, toSettle}, []JobEventKind{EventSubmitted, EventHeld, EventAwarded, EventAccepted, EventStarted, EventEnded, EventSettled}},
		{[]step{toSubmit, toHold, reject(time.Hour, protocol.Cancelled)}, []JobEventKind{EventSubmitted, EventHeld, EventCancelled}},
		{[]step{toSubmit, reject(time.Hour, protocol.NoSuchGPU)}, []JobEventKind{EventSubmitted, EventRefused}},
		{[]step{toSubmit, toAward, toAccept, toStop, toStop, toPreempt}, []JobEventKind{EventSubmitted, EventAwarded, EventAccepted, EventCancelRequested, EventPreempted}},
		{[]step{toSubmit, toAward, toAccept, {time.Hour, protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"}}}, []JobEventKind{EventSubmitted, EventAwarded, EventAccepted, EventDecommissioned}},
	} {
		for _, live := range []bool{false, true} {
			r, _ := historyOf(Config{Live: live}, c.steps...).LatestJob("a")
			var got []JobEventKind
			for _, e := range r.Events {
				got = append(got, e.Kind)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("live %v: %v; want %v", live, got, c.want)
			}
			if e := r.Events[1]; e.Kind == EventHeld && len(c.steps) > 4 && (e.Times != 2 || e.First != at(time.Minute) || e.At != at(90*time.Second)) {
				t.Errorf("held twice: %+v", e)
			}
		}
	}
}

// In a live view a job that is held for months has as many events as one that is held for an hour; a
// record that is read to its end has all.
func TestEventsOfAJobAreBounded(t *testing.T) {
	r, whole := JobRecord{live: true}, JobRecord{}
	for i := range 10 * keptJobEvents {
		e := JobEvent{Kind: EventHeld, At: at(time.Duration(i) * time.Minute), Site: string(rune('a' + i%2))}
		r.addEvent(e)
		whole.addEvent(e)
	}
	if n := len(whole.Events); n != 10*keptJobEvents {
		t.Errorf("%d events of a whole record; want all %d", n, 10*keptJobEvents)
	}
	if n := len(r.Events); n != keptJobEvents || r.Events[0].At != noon || r.Events[n-1].At != at((10*keptJobEvents-1)*time.Minute) {
		t.Errorf("%d events, from %v to %v", n, r.Events[0].At, r.Events[n-1].At)
	}
}
