package market

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

func TestJobIsCalledAwardedAndSettled(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	call := lastSent[protocol.CallForBids](s)
	if len(call.Jobs) != 1 || call.Round != 1 || call.Closes != s.now.Add(2*time.Second) {
		t.Fatalf("called %+v", call)
	}
	if sent := s.offer("oslo", bidsOf("train", s.option(0, time.Hour))); len(sent) != 0 {
		t.Fatalf("the market did not wait for bern: %v", sent)
	}
	s.offer("bern", noBids("train", protocol.NoCapacity))
	award := lastSent[protocol.Award](s)
	if award.Epoch != 1 || award.Lease != s.now.Add(10*time.Second) || s.sent[len(s.sent)-1].To != "agent/oslo" {
		t.Fatalf("awarded %+v to %s", award, s.sent[len(s.sent)-1].To)
	}
	s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: 1})
	d := s.done(award)
	s.now = d.Ended
	d.Estimated = true
	s.send("agent/oslo", d)
	got := lastSent[protocol.Settlement](s)
	want := protocol.Settlement{
		Job: "train", Site: "oslo", Payer: "lab", Paid: 12_000, Estimated: true,
		BidFor:  protocol.Usage{Energy: 720_000_000, Carbon: 40_000, Money: 10_000, Finish: award.Option.Finish},
		Counted: protocol.Usage{IT: 600_000_000, Energy: 720_000_000, Carbon: 50_000, Money: 12_000, Finish: d.Ended},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("settled\n%+v, want\n%+v", got, want)
	}
	if b := s.market.Accounts().BalanceOf(accounts.SiteAccount("oslo")); b != 12_000 || b != -s.market.Accounts().BalanceOf(accounts.TenantAccount("lab")) {
		t.Errorf("oslo has %d", b)
	}
	if due := s.market.Due(); due != 0 {
		t.Errorf("nothing is left, and the market is due at %v", due)
	}
}

