package market

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// dividedJob has two parts of one pod with one GPU, for two sites.
func (s *testMarket) dividedJob() protocol.Job {
	j := s.job()
	j.GPUs, j.Share, j.CPU = 0, 0, 0
	j, _ = j.WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 1, Share: 1000, CPU: 4000}}).WithEqualParts(2)
	j.MaxSites = 2
	return j
}

// awardParts submits the job and has bern awarded part 1 and oslo part 2.
func (s *testMarket) awardParts() {
	s.Helper()
	s.send(protocol.Submitter, protocol.Submit{Job: s.dividedJob()})
	s.callParts()
}

func (s *testMarket) callParts() {
	s.Helper()
	for s.market.round == nil {
		s.wait()
	}
	s.offer("bern", bidsOf("train.1", s.option(0, time.Hour)), noBids("train.2", protocol.NoCapacity))
	s.offer("oslo", noBids("train.1", protocol.NoCapacity), bidsOf("train.2", s.option(0, time.Hour)))
}

func (s *testMarket) acceptPart(site string, id protocol.JobID, epoch uint64) []protocol.Message {
	return s.send(protocol.AgentParty(site), protocol.Accept{Job: id, Epoch: epoch, Start: s.now})
}

// confirms returns which site got which Confirm of the given code.
func confirms(ms []protocol.Message, code protocol.Code) (to []string) {
	for _, m := range ms {
		if c, ok := m.Body.(protocol.Confirm); ok && c.Code == code {
			to = append(to, m.To.SiteName())
		}
	}
	slices.Sort(to)
	return to
}

// events returns the kinds of the events of the last step.
func (s *testMarket) eventKinds() (kinds []string) {
	for _, m := range s.market.Events() {
		kinds = append(kinds, m.KindName())
	}
	return kinds
}

// G-X1: no Confirm before the last Accept and the fact that commits.
func TestPartsStandOnceAllSitesAccepted(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.awardParts()
	if c := lastSent[protocol.CallForBids](s); len(c.Jobs) != 2 || c.Jobs[0].ID != "train.1" || c.Jobs[1].PartOf != "train" {
		t.Fatalf("called %+v", c.Jobs)
	}
	w := lastSent[protocol.Award](s)
	if n := count[protocol.Award](s.sent); n != 2 || w.Epoch != 1 || w.Lease != s.now.Add(30*time.Second) {
		t.Fatalf("%d awards, the last %+v; want 2 of one epoch with a lease of 30 s", n, w)
	}
	if sent := s.acceptPart("bern", "train.1", 1); len(sent) != 0 {
		t.Fatalf("one site accepted, and the market sends %v", sent)
	}
	s.now = s.now.Add(2 * time.Second)
	sent := s.acceptPart("oslo", "train.2", 1)
	if got := confirms(sent, protocol.AcceptConfirmed); !slices.Equal(got, []string{"bern", "oslo"}) {
		t.Errorf("confirmed to %v, want both", got)
	}
	d := lastSent[protocol.PartsDecided](s)
	if kinds := s.eventKinds(); !slices.Equal(kinds, []string{"accept", "parts"}) || !d.Committed || len(d.Parts) != 2 || d.StartBy != s.now.Add(20*time.Minute) {
		t.Errorf("events %v, decided %+v", kinds, d)
	}
	for site, id := range map[string]protocol.JobID{"bern": "train.1", "oslo": "train.2"} {
		s.send(protocol.AgentParty(site), protocol.Started{Job: id, Epoch: 1})
	}
	if due := s.market.jobsDue(); due != 0 {
		t.Errorf("all parts run, and the market is due at %v", due)
	}
	for site, id := range map[string]protocol.JobID{"bern": "train.1", "oslo": "train.2"} {
		u := s.done(w)
		u.Job, s.now = id, max(s.now, u.Ended)
		s.send(protocol.AgentParty(site), u)
	}
	if l := s.market.lots["train"]; count[protocol.Settlement](s.sent) != 2 || l.state != ended {
		t.Errorf("%d settlements, and the job is in state %d", count[protocol.Settlement](s.sent), l.state)
	}
}

