package history

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

func TestAJobIsTold(t *testing.T) {
	b := twoRounds().book(Config{})
	r, ok := b.LatestJob("a")
	if !ok || r.phase != phaseEnded {
		t.Fatalf("Job(a) = state %q, %v; want ended", r.phase, ok)
	}
	first, last := r.FullRounds[0], r.FullRounds[1]
	if got := []string{first.Decision.Kind, last.Decision.Kind, last.Decision.Answer}; !reflect.DeepEqual(got, []string{"hold", "award", "accept"}) {
		t.Errorf("decisions and answer = %q; want hold, award, accept", got)
	}
	var answers []string
	for _, a := range first.Answers {
		answers = append(answers, fmt.Sprintf("%s %v %s %d", a.Site, a.Message != (MessageRef{}), a.Why.Code, len(a.Options)))
	}
	if want := []string{"bern false  0", "lyon true no-room 0", "oslo true  2"}; !reflect.DeepEqual(answers, want) {
		t.Errorf("answers of the first round = %q; want %q", answers, want)
	}
	if l := first.Summary; l.Options != 2 || l.BestSite != "oslo" || l.Best != 15_000 || l.Code != protocol.CheaperLater {
		t.Errorf("line of the first round = %+v; want oslo's 15,000 microdollars, of 2", l)
	}
	if wait, _ := r.WaitTime(); wait != time.Hour {
		t.Errorf("WaitTime() = %v; want 1h", wait)
	}
	if jct, _ := r.CompletionTime(); jct != 126*time.Minute {
		t.Errorf("CompletionTime() = %v; want 2h6m", jct)
	}
	if r.Run.Drawn != 1_188_000_000 || r.Run.Settled.Counted != r.Run.Cost || r.EndedLate() {
		t.Errorf("run = %+v, late %v; want 1,188,000,000 mJ settled as measured, on time", r.Run, r.EndedLate())
	}
	if o := r.Run.Done; o.From != "agent/oslo" || o.At != at(126*time.Minute) {
		t.Errorf("done was said by %v at %v", o.From, o.At)
	}
}

func TestOptionsArePricedAtTheRoundsWeightsAndShadow(t *testing.T) {
	s := &stage{now: noon}
	s.hello("oslo")
	s.submit(job("a"))
	s.call(1, job("a"))
	o := option(30*time.Minute, 1, 50)
	o.FragmentationDelta = 500
	s.offer("oslo", 1, menu("a", o))
	r, _ := s.book(Config{}).LatestJob("a")
	// Half of the run lies in the hour at 36,000, half in the one at nothing:
	// 18,000 microdollars an hour, for half a GPU and one hour.
	want := protocol.CostBreakdown{Money: 10_000, Carbon: 5_000, Fragmentation: 9_000}
	got := r.FullRounds[0].Answers[0].Options[0]
	if got.Terms != want || got.Room != 18_000 {
		t.Errorf("terms = %+v, room = %d; want %+v and 18,000", got.Terms, got.Room, want)
	}
}

// A round that does not wait for a missing site closes when it is decided.
func TestARoundWithoutAMissingSiteClosesWhenItIsDecided(t *testing.T) {
	for _, lyon := range []bool{true, false} {
		s := &stage{now: noon}
		s.hello("lyon", "oslo")
		s.submit(job("a"))
		s.call(1, job("a"))
		s.offer("oslo", 1, menu("a", option(0, 9, 9)))
		if lyon {
			s.offer("lyon", 1, menu("a", option(0, 9, 9)))
		}
		s.now = at(300 * time.Millisecond)
		s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: "a", Until: s.now, Why: protocol.Reason{Code: protocol.Waiting}})
		want := at(time.Second)
		if !lyon {
			want = s.now
		}
		r, _ := s.book(Config{}).LatestJob("a")
		if got := r.FullRounds[0].Closes; got != want {
			t.Errorf("lyon answers: %v; closed at %v; want %v", lyon, got, want)
		}
	}
}