func TestJobsOfOneSecondGoOutTogetherByArrivalThenName(t *testing.T) {
	s := newTestMarket(t, "oslo")
	for _, id := range []protocol.JobID{"c", "a", "b"} {
		j := s.job()
		j.ID, j.Arrival = id, noon
		if id == "b" {
			j.Arrival = noon - 1
		}
		s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	s.wait()
	var ids []string
	for _, j := range lastSent[protocol.CallForBids](s).Jobs {
		ids = append(ids, string(j.ID))
	}
	if got := strings.Join(ids, " "); got != "b a c" {
		t.Errorf("called %s, want b a c", got)
	}
}

func TestAMarketThatGathersNoneCallsAtOnce(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.market = New(Config{Gather: -1}, s.rule)
	s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"})
	job := s.job()
	s.send(protocol.Submitter, protocol.Submit{Job: job})
	if due := s.market.Due(); due != s.now {
		t.Fatalf("a job is due at %v; want now, %v", due, s.now)
	}
	s.wait()
	for _, id := range []protocol.JobID{"b", "a"} { // while the round is open
		job.ID = id
		s.send(protocol.Submitter, protocol.Submit{Job: job})
	}
	s.offer("oslo", noBids("train", protocol.NoCapacity))
	s.wait()
	if c := lastSent[protocol.CallForBids](s); len(c.Jobs) != 2 {
		t.Errorf("called %+v; want both that came meanwhile, and none that rests", c.Jobs)
	}
}

func TestRuleGetsSitesByName(t *testing.T) {
	names := []string{"bern", "kiel", "oslo", "rome", "york"}
	s := newTestMarket(t, names...)
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	for _, name := range []string{"york", "kiel", "bern", "rome", "oslo"} {
		s.offer(name, bidsOf("train", s.option(time.Minute, time.Hour)))
	}
	var sites, menus []string
	for _, x := range s.rule.rounds[0].Sites {
		sites = append(sites, x.Name)
	}
	for _, x := range s.rule.rounds[0].Lots[0].Bids {
		menus = append(menus, x.Site)
	}
	// The job may run at two of them.
	if !slices.Equal(sites, names) || !slices.Equal(menus, []string{"bern", "oslo"}) {
		t.Errorf("the rule gets sites %v with menus %v", sites, menus)
	}
}

func TestARoundClosesWithoutASilentSite(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
	opened := s.now
	if s.wait(); s.now != opened.Add(2*time.Second) {
		t.Errorf("closed at %v", s.now)
	}
	if a := lastSent[protocol.Award](s); a.Job != "train" {
		t.Errorf("awarded %+v", a)
	}
	if n := s.market.RefusalCounts()["silent-site"]; n != 1 {
		t.Errorf("%d silent sites counted, want 1", n)
	}
}

func TestJobThatNoSiteCanEverRunIsRejectedAtOnce(t *testing.T) {
	for _, c := range []protocol.Code{protocol.NotAllowed, protocol.NoSuchGPU, protocol.FitsNoNode} {
		s := newTestMarket(t, "bern", "oslo")
		s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
		s.wait()
		s.offer("oslo", noBids("train", c))
		s.offer("bern", noBids("train", protocol.NotAllowed))
		if got := lastSent[protocol.Reject](s); got.Why.Code != c {
			t.Errorf("refused for %q, want %q", got.Why.Code, c)
		}
	}
}

func TestJobIsNotRejectedWhileASiteIsSilent(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer("oslo", noBids("train", protocol.FitsNoNode))
	s.wait()
	if h := lastSent[protocol.Defer](s); h.Job != "train" || h.Until <= s.now {
		t.Errorf("held %+v", h)
	}
}

func TestJobWithoutBidsIsRejectedAfterPatience(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	for count[protocol.Reject](s.sent) == 0 {
		s.wait() // oslo never answers
	}
	if last := s.job().Deadline.Add(24 * time.Hour); s.now < last || s.now > last.Add(2*time.Minute) {
		t.Errorf("refused at %v, want shortly after %v", s.now, last)
	}
	if lastSent[protocol.Reject](s).Why.Code != protocol.NoBids || s.market.Due() != 0 {
		t.Errorf("refused %+v, due %v", lastSent[protocol.Reject](s), s.market.Due())
	}
}

func TestADeclinedJobIsInTheNextRoundUnderANewEpoch(t *testing.T) {
	s := sold(t)
	s.send("agent/oslo", protocol.Decline{Job: "train", Epoch: 1})
	declined := s.now
	if s.wait(); s.now != declined.Add(time.Second) {
		t.Errorf("called again at %v, declined at %v", s.now, declined)
	}
	if n := len(lastSent[protocol.CallForBids](s).Jobs); n != 1 {
		t.Fatalf("%d jobs called", n)
	}
	s.offer("bern", bidsOf("train", s.option(0, time.Hour)))
	s.offer("oslo", noBids("train", protocol.NoCapacity))
	if a := lastSent[protocol.Award](s); a.Epoch != 2 || s.market.lots["train"].site != "bern" {
		t.Errorf("awarded %+v", a)
	}
	s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: 1})
	if n := s.market.RefusalCounts()["accept-of-nothing"]; n != 1 {
		t.Errorf("the accept of a site that declined was counted %d times", n)
	}
}

// sold returns a market that has just awarded the job to oslo.
func sold(t *testing.T) *testMarket {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	s.wait()
	s.offer("bern", noBids("train", protocol.NoCapacity))
	s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
	return s
}

func TestExpiredLeaseRequeuesTheJob(t *testing.T) {
	s := sold(t)
	lease := lastSent[protocol.Award](s).Lease
	s.wait()
	if s.now != lease || s.market.RefusalCounts()["lease-ended"] != 1 {
		t.Errorf("called again at %v; counts %v", s.now, s.market.RefusalCounts())
	}
	s.offer("oslo", noBids("train", protocol.NoCapacity))
	s.offer("bern", bidsOf("train", s.option(0, time.Hour)))
	if a := lastSent[protocol.Award](s); a.Epoch != 2 {
		t.Fatalf("awarded %+v", a)
	}
	for _, b := range []protocol.Body{protocol.Accept{Job: "train", Epoch: 1}, protocol.Decline{Job: "train", Epoch: 1}} {
		s.send("agent/oslo", b)
	}
	if c := s.market.RefusalCounts(); c["accept-of-nothing"] != 1 || c["decline-of-nothing"] != 1 || s.market.lots["train"].state != awarded {
		t.Errorf("counts %v", c)
	}
}