// G-X2: a Decline voids the other part at once, and the job is called again under a newer epoch.
func TestADeclinedPartVoidsTheOthers(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.awardParts()
	s.acceptPart("bern", "train.1", 1)
	sent := s.send("agent/oslo", protocol.Decline{Job: "train.2", Epoch: 1, Why: protocol.Reason{Code: protocol.CapacityTaken}})
	if got := confirms(sent, protocol.AwardVoid); !slices.Equal(got, []string{"bern", "oslo"}) {
		t.Errorf("void to %v, want both", got)
	}
	if d := lastSent[protocol.PartsDecided](s); d.Committed || d.Why.Code != protocol.PartLost {
		t.Errorf("decided %+v", d)
	}
	if sent := s.acceptPart("bern", "train.1", 1); !slices.Equal(confirms(sent, protocol.AwardVoid), []string{"bern"}) {
		t.Errorf("a late Accept is answered %v, want that it is void", sent)
	}
	s.callParts()
	if w := lastSent[protocol.Award](s); w.Epoch != 2 || count[protocol.Award](s.sent) != 4 {
		t.Errorf("awarded anew %+v", w)
	}
}

// G-X3: silence at the cut-off, five seconds before the lease ends, voids all.
func TestSilenceAtTheCutOffVoidsAllParts(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.awardParts()
	lease := lastSent[protocol.Award](s).Lease
	s.acceptPart("bern", "train.1", 1)
	sent := s.wait()
	if s.now != lease.Add(-5*time.Second) || !slices.Equal(confirms(sent, protocol.AwardVoid), []string{"bern"}) || count[protocol.PartsDecided](sent) != 1 {
		t.Errorf("at %v, with the lease until %v: %v", s.now, lease, sent)
	}
	if sent := s.acceptPart("oslo", "train.2", 1); !slices.Equal(confirms(sent, protocol.AwardVoid), []string{"oslo"}) {
		t.Errorf("an Accept after the cut-off is answered %v", sent)
	}
	s.callParts()
	// An Accept that comes after the cut-off while a round is open counts for nothing either.
	s.now = s.now.Add(26 * time.Second)
	if sent := s.acceptPart("bern", "train.1", 2); !slices.Equal(confirms(sent, protocol.AwardVoid), []string{"bern"}) {
		t.Errorf("an Accept after the cut-off is answered %v", sent)
	}
}

// G-X4: without the fact that commits, a successor voids the awards at their cut-off; with it, they stand.
func TestASuccessorPresumesAbort(t *testing.T) {
	for _, committed := range []bool{false, true} {
		s := newTestMarket(t, "bern", "oslo")
		var log []protocol.Message
		keep := func() { log = append(log, slices.Clone(s.market.Events())...) }
		for _, f := range []func(){
			func() {
				s.send("agent/bern", protocol.RegisterSite{Site: "bern", Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: 8}}})
			},
			func() {
				s.send("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: 8}}})
			},
			func() { s.send(protocol.Submitter, protocol.Submit{Job: s.dividedJob()}) },
			func() { s.callParts() },
			func() { s.acceptPart("bern", "train.1", 1) },
			func() { s.acceptPart("oslo", "train.2", 1) },
		} {
			f()
			keep()
		}
		if !committed {
			log = log[:len(log)-1]
			if log[len(log)-1].KindName() != "accept" {
				t.Fatalf("the log ends with %s", log[len(log)-1].KindName())
			}
		}
		s.market = New(Config{}, s.rule)
		for _, m := range log {
			s.market.Restore(m)
		}
		s.sent = nil
		if committed {
			if sent := s.acceptPart("bern", "train.1", 1); !slices.Equal(confirms(sent, protocol.AcceptConfirmed), []string{"bern"}) {
				t.Errorf("committed, and the successor says %v", sent)
			}
			continue
		}
		for len(s.sent) == 0 {
			s.wait()
		}
		if got := confirms(s.sent, protocol.AwardVoid); !slices.Equal(got, []string{"bern", "oslo"}) {
			t.Errorf("not committed, and the successor voids %v", got)
		}
	}
}