// An offer that came too late counts in the next round if its site does not answer that, from when
// that is called; else, or if that comes much later, it counts in none.
func TestALateOfferCountsInTheNextRound(t *testing.T) {
	for _, tc := range []struct {
		name    string
		pause   time.Duration
		answers bool
		options int
	}{{"no other answer", time.Minute, false, 2}, {"another answer", time.Minute, true, 3}, {"an hour later", time.Hour, false, 1}} {
		s := &stage{now: noon}
		s.hello("lyon", "oslo")
		s.submit(job("a"))
		s.call(1, job("a"))
		s.offer("oslo", 1, menu("a", option(0, 9, 9)))
		s.now = at(2 * time.Second)
		s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 1, Job: "a", Until: s.now.Add(tc.pause), Why: protocol.Reason{Code: protocol.Waiting}})
		s.now = at(3 * time.Second)
		late := option(0, 1, 1)
		s.offer("lyon", 1, menu("a", late))
		s.now = at(tc.pause)
		s.call(2, job("a"))
		s.offer("oslo", 2, menu("a", option(tc.pause, 9, 9)))
		if tc.answers {
			s.offer("lyon", 2, menu("a", option(tc.pause, 5, 5), option(2*tc.pause, 5, 5)))
		}
		s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 2, Job: "a", Until: s.now, Why: protocol.Reason{Code: protocol.Waiting}})
		b := s.book(Config{})
		r, _ := b.LatestJob("a")
		second := r.FullRounds[1]
		if second.Summary.Options != tc.options || second.Answers[0].Site != "lyon" {
			t.Errorf("%s: %d options count, answers %+v; want %d", tc.name, second.Summary.Options, second.Answers, tc.options)
		}
		if counts := tc.options == 2; counts && (second.Answers[0].Late || second.Answers[0].Options[0].Start != s.now || second.Answers[0].Options[0].Finish.Sub(s.now) != late.Finish.Sub(late.Start)) {
			t.Errorf("%s: %+v", tc.name, second.Answers[0])
		}
		if silent := b.RoundRecords()[1].Silent; (len(silent) == 1) != (tc.options == 1) {
			t.Errorf("%s: silent %v", tc.name, silent)
		}
	}
}

// Where a call has no shadow prices, those count that its sites were told before it; those of
// another round do not.
func TestOptionsArePricedByWhatTheirSiteWasTold(t *testing.T) {
	for _, tc := range []struct {
		round uint64
		want  protocol.Microdollars
	}{{1, 18_000}, {2, 0}} {
		s := &stage{now: noon}
		s.hello("oslo")
		s.submit(job("a"))
		s.say(protocol.Coordinator, "agent/oslo", protocol.SitePrices{Round: tc.round, ShadowPrices: []protocol.ShadowPrice{
			{Site: "oslo", Model: "V100", From: noon, Slot: time.Hour, Values: []protocol.Microdollars{36_000, 0}},
		}})
		s.say(protocol.Coordinator, "", protocol.CallForBids{Round: 1, Closes: s.now.Add(time.Second), Jobs: []protocol.Job{job("a")}, Weights: weights})
		s.offer("oslo", 1, menu("a", option(30*time.Minute, 1, 50)))
		r, _ := s.book(Config{}).LatestJob("a")
		if got := r.FullRounds[0].Answers[0].Options[0]; got.Room != tc.want {
			t.Errorf("prices of round %d: room = %d; want %d", tc.round, got.Room, tc.want)
		}
	}
}

func TestWhatIsSaidAfterTheRoundClosedIsNotRead(t *testing.T) {
	s := &stage{now: noon}
	s.hello("oslo", "lyon")
	s.submit(job("a"))
	s.call(1, job("a"))
	s.offer("oslo", 1, menu("a", option(0, 9, 9)))
	s.now = at(2 * time.Second)
	s.offer("lyon", 1, menu("a", option(0, 1, 1)))
	b := s.book(Config{})
	r, _ := b.LatestJob("a")
	if l := r.FullRounds[0].Summary; l.BestSite != "oslo" || l.Options != 1 {
		t.Errorf("best = %+v; want oslo's only", l)
	}
	if a := r.FullRounds[0].Answers[0]; a.Site != "lyon" || !a.Late {
		t.Errorf("answer = %+v; want lyon's marked late", a)
	}
	if got := b.RoundRecords()[0]; !reflect.DeepEqual(got.Silent, []string{"lyon"}) {
		t.Errorf("silent = %q; want lyon", got.Silent)
	}
}

