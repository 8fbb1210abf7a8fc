package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// sold has the job accepted by a site.
func (s *testMarket) sold(site string) protocol.Award {
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer(site, bidsOf("train", s.option(0, time.Hour)))
	for _, other := range []string{"bern", "oslo"} {
		if other != site {
			s.offer(other)
		}
	}
	a := lastSent[protocol.Award](s)
	s.send(protocol.AgentParty(site), protocol.Accept{Job: a.Job, Epoch: a.Epoch})
	return a
}

func TestJobsOfADecommissionedSiteAreRequeuedAndItMustStopThem(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	first := s.sold("oslo")
	gone := protocol.DecommissionSite{Site: "oslo", By: "ada"}
	if sent := s.send(protocol.AgentParty("bern"), gone); len(sent) != 0 || s.market.RefusalCounts()["gone-of-nothing"] != 1 {
		t.Errorf("a site says that another is gone: %v", sent)
	}
	s.send(protocol.OperatorAPI, gone)
	if f := s.market.Events(); len(f) != 1 || f[0].Body != protocol.Body(gone) {
		t.Errorf("the events are %v", f)
	}
	s.wait()
	s.offer("bern", bidsOf("train", s.option(0, time.Hour)))
	next := lastSent[protocol.Award](s)
	if next.Epoch <= first.Epoch || s.sent[len(s.sent)-1].To != "agent/bern" {
		t.Fatalf("awarded again under epoch %d, after %d", next.Epoch, first.Epoch)
	}
	s.send("agent/bern", protocol.Accept{Job: next.Job, Epoch: next.Epoch})

	// It is back: neither its accept nor its report of the old epoch counts.
	if s.send("agent/oslo", protocol.Accept{Job: first.Job, Epoch: first.Epoch}); lastSent[protocol.Confirm](s).Code != protocol.AwardVoid {
		t.Errorf("its accept: %+v", lastSent[protocol.Confirm](s))
	}
	back := s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	if !slices.ContainsFunc(back, func(m protocol.Message) bool {
		return m.To == "agent/oslo" && m.Body == protocol.Body(protocol.Cancel{Job: first.Job, Epoch: first.Epoch})
	}) {
		t.Errorf("it is back, and gets %v", back)
	}
	s.now = s.now.Add(time.Hour)
	done := s.done(first)
	done.Started, done.Ended = s.now-1, s.now
	sent := s.send("agent/oslo", done)
	if count[protocol.Settlement](sent) != 0 || lastSent[protocol.Confirm](s).Code != protocol.JobClosed {
		t.Errorf("its report: %v", sent)
	}
	if back := s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"}); count[protocol.Cancel](back) != 0 {
		t.Errorf("it has stopped the job, and gets %v", back)
	}
	done = s.done(next)
	done.Started, done.Ended = s.now-1, s.now
	if sent := s.send("agent/bern", done); count[protocol.Settlement](sent) != 1 {
		t.Errorf("the other's report: %v", sent)
	}
}