// G-X5, G-X6: who stands and does not start is stopped everywhere at the deadline; the job is called again once
// all are gone, and whoever did not start is passed over.
func TestPartsThatDoNotStartAreStoppedEverywhere(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.awardParts()
	s.acceptPart("bern", "train.1", 1)
	s.acceptPart("oslo", "train.2", 1)
	s.send("agent/bern", protocol.Started{Job: "train.1", Epoch: 1})
	by := lastSent[protocol.PartsDecided](s).StartBy
	sent := s.wait()
	if s.now != by || count[protocol.Preempt](sent) != 2 || lastSent[protocol.PartsDecided](s).Why.Code != protocol.NotStarted {
		t.Fatalf("at %v of %v: %v", s.now, by, sent)
	}
	if l := s.market.lots["train.2"]; l.reneges[0].passOverRounds == 0 {
		t.Errorf("oslo did not start, and has %+v", l.reneges)
	}
	if sent := s.wait(); count[protocol.Preempt](sent) != 2 { // they may have been lost
		t.Errorf("the sites are not asked again: %v", sent)
	}
	restored := s.restored()
	for site, want := range map[string]protocol.Milli{"bern": 1000, "oslo": 1200} { // counted once, also after a restart
		if f, again := s.market.trust.TrustFactor(site), restored.trust.TrustFactor(site); f != want || again != want {
			t.Errorf("the trust factor of %s is %d, and %d after a restart; want %d", site, f, again, want)
		}
	}
	s.send("agent/bern", protocol.Preempted{Job: "train.1", Epoch: 1, Why: protocol.Reason{Code: protocol.PartLost}, Started: s.now - 1000, Ended: s.now, IT: 1, Energy: 1})
	if st := lastSent[protocol.Settlement](s); !st.Part || st.Payer != "lab" {
		t.Errorf("what ran is settled %+v", st)
	}
	if s.market.lots["train.1"].due != 0 {
		t.Error("a part is to be called while another is at its site")
	}
	s.send("agent/oslo", protocol.Decline{Job: "train.2", Epoch: 1, Why: protocol.Reason{Code: protocol.PartLost}})
	s.callParts()
	if w := lastSent[protocol.Award](s); w.Epoch != 2 {
		t.Errorf("awarded anew %+v", w)
	}
}

func TestACancelledJobStopsAllParts(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.awardParts()
	s.acceptPart("bern", "train.1", 1)
	s.acceptPart("oslo", "train.2", 1)
	if sent := s.send(protocol.Submitter, protocol.Cancel{Job: "train"}); count[protocol.Cancel](sent) != 2 {
		t.Fatalf("cancelled: %v", sent)
	}
	s.send("agent/bern", protocol.Decline{Job: "train.1", Epoch: 1, Why: reasonCancelled})
	if count[protocol.Reject](s.sent) != 0 {
		t.Fatal("the job is over while a part is at its site")
	}
	s.send("agent/oslo", protocol.Decline{Job: "train.2", Epoch: 1, Why: reasonCancelled})
	if r := lastSent[protocol.Reject](s); r.Job != "train" || r.Why.Code != protocol.Cancelled || s.market.lots["train"].state != ended {
		t.Errorf("refused %+v", r)
	}
	if due := s.market.Due(); due != 0 {
		t.Errorf("nothing is left, and the market is due at %v", due)
	}
}

func TestAPartThatNoSiteCanRunRefusesTheWholeJob(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.dividedJob()})
	s.wait()
	for _, site := range []string{"bern", "oslo"} {
		s.offer(site, bidsOf("train.1", s.option(0, time.Hour)), noBids("train.2", protocol.NoSuchGPU))
	}
	if r := lastSent[protocol.Reject](s); r.Job != "train" || r.Why.Code != protocol.NoSuchGPU || count[protocol.Reject](s.sent) != 1 || count[protocol.Award](s.sent) != 0 {
		t.Errorf("refused %+v, in all %v", r, s.sent)
	}
}