func TestRoundsBetweenFirstAndLastAreKeptAsLines(t *testing.T) {
	s := &stage{now: noon}
	s.hello("oslo")
	s.submit(job("a"))
	for round := range uint64(20) {
		s.now = at(time.Duration(round) * time.Minute)
		s.call(round+1, job("a"))
		s.offer("oslo", round+1, menu("a", option(0, int64(round), 0)))
		s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: round + 1, Job: "a", Why: protocol.Reason{Code: protocol.Waiting}})
	}
	r, _ := s.book(Config{}).LatestJob("a")
	if len(r.Rounds) != 20 || len(r.FullRounds) != 2 || r.FullRounds[0].Round != 1 || r.FullRounds[1].Round != 20 {
		t.Errorf("%d lines, %d hearings; want 20 lines and rounds 1 and 20 in full", len(r.Rounds), len(r.FullRounds))
	}
	for i, l := range r.Rounds {
		if l.Round != uint64(i+1) || l.Best != protocol.Microdollars(i*10_000) || l.Code != protocol.Waiting {
			t.Errorf("line %d = %+v", i, l)
		}
	}
	all, _ := s.book(Config{All: true}).LatestJob("a")
	if len(all.FullRounds) != 20 || !reflect.DeepEqual(all.Rounds, r.Rounds) {
		t.Errorf("with All: %d hearings; want 20, and the same lines", len(all.FullRounds))
	}
}

func TestARoundCalledAgainTakesThePlaceOfTheFirstAsking(t *testing.T) {
	for _, all := range []bool{false, true} {
		s := &stage{now: noon}
		s.hello("oslo")
		s.submit(job("a"))
		s.call(1, job("a"))
		s.offer("oslo", 1, menu("a", option(0, 9, 0)))
		s.call(1, job("a"))
		s.offer("oslo", 1, menu("a", option(0, 5, 0)))
		b := s.book(Config{All: all})
		r, _ := b.LatestJob("a")
		if len(r.FullRounds) != 1 || len(r.Rounds) != 1 || r.Rounds[0].Best != 50_000 || len(b.RoundRecords()) != 1 {
			t.Errorf("all=%v: %d hearings, lines %+v, %d rounds; want one, at 50,000", all, len(r.FullRounds), r.Rounds, len(b.RoundRecords()))
		}
	}
}

// What is said by two is written in any order: a submission may stand behind the
// call, the offer and the award that came of it.
func TestASubmissionMayBeHeardAfterItsCall(t *testing.T) {
	in := &stage{now: noon}
	in.hello("oslo")
	in.submit(job("a"))
	in.call(1, job("a"))
	in.offer("oslo", 1, menu("a", option(0, 9, 0)))
	in.award("oslo", 1, job("a"), option(0, 9, 0))
	want, _ := in.book(Config{}).LatestJob("a")
	late := *in
	late.said = slices.Concat(in.said[:1], in.said[2:], in.said[1:2])
	b := late.book(Config{})
	if got, _ := b.LatestJob("a"); !reflect.DeepEqual(got, want) || len(got.FullRounds) != 1 {
		t.Errorf("job a is\n%+v, want\n%+v", got, want)
	}
	if wrong := b.CheckInvariants(nil); len(wrong) != 0 {
		t.Errorf("nothing is wrong with that, but: %v", wrong)
	}
}