// A returning site gets a job that it may still run only after it has stopped it.
func TestReturningSiteFirstStopsItsOrphanedRuns(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	first := s.sold("oslo")
	s.send(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	for _, stopped := range []bool{false, true} {
		s.wait()
		s.offer("bern", noBids("train", protocol.NoCapacity))
		sent := s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
		if got := count[protocol.Award](sent) == 1; got != stopped {
			t.Errorf("stopped %v: %v", stopped, sent)
		}
		s.send("agent/oslo", protocol.Decline{Job: first.Job, Epoch: first.Epoch})
	}
}

// A Cancel may be lost, so it is repeated until the site answers.
func TestCancelsOfOrphanedRunsAreRepeated(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	first := s.sold("oslo")
	s.send(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	offers := func() (stops int) {
		for s.market.round == nil {
			s.wait()
		}
		s.offer("bern", noBids("train", protocol.NoCapacity))
		return count[protocol.Cancel](s.offer("oslo", noBids("train", protocol.NoCapacity)))
	}
	if n := offers(); n != 0 {
		t.Errorf("it was told a moment ago, and gets %d repetitions", n)
	}
	s.now = s.now.Add(stopRetryInterval)
	if n := offers(); n != 1 {
		t.Errorf("it has not answered, and gets %d repetitions", n)
	}
	s.send("agent/oslo", protocol.Decline{Job: first.Job, Epoch: first.Epoch})
	s.now = s.now.Add(stopRetryInterval)
	if n := offers(); n != 0 {
		t.Errorf("it has stopped the job, and gets %d repetitions", n)
	}
}

// An Accept that is on its way when its site is decommissioned starts nothing, before or after the
// end of its lease: the market could not take the job from that site any more.
func TestAcceptOfADecommissionedSiteIsVoid(t *testing.T) {
	for _, lapsed := range []bool{false, true} {
		s := newTestMarket(t, "bern", "oslo")
		s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
		s.wait()
		s.offer("bern")
		s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
		a := lastSent[protocol.Award](s)
		if lapsed {
			s.wait()
		}
		s.send(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
		s.send("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
		if c := lastSent[protocol.Confirm](s); c.Code != protocol.AwardVoid {
			t.Errorf("its lease has ended: %v; it gets %+v", lapsed, c)
		}
	}
}

func TestDecommissionMayEndJobs(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.sold("oslo")
	sent := s.send(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada", End: true})
	if r := lastSent[protocol.Reject](s); len(sent) != 1 || r.Why.Code != protocol.SiteDecommissioned || r.Why.Note != "oslo, says ada" {
		t.Errorf("sent %v", sent)
	}
}

// It may be in the middle of a round.
func TestSiteMayBeDecommissionedDuringARound(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
	s.send(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	if sent := s.offer("bern", bidsOf("train", s.option(0, time.Hour))); count[protocol.Award](sent) != 1 || sent[0].To != "agent/bern" {
		t.Errorf("sent %v", sent)
	}
}

// A restart in between changes nothing.
func TestDecommissionIsRestored(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	var events []protocol.Message
	keep := func() { events = append(events, s.market.Events()...) }
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100"}}})
	keep()
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	keep()
	s.wait()
	s.offer("bern")
	s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
	keep()
	a := lastSent[protocol.Award](s)
	s.send("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
	keep()
	s.send(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	keep()
	k := New(Config{}, s.rule)
	for _, m := range events {
		k.Restore(m)
	}
	if l := k.lots["train"]; l.state != waiting || l.epoch != a.Epoch || l.due != s.market.lots["train"].due || !k.mayStillRun("oslo", "train") || k.sites["oslo"] != nil {
		t.Errorf("restored %+v", l)
	}
}

// A report that cannot be true is answered, ends the job, and is not paid.
func TestImplausibleReportEndsTheJobUnpaid(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	a := s.sold("oslo")
	done := s.done(a)
	done.Energy, done.Started, done.Ended = -1, s.now, s.now
	sent := s.send("agent/oslo", done)
	if r := lastSent[protocol.Reject](s); r.Why.Code != protocol.ImpossibleBid || lastSent[protocol.Confirm](s).Code != protocol.JobClosed || count[protocol.Settlement](sent) != 0 {
		t.Errorf("sent %v", sent)
	}
	if s.send("agent/oslo", done); lastSent[protocol.Confirm](s).Code != protocol.JobClosed || s.market.Accounts().BalanceOf("site/oslo") != 0 {
		t.Error("it is said again, and is not closed or is paid")
	}
}

// A decommissioned site that registers starts with fresh state.
func TestReturningSiteIsNotDrained(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.send(protocol.OperatorAPI, protocol.Drain{Site: "oslo"})
	s.send(protocol.OperatorAPI, protocol.DecommissionSite{Site: "oslo", By: "ada"})
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	s.sold("oslo")
}
