package history

import (
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// The span of an option is counted from instants that a site makes up. Where it
// overflows to less than a millisecond there is nothing to divide by.
func TestAnOptionOfNoSpanIsRead(t *testing.T) {
	const far = 76_480_200_929_599_801 // times 10^6, to nanoseconds, is 64 in 64 bits
	for _, start := range []protocol.Time{noon, -far / 2} {
		s := &stage{now: noon}
		s.hello("oslo")
		s.submit(job("a"))
		s.call(1, job("a"))
		s.offer("oslo", 1, protocol.JobBids{Job: "a", Options: []protocol.BidOption{{Start: start, Finish: start + far, Model: "V100"}}})
		r, _ := s.book(Config{}).LatestJob("a")
		if o := r.FullRounds[0].Answers[0].Options; len(o) != 1 || o[0].Room != 0 {
			t.Errorf("the options from %d are %+v", start, o)
		}
	}
}

// sold plays a job until oslo is awarded it, on a ledger that does not tell what
// sites say to their hands.
func sold() (*stage, protocol.Job, uint64) {
	s, j := &stage{now: noon}, job("a")
	j.Pause = time.Minute
	s.hello("oslo")
	s.submit(j)
	s.call(1, j)
	return s, j, s.award("oslo", 1, j, option(0, 1, 50))
}

func (s *stage) accept(epoch uint64) {
	s.say("agent/oslo", protocol.Coordinator, protocol.Accept{Job: "a", Epoch: epoch, Start: s.now})
}

func (s *stage) refuse(c protocol.Code) {
	s.say(protocol.Coordinator, protocol.Submitter, protocol.Reject{Job: "a", Why: protocol.Reason{Code: c}})
}

// What no run and no hour of a site can take is in no sum, and ends the job as the
// market ended it.
func TestABillThatCannotBeIsNotCounted(t *testing.T) {
	for _, lie := range []protocol.UsageReport{
		{Energy: math.MinInt64}, {Energy: math.MaxInt64}, {IT: -1}, {Carbon: math.MaxInt64}, {Money: math.MinInt64}, {Started: noon + 1},
		{Energy: 1000, Ended: noon + 1<<50}, // as if it were proper; the market knows that it is not
		{Energy: 1000, Left: 1 << 60},
	} {
		s, _, epoch := sold()
		s.accept(epoch)
		lie.Job, lie.Epoch, lie.Ended = "a", epoch, max(lie.Ended, noon)
		s.say("agent/oslo", protocol.Coordinator, lie)
		s.refuse(protocol.ImpossibleBid)
		s.say("agent/oslo", protocol.Coordinator, protocol.SiteUsage{Hour: noon, Total: math.MinInt64, Idle: protocol.Usage{Energy: math.MaxInt64}})
		b := s.book(Config{})
		r, _ := b.LatestJob("a")
		if o := b.SiteRecords()[0]; r.phase != phaseRefused || r.Run != nil || len(r.Parts) > 0 || o.Ran != 0 || o.Late != 0 || o.Jobs != (protocol.Usage{}) || o.Idle != (protocol.Usage{}) || o.Metered != 0 {
			t.Errorf("after %+v the job is %s, run %+v; oslo is %+v", lie, r.phase, r.Run, o)
		}
		if p := b.CheckInvariants(nil); len(p) > 0 {
			t.Errorf("after %+v: %v", lie, p)
		}
	}
}

// A site says that a part has ended until it is answered.
func TestAPartThatIsReportedTwiceCountsOnce(t *testing.T) {
	s, _, epoch := sold()
	s.accept(epoch)
	part := protocol.UsageReport{Job: "a", Epoch: epoch, Started: noon, Ended: noon, Energy: 7, Left: time.Minute}
	s.say("agent/oslo", protocol.Coordinator, part)
	s.say("agent/oslo", protocol.Coordinator, part)
	b := s.book(Config{})
	if r, _ := b.LatestJob("a"); len(r.Parts) != 1 || b.SiteRecords()[0].Jobs.Energy != 7 {
		t.Errorf("%d parts, %+v", len(r.Parts), b.SiteRecords()[0].Jobs)
	}
}

// A job may be cancelled before its site has accepted it. What that says later is void.
func TestAJobThatIsCancelledBeforeItIsAcceptedIsRefused(t *testing.T) {
	s, _, epoch := sold()
	s.refuse(protocol.Cancelled)
	s.accept(epoch)
	b := s.book(Config{})
	if r, _ := b.LatestJob("a"); r.phase != phaseRefused || r.Run != nil || len(b.CheckInvariants(nil)) > 0 {
		t.Errorf("it is %s, run %+v: %v", r.phase, r.Run, b.CheckInvariants(nil))
	}
}

// A job whose award nobody accepted waits from its next call on, and may be sold again.
// An accept that comes late stands if it was not.
func TestAJobWhoseLeaseEndedWaits(t *testing.T) {
	s, j, first := sold()
	s.now = s.now.Add(time.Minute)
	s.call(2, j)
	state := func() JobRecord { r, _ := s.book(Config{}).LatestJob("a"); return r }
	if r := state(); r.phase != phaseWaiting || r.CurrentAward() != nil || !r.FullRounds[0].Decision.Expired {
		t.Errorf("it is called again, and is %s, award %+v of %+v", r.phase, r.CurrentAward(), r.FullRounds[0].Decision)
	}
	sold := len(s.said)
	s.accept(first)
	if r := state(); r.phase != phaseAwarded || r.Run == nil || !r.Run.Planned || r.CurrentAward() == nil || r.FullRounds[0].Decision.Answer != "accept" {
		t.Errorf("it is accepted late, and is %s, run %+v", r.phase, r.Run)
	}
	s.said = s.said[:sold]
	second := s.award("oslo", 2, j, option(0, 1, 50))
	s.accept(second)
	if r, p := state(), s.book(Config{}).problems; r.phase != phaseAwarded || r.Run == nil || r.Run.Epoch != second || len(p) > 0 {
		t.Errorf("it is sold again, and is %s, run %+v: %v", r.phase, r.Run, p)
	}
}

// A refusal between two rounds is none of theirs.
func TestWhatARoundDecidedStaysWhenItsJobIsCancelled(t *testing.T) {
	s, _, _ := sold()
	s.refuse(protocol.Cancelled)
	r, _ := s.book(Config{}).LatestJob("a")
	if h := r.FullRounds[0]; h.Decision.Kind != "award" || h.Summary.Kind != "award" || r.phase != phaseRefused || r.CurrentAward() != nil {
		t.Errorf("%s, award %+v; its round decided %+v, %+v", r.phase, r.CurrentAward(), h.Decision, h.Summary)
	}
}

// Whether a site answered in time is not told by its own clock where a coordinator wrote
// down in which order it heard.
func TestAWrongClockMakesNoAnswerLate(t *testing.T) {
	s, j := &stage{now: noon}, job("a")
	s.hello("lyon", "oslo")
	s.say(protocol.InputRecorder, protocol.InputRecorder, protocol.InputLog{Incarnation: 1})
	s.submit(j)
	s.call(1, j)
	s.now = at(time.Hour)
	s.offer("oslo", 1, menu("a", option(0, 1, 50)))
	s.now = at(time.Second)
	s.award("oslo", 1, j, option(0, 1, 50))
	s.now = noon
	s.offer("lyon", 1, menu("a", option(0, 2, 50)))
	b := s.book(Config{})
	r, _ := b.LatestJob("a")
	round, h := b.RoundRecords()[0], r.FullRounds[0]
	if len(round.Silent) != 1 || round.Silent[0] != "lyon" || h.Summary.Options != 1 || !h.Answers[0].Late || h.Answers[1].Late {
		t.Errorf("silent were %q, %d options counted, lyon late: %v, oslo late: %v; want lyon alone late", round.Silent, h.Summary.Options, h.Answers[0].Late, h.Answers[1].Late)
	}
}

// Whoever takes over from another coordinator has its awards off the books, and no calls.
func TestAnIDThatWasGivenAgainIsKnownByItsAward(t *testing.T) {
	s, j := &stage{now: noon}, job("a")
	s.hello("oslo")
	s.submit(j)
	s.call(1, j)
	o := option(0, 1, 50)
	s.run("oslo", "n1", []int{0}, j, s.award("oslo", 1, j, o), o, time.Hour)
	s.now = at(24 * time.Hour)
	j.Arrival, j.Deadline = s.now, s.now.Add(3*time.Hour)
	s.submit(j)
	s.award("oslo", 2, j, option(24*time.Hour, 1, 50))
	b := s.book(Config{})
	all := b.InstancesOf("a")
	if len(all) != 2 || all[0].phase != phaseEnded || len(all[0].Awards) != 1 || all[1].phase != phaseAwarded || all[1].Job.Arrival != s.now {
		t.Errorf("%d jobs: %+v", len(all), all)
	}
	for _, p := range b.problems {
		t.Error(p)
	}
}

func TestAnAwardOffTheBooksLapsesToo(t *testing.T) {
	for _, again := range []bool{false, true} {
		s, j := &stage{now: noon}, job("a")
		s.submit(j)
		s.award("oslo", 1, j, option(0, 1, 50))
		s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 2, Job: "a", Why: protocol.Reason{Code: protocol.Waiting}})
		want := phaseWaiting
		if again {
			s.said = s.said[:2]
			s.award("lyon", 3, j, option(0, 1, 50))
			want = phaseAwarded
		}
		b := s.book(Config{})
		if r, _ := b.LatestJob("a"); r.phase != want || !r.Awards[0].Expired || len(b.problems) > 0 {
			t.Errorf("it is %s, %+v: %v; want %s", r.phase, r.Awards, b.problems, want)
		}
	}
}