// An id is free again when its job has been over for a while, as the one of a nightly
// job: each night is a job of its own, in all sums, and its own submission and deadline
// count. What is submitted again before is the same job.
func TestAnIDMayBeGivenAgain(t *testing.T) {
	s := &stage{now: noon}
	s.hello("oslo")
	night := func(n int) {
		from := time.Duration(n) * 24 * time.Hour
		s.now = at(from)
		j := job("a")
		j.Arrival, j.Deadline = at(from), at(from+3*time.Hour)
		s.submit(j)
		s.call(uint64(n)+1, j)
		s.offer("oslo", uint64(n)+1, menu("a", option(from, 1, 50)))
		epoch := s.award("oslo", uint64(n)+1, j, option(from, 1, 50))
		s.submit(j)
		s.run("oslo", "n1", []int{0}, j, epoch, option(from, 1, 50), 66*time.Minute)
		s.submit(j)
	}
	night(0)
	night(1)
	night(2)
	s.now = at(72 * time.Hour)
	again := job("a")
	again.Arrival = s.now
	s.submit(again)
	s.say(protocol.Coordinator, protocol.Submitter, protocol.Reject{Job: "a", Why: protocol.Reason{Code: protocol.NoBids}})
	s.meter("oslo")
	b := s.book(Config{All: true})
	if bad := b.CheckInvariants(nil); len(bad) > 0 {
		t.Errorf("the record has problems: %v", bad)
	}
	all := b.InstancesOf("a")
	if len(all) != 4 || all[0].Job.Arrival != noon || all[1].Submitted.At != at(24*time.Hour) || all[3].phase != phaseRefused || len(all[2].Awards) != 1 {
		t.Fatalf("%d jobs of the id: %+v; want three that ran and one that was refused", len(all), all)
	}
	if last, _ := b.LatestJob("a"); last.phase != phaseRefused {
		t.Errorf("the last of the id is %s; want refused", last.phase)
	}
	sum := b.ComputeTotals(Meta{Start: noon, End: s.now, GPUs: 4000})
	if site := b.SiteRecords()[0]; sum.Jobs != 4 || sum.Placed != 3 || sum.Refused != 1 || sum.Late != 0 || sum.Awards != 3 || site.Ran != 3 || site.Late != 0 {
		t.Errorf("totals %+v, site %+v; want three that ran in time and one refused", sum, site)
	}
}

func TestADeclinedJobWaitsAgain(t *testing.T) {
	s := &stage{now: noon}
	j := job("a")
	s.hello("oslo", "lyon")
	s.submit(j)
	s.call(1, j)
	s.offer("oslo", 1, menu("a", option(0, 1, 1)))
	epoch := s.award("oslo", 1, j, option(0, 1, 1))
	s.say("agent/oslo", protocol.Coordinator, protocol.Decline{Job: "a", Epoch: epoch, Why: protocol.Reason{Code: protocol.CapacityTaken}})
	b := s.book(Config{})
	if r, _ := b.LatestJob("a"); r.phase != phaseWaiting || r.CurrentAward() != nil || r.Awards[0].Declined.Code != protocol.CapacityTaken {
		t.Errorf("after the decline: %+v", r)
	}
	s.call(2, j)
	epoch = s.award("lyon", 2, j, option(0, 1, 1))
	s.run("lyon", "n1", []int{1}, j, epoch, option(0, 1, 1), time.Hour)
	s.meter("oslo", "lyon")
	b = s.book(Config{})
	if r, _ := b.LatestJob("a"); r.phase != phaseEnded || r.Run.Site != "lyon" || len(r.Awards) != 2 {
		t.Errorf("after the second award: %+v", r)
	}
	for _, p := range b.CheckInvariants(nodes) {
		t.Error(p)
	}
}

func TestSitesHoldTheirShare(t *testing.T) {
	b := twoRounds().book(Config{})
	got := b.SiteRecords()
	if len(got) != 3 || got[2].Site != "oslo" || got[2].Ran != 1 || got[2].Awards != 1 || got[0].Ran != 0 {
		t.Fatalf("SiteRecords() = %+v; want bern, lyon, oslo with one job at oslo", got)
	}
	if got[2].Metered != 1_188_000_000+3*360_000_000 || got[2].Idle.Money != 16_500 || got[2].Paid != got[2].Jobs.Money {
		t.Errorf("oslo = %+v", got[2])
	}
}

func TestSomethingSaidTwiceIsReadOnce(t *testing.T) {
	s := twoRounds()
	once := s.book(Config{})
	twice := New(Config{})
	for _, m := range s.said {
		twice.AddMessage(m)
		twice.AddMessage(m)
	}
	a, _ := once.LatestJob("a")
	b, _ := twice.LatestJob("a")
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(once.ComputeTotals(Meta{}), twice.ComputeTotals(Meta{})) {
		t.Errorf("said twice:\n got %+v\nwant %+v", b, a)
	}
}
