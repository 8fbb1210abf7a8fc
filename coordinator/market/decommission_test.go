package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// sold has the job accepted by a site.
func (s *stage) sold(site string) protocol.Award {
	s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer(site, menu("train", s.option(0, time.Hour)))
	for _, other := range []string{"bern", "oslo"} {
		if other != site {
			s.offer(other)
		}
	}
	a := the[protocol.Award](s)
	s.tell(protocol.AgentParty(site), protocol.Accept{Job: a.Job, Epoch: a.Epoch})
	return a
}

func TestTheJobsOfASiteThatIsGoneAreSoldAgainAndItStopsThemIfItIsNot(t *testing.T) {
	s := newStage(t, "bern", "oslo")
	first := s.sold("oslo")
	gone := protocol.DecommissionSite{Site: "oslo", By: "ada"}
	if said := s.tell(protocol.AgentParty("bern"), gone); len(said) != 0 || s.market.RefusalCounts()["gone-of-nothing"] != 1 {
		t.Errorf("a site says that another is gone: %v", said)
	}
	s.tell(protocol.OperatorAPI, gone)
	if f := s.market.Events(); len(f) != 1 || f[0].Body != protocol.Body(gone) {
		t.Errorf("the books say %v", f)
	}
	s.wait()
	s.offer("bern", menu("train", s.option(0, time.Hour)))
	next := the[protocol.Award](s)
	if next.Epoch <= first.Epoch || s.said[len(s.said)-1].To != "agent/bern" {
		t.Fatalf("awarded again under epoch %d, after %d", next.Epoch, first.Epoch)
	}
	s.tell("agent/bern", protocol.Accept{Job: next.Job, Epoch: next.Epoch})

	// It is back: neither its accept nor its report of the old epoch counts.
	if s.tell("agent/oslo", protocol.Accept{Job: first.Job, Epoch: first.Epoch}); the[protocol.Confirm](s).Code != protocol.AwardVoid {
		t.Errorf("its accept: %+v", the[protocol.Confirm](s))
	}
	back := s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	if !slices.ContainsFunc(back, func(m protocol.Message) bool {
		return m.To == "agent/oslo" && m.Body == protocol.Body(protocol.Cancel{Job: first.Job, Epoch: first.Epoch})
	}) {
		t.Errorf("it is back, and is told %v", back)
	}
	s.now = s.now.Add(time.Hour)
	done := s.done(first)
	done.Started, done.Ended = s.now-1, s.now
	said := s.tell("agent/oslo", done)
	if count[protocol.Settlement](said) != 0 || the[protocol.Confirm](s).Code != protocol.JobClosed {
		t.Errorf("its report: %v", said)
	}
	if back := s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"}); count[protocol.Cancel](back) != 0 {
		t.Errorf("it has stopped the job, and is told %v", back)
	}
	done = s.done(next)
	done.Started, done.Ended = s.now-1, s.now
	if said := s.tell("agent/bern", done); count[protocol.Settlement](said) != 1 {
		t.Errorf("the other's report: %v", said)
	}
}