func TestPartsAreTheMarketsOwn(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	part := s.job()
	part.ID, part.PartOf, part.MaxSites = "odd", "other", 2
	taken := s.job()
	taken.ID = "train.2"
	for _, j := range []protocol.Job{part, taken, s.dividedJob()} {
		s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	if n := count[protocol.Reject](s.sent); n != 2 || lastSent[protocol.Reject](s).Job != "train" {
		t.Errorf("%d are refused: %v", n, s.sent)
	}
}

// Both parts of a job stand at one site, and an operator declares it lost: the job is called again, and its next
// award has a newer epoch, though the start deadline of the last one had not come.
func TestPartsOfALostSiteAreAwardedAnew(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.dividedJob()})
	for s.market.round == nil {
		s.wait()
	}
	s.offer("oslo", noBids("train.1", protocol.NoCapacity), noBids("train.2", protocol.NoCapacity))
	s.offer("bern", bidsOf("train.1", s.option(0, time.Hour)), bidsOf("train.2", s.option(0, time.Hour)))
	s.acceptPart("bern", "train.1", 1)
	s.acceptPart("bern", "train.2", 1)
	s.send(protocol.OperatorAPI, protocol.DecommissionSite{Site: "bern", By: "ada"})
	for s.market.round == nil {
		s.wait()
	}
	s.offer("oslo", bidsOf("train.1", s.option(0, time.Hour)), bidsOf("train.2", s.option(0, time.Hour)))
	if w := lastSent[protocol.Award](s); w.Epoch != 2 || count[protocol.Award](s.sent) != 4 {
		t.Errorf("awarded anew %+v", w)
	}
}

// What sites promise lies further apart than parts may start: none stands.
func TestPartsPromisedFarApartDoNotStand(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.awardParts()
	s.acceptPart("bern", "train.1", 1)
	sent := s.send("agent/oslo", protocol.Accept{Job: "train.2", Epoch: 1, Start: s.now.Add(20 * time.Minute)})
	if d := lastSent[protocol.PartsDecided](s); d.Committed || d.Why.Code != protocol.PartsApart || len(confirms(sent, protocol.AwardVoid)) != 2 {
		t.Errorf("decided %+v, sent %v", d, sent)
	}
}

// Silence at the cut-off counts against trust while another site holds room, and once; restored, too. It does not
// where nobody held room, nor of an award that a predecessor sent, since what was answered may have gone to that one.
func TestSilenceAtTheCutOffCountsAgainstTrust(t *testing.T) {
	for _, tc := range []struct {
		name               string
		accepts, takenOver bool
		want               protocol.Milli
	}{{"while bern holds room", true, false, 1200}, {"while nobody does", false, false, accounts.HonestFactor}, {"of an award of the predecessor", true, true, accounts.HonestFactor}} {
		s := newTestMarket(t, "bern", "oslo")
		var log []protocol.Message
		restored := func() *Market {
			k := New(Config{}, s.rule)
			for _, m := range log {
				k.Restore(m)
			}
			return k
		}
		step := func(do func()) {
			do()
			log = append(log, slices.Clone(s.market.Events())...)
		}
		step(func() { s.send(protocol.Submitter, protocol.Submit{Job: s.dividedJob()}) })
		step(func() { s.callParts() })
		if tc.accepts {
			step(func() { s.acceptPart("bern", "train.1", 1) })
		}
		if tc.takenOver {
			s.market = restored()
		}
		for count[protocol.PartsDecided](s.sent) == 0 {
			step(func() { s.wait() })
		}
		for _, k := range []*Market{s.market, restored()} {
			if bern, oslo := k.trust.TrustFactor("bern"), k.trust.TrustFactor("oslo"); bern != accounts.HonestFactor || oslo != tc.want {
				t.Errorf("silence %s: factors of %d for bern and %d for oslo; want 1000 and %d", tc.name, bern, oslo, tc.want)
			}
		}
		why := lastSent[protocol.PartsDecided](s).Why
		if says := strings.Contains(why.Note, "oslo did not accept train.2 in time, which counts against the trust factor"); says != (tc.want > accounts.HonestFactor) {
			t.Errorf("silence %s: decided because %+v", tc.name, why)
		}
	}
}

// A part that has ended holds no room, though its site accepted it once: silence on the award of another then harms
// nobody.
func TestAnEndedPartDoesNotMakeAnotherSilent(t *testing.T) {
	for held, want := range map[state]int{awarded: 1, ended: 0} {
		w := &lot{parts: []*lot{{state: held, prepared: true}, {state: awarded, asked: true}}}
		if got := len(w.silentParts()); got != want {
			t.Errorf("beside an accepted part in state %v, %d are silent; want %d", held, got, want)
		}
	}
}