func TestLateAcceptCountsUntilTheNextAward(t *testing.T) {
	s := sold(t)
	s.wait() // the lease ends, and a round opens
	s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: 1})
	s.offer("oslo", noBids("train", protocol.NoCapacity))
	before := count[protocol.Award](s.sent)
	s.offer("bern", bidsOf("train", s.option(0, time.Hour)))
	if count[protocol.Award](s.sent) != before {
		t.Fatal("the job runs at oslo and was awarded to bern")
	}
	d := s.done(lastSent[protocol.Award](s))
	s.now = d.Ended
	if s.send("agent/oslo", d); lastSent[protocol.Settlement](s).Site != "oslo" {
		t.Error("not settled with oslo")
	}
}

func TestMalformedJobIsRejectedWithAReason(t *testing.T) {
	for name, spoil := range map[string]func(*protocol.Job){
		"cpu":           func(j *protocol.Job) { j.CPU = -1 },
		"run":           func(j *protocol.Job) { j.Run = -1 },
		"models":        func(j *protocol.Job) { j.Models = []string{strings.Repeat("x", 129)} },
		"deadline":      func(j *protocol.Job) { j.Deadline = j.Arrival - 1 },
		"arrival: over": func(j *protocol.Job) { j.Arrival, j.Deadline = 1, 2 },
	} {
		s := newTestMarket(t, "oslo")
		j := s.job()
		spoil(&j)
		s.send(protocol.Submitter, protocol.Submit{Job: j})
		if r := lastSent[protocol.Reject](s); r.Why.Code != protocol.Malformed || !strings.Contains(r.Why.Note, name) {
			t.Errorf("%s: refused with %+v", name, r.Why)
		}
		if s.market.Due() != 0 {
			t.Errorf("%s: the job is still waited for", name)
		}
	}
}

func TestAJobIsNotCalledBeforeItArrives(t *testing.T) {
	s := newTestMarket(t, "oslo")
	j := s.job()
	j.Arrival = noon.Add(time.Hour)
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	if s.wait(); s.now < j.Arrival {
		t.Errorf("called at %v, it arrives at %v", s.now, j.Arrival)
	}
}