// A site that is back gets a job that it may still run only when it has stopped.
func TestASiteThatIsBackFirstStopsWhatItHad(t *testing.T) {
	s := newStage(t, "bern", "oslo")
	first := s.sold("oslo")
	s.tell(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	for _, stopped := range []bool{false, true} {
		s.wait()
		s.offer("bern", no("train", protocol.NoCapacity))
		said := s.offer("oslo", menu("train", s.option(0, time.Hour)))
		if got := count[protocol.Award](said) == 1; got != stopped {
			t.Errorf("stopped %v: %v", stopped, said)
		}
		s.tell("agent/oslo", protocol.Decline{Job: first.Job, Epoch: first.Epoch})
	}
}

// What it is told to stop it may not hear: it is told again until it answers.
func TestASiteThatIsBackIsToldAgainWhatItIsToStop(t *testing.T) {
	s := newStage(t, "bern", "oslo")
	first := s.sold("oslo")
	s.tell(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	offers := func() (stops int) {
		for s.market.round == nil {
			s.wait()
		}
		s.offer("bern", no("train", protocol.NoCapacity))
		return count[protocol.Cancel](s.offer("oslo", no("train", protocol.NoCapacity)))
	}
	if n := offers(); n != 0 {
		t.Errorf("it was told a moment ago, and is told %d times again", n)
	}
	s.now = s.now.Add(stopRetryInterval)
	if n := offers(); n != 1 {
		t.Errorf("it has not answered, and is told %d times again", n)
	}
	s.tell("agent/oslo", protocol.Decline{Job: first.Job, Epoch: first.Epoch})
	s.now = s.now.Add(stopRetryInterval)
	if n := offers(); n != 0 {
		t.Errorf("it has stopped the job, and is told %d times again", n)
	}
}

// An accept that is on its way when its site is said to be gone starts nothing, whether
// its lease has ended or not: nobody could take the job from that site again.
func TestAnAcceptOfASiteThatIsGoneIsVoid(t *testing.T) {
	for _, lapsed := range []bool{false, true} {
		s := newStage(t, "bern", "oslo")
		s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
		s.wait()
		s.offer("bern")
		s.offer("oslo", menu("train", s.option(0, time.Hour)))
		a := the[protocol.Award](s)
		if lapsed {
			s.wait()
		}
		s.tell(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
		s.tell("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
		if c := the[protocol.Confirm](s); c.Code != protocol.AwardVoid {
			t.Errorf("its lease has ended: %v; it is told %+v", lapsed, c)
		}
	}
}

func TestTheJobsOfASiteThatIsGoneMayEnd(t *testing.T) {
	s := newStage(t, "bern", "oslo")
	s.sold("oslo")
	said := s.tell(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada", End: true})
	if r := the[protocol.Reject](s); len(said) != 1 || r.Why.Code != protocol.SiteDecommissioned || r.Why.Note != "oslo, says ada" {
		t.Errorf("said %v", said)
	}
}

// It may be in the middle of a round.
func TestASiteMayBeGoneInARound(t *testing.T) {
	s := newStage(t, "bern", "oslo")
	s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer("oslo", menu("train", s.option(0, time.Hour)))
	s.tell(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	if said := s.offer("bern", menu("train", s.option(0, time.Hour))); count[protocol.Award](said) != 1 || said[0].To != "agent/bern" {
		t.Errorf("said %v", said)
	}
}

// A restart in between changes nothing.
func TestThatASiteIsGoneIsRestored(t *testing.T) {
	s := newStage(t, "bern", "oslo")
	var facts []protocol.Message
	keep := func() { facts = append(facts, s.market.Events()...) }
	s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100"}}})
	keep()
	s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
	keep()
	s.wait()
	s.offer("bern")
	s.offer("oslo", menu("train", s.option(0, time.Hour)))
	keep()
	a := the[protocol.Award](s)
	s.tell("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
	keep()
	s.tell(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	keep()
	k := New(Config{}, s.rule)
	for _, m := range facts {
		k.Restore(m)
	}
	if l := k.lots["train"]; l.state != waiting || l.epoch != a.Epoch || l.due != s.market.lots["train"].due || !k.mayStillRun("oslo", "train") || k.sites["oslo"] != nil {
		t.Errorf("restored %+v", l)
	}
}

// A report that cannot be true is answered, ends the job, and is not paid.
func TestAReportThatCannotBeEndsTheJobUnpaid(t *testing.T) {
	s := newStage(t, "bern", "oslo")
	a := s.sold("oslo")
	done := s.done(a)
	done.Energy, done.Started, done.Ended = -1, s.now, s.now
	said := s.tell("agent/oslo", done)
	if r := the[protocol.Reject](s); r.Why.Code != protocol.ImpossibleBid || the[protocol.Confirm](s).Code != protocol.JobClosed || count[protocol.Settlement](said) != 0 {
		t.Errorf("said %v", said)
	}
	if s.tell("agent/oslo", done); the[protocol.Confirm](s).Code != protocol.JobClosed || s.market.Accounts().BalanceOf("site/oslo") != 0 {
		t.Error("it is said again, and is not closed or is paid")
	}
}

// A site that was said to be gone is begun anew when it greets.
func TestASiteThatIsBackIsNotDrained(t *testing.T) {
	s := newStage(t, "oslo")
	s.tell(protocol.OperatorAPI, protocol.Drain{Site: "oslo"})
	s.tell(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	s.sold("oslo")
}