func TestAFullCallLeavesTheRestForTheNext(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.market.cfg.Most = 2
	for _, id := range []protocol.JobID{"a", "b", "c", "d", "e"} {
		j := s.job()
		j.ID = id
		s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	var called []int
	for range 3 {
		s.wait()
		called = append(called, len(lastSent[protocol.CallForBids](s).Jobs))
	}
	if !slices.Equal(called, []int{2, 2, 1}) {
		t.Errorf("called %v", called)
	}
	// The rule keeps the plan of those that its full round left out.
	var left []int
	for _, r := range s.rule.rounds {
		left = append(left, len(r.LeftOut))
	}
	if full := s.rule.rounds[0]; !slices.Equal(left, []int{3, 0}) || !slices.Equal(full.LeftOut, []protocol.JobID{"c", "d", "e"}) {
		t.Errorf("%v are left out, of the full round %v", left, full.LeftOut)
	}
}

// However many sites are asked, a round has no more bids than the market can read within its window:
// with many sites a call has fewer jobs, and the others are in the next calls.
func TestACallOfManySitesHasFewerJobs(t *testing.T) {
	for _, tc := range []struct{ sites, jobs, called int }{{4, 500, 500}, {50, 2100, 2000}, {1000, 2000, 1562}, {1000, 99, 99}} {
		s := newTestMarket(t)
		for i := range tc.sites {
			name := fmt.Sprint("site-", i)
			s.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
		}
		for i := range tc.jobs {
			j := s.job()
			j.ID, j.Regions = protocol.JobID(fmt.Sprintf("job-%04d", i)), nil
			s.send(protocol.Submitter, protocol.Submit{Job: j})
		}
		called := 0
		for called < tc.jobs {
			s.wait()
			jobs := lastSent[protocol.CallForBids](s).Jobs
			if called == 0 && len(jobs) != tc.called {
				t.Errorf("%d jobs are called at %d sites; want %d", len(jobs), tc.sites, tc.called)
			}
			called += len(jobs)
			for i := range tc.sites {
				s.offer(fmt.Sprint("site-", i))
			}
		}
	}
}

// Jobs in the first call are served first. Job ids are their tenants' choice, and must not decide
// that.
func TestFullCallHoldsTheHighestPriorities(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.market.cfg.Most = 2
	for i, id := range []protocol.JobID{"d", "c", "b", "a"} {
		j := s.job()
		j.ID, j.Arrival = id, noon.Add(time.Duration(i-4)*time.Hour)
		if id == "b" {
			j.Priority = 5
		}
		s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	for _, want := range [][]protocol.JobID{{"d", "b"}, {"c", "a"}} {
		s.wait()
		var called []protocol.JobID
		for _, j := range lastSent[protocol.CallForBids](s).Jobs {
			called = append(called, j.ID)
		}
		if !slices.Equal(called, want) {
			t.Errorf("called %v; want %v", called, want)
		}
	}
}

// Jobs may have long lists of models and sites. A call of them fits into a message all the same,
// and the rest goes into the next call.
func TestCallFitsIntoAMessageWhateverItsJobs(t *testing.T) {
	s := newTestMarket(t, "oslo")
	j := s.job()
	j.Models, j.Regions = nil, nil
	for i := range 64 {
		name := fmt.Sprintf("%0128d", i)
		j.Models, j.Regions = append(j.Models, name), append(j.Regions, name)
	}
	const n = 600 // some 10 MB
	for i := range n {
		j.ID = protocol.JobID(fmt.Sprint("job-", i))
		s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	called := 0
	for called < n {
		for _, m := range s.wait() {
			if _, err := protocol.Encode(m); err != nil {
				t.Fatal(err)
			}
			if c, ok := m.Body.(protocol.CallForBids); ok && called < n {
				called += len(c.Jobs)
			}
		}
	}
}

func TestLotsAreDueAtMultiplesOfGather(t *testing.T) {
	s := newTestMarket(t, "oslo")
	s.now += 123
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	for range 5 {
		if s.wait(); s.now%1000 != 0 {
			t.Fatalf("due at %v", s.now)
		}
	}
}

func TestTaskIsSentToTheWinnerOnly(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job(), Task: "secret"})
	s.wait()
	if c := fmt.Sprint(lastSent[protocol.CallForBids](s)); strings.Contains(c, "secret") {
		t.Errorf("called out: %s", c)
	}
	s.offer("bern", noBids("train", protocol.NoCapacity))
	s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
	if a := lastSent[protocol.Award](s); a.Task != "secret" {
		t.Errorf("awarded %+v", a)
	}
	s.send(protocol.Submitter, protocol.Submit{Job: s.job(), Task: "another"})
	if r := lastSent[protocol.Reject](s); r.Why.Code != protocol.Duplicate {
		t.Errorf("refused %+v", r)
	}
}

// Only a digest of an old ended job is kept: the same submission still changes nothing, and
// another job of its id is rejected.
func TestOldEndedJobIsKnownByItsDigest(t *testing.T) {
	s := newTestMarket(t, "oslo")
	j := s.job()
	for i := range MaxWholeEndedJobs + 1 {
		j.ID = protocol.JobID(fmt.Sprint("job-", i))
		s.send(protocol.Submitter, protocol.Submit{Job: j, Task: "train"})
		s.send(protocol.Submitter, protocol.Cancel{Job: j.ID})
		s.sent = s.sent[:0]
	}
	j.ID = "job-0"
	s.send(protocol.Submitter, protocol.Submit{Job: j, Task: "train"})
	if c := lastSent[protocol.Confirm](s); c.Job != j.ID || c.Code != protocol.JobClosed {
		t.Errorf("the same again: %+v", c)
	}
	s.send(protocol.Submitter, protocol.Submit{Job: j, Task: "serve"})
	if r := lastSent[protocol.Reject](s); r.Job != j.ID || r.Why.Code != protocol.Duplicate {
		t.Errorf("another of its id: %+v", r)
	}
}
