package market

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// The first sample sets mean and half of it as deviation; later ones weigh an eighth and a quarter
// (RFC 6298).
func TestAnswerTimeFollowsTCP(t *testing.T) {
	ms := time.Millisecond
	for _, tc := range []struct {
		name   string
		took   []time.Duration
		mean   time.Duration
		latest time.Duration
	}{
		{"never answered", nil, 0, 0},
		{"the first answer", []time.Duration{80 * ms}, 80 * ms, 240 * ms},
		{"the same again", []time.Duration{80 * ms, 80 * ms}, 80 * ms, 200 * ms},
		{"a slower one", []time.Duration{80 * ms, 160 * ms}, 90 * ms, 290 * ms},
		{"a faster one", []time.Duration{80 * ms, 0}, 70 * ms, 270 * ms},
		{"steady", slices.Repeat([]time.Duration{80 * ms}, 40), 80 * ms, 80 * ms},
	} {
		var a answerTime
		for _, took := range tc.took {
			a.observe(took)
		}
		if a.mean != tc.mean || a.latest().Round(ms) != tc.latest {
			t.Errorf("%s: mean %v, latest %v; want %v, %v", tc.name, a.mean, a.latest(), tc.mean, tc.latest)
		}
	}
}

// planned is a site of the table below, by how it answered.
type planned struct {
	took    time.Duration // each of its answers; negative: it never answered
	suspect bool
}

func TestWindowFollowsTheSitesThatAreWaitedFor(t *testing.T) {
	ms := time.Millisecond
	fast, never := planned{took: 5 * ms}, planned{took: -1}
	dead := planned{took: 5 * ms, suspect: true}
	for _, tc := range []struct {
		name    string
		sites   []planned
		jobs    int
		window  time.Duration
		awaited int
	}{
		{"fast sites", []planned{fast, fast, fast}, 0, minWindow, 3},
		{"a distant site is waited for", []planned{fast, fast, fast, {took: 400 * ms}}, 0, 400 * ms, 4},
		{"a slow one is not", []planned{fast, fast, fast, {took: 1500 * ms}}, 0, minWindow, 3},
		{"all are slow alike", []planned{{took: 1500 * ms}, {took: 1400 * ms}}, 0, 1500 * ms, 2},
		{"a dead one is not", []planned{fast, fast, fast, dead}, 0, minWindow, 3},
		{"all are dead", []planned{dead, dead}, 0, 2 * time.Second, 2},
		{"a new one has the time of slow ones", []planned{fast, fast, fast, never}, 0, slowFactor * minWindow, 4},
		{"all are new", []planned{never, never}, 0, 2 * time.Second, 2},
		{"many jobs take longer", []planned{fast, fast}, 100, minWindow + answerAllowance(100, 2), 2},
		{"never beyond the configured window", []planned{fast, fast}, 100_000, 2 * time.Second, 2},
		{"no site", nil, 0, 2 * time.Second, 0},
	} {
		k := New(Config{}, &soonest{})
		for i, p := range tc.sites {
			name := fmt.Sprint("site-", i)
			k.recordSite(protocol.RegisterSite{Site: name})
			s := k.sites[name]
			for range 40 {
				if p.took >= 0 {
					s.answers.observe(p.took)
				}
			}
			if p.suspect {
				s.suspectSite(noon)
			}
		}
		window, awaited := k.planWindow(answerAllowance(tc.jobs, len(k.sites)))
		if window.Round(ms) != tc.window || len(awaited) != tc.awaited {
			t.Errorf("%s: waits %v for %d sites; want %v for %d", tc.name, window, len(awaited), tc.window, tc.awaited)
		}
	}
}

// round has a job submitted and called, and the sites answer after so long each, in this order. It
// returns how long the round was open. The winner accepts.
func (s *testMarket) round(id protocol.JobID, took ...after) time.Duration {
	s.Helper()
	j := s.job()
	j.ID, j.Regions, j.Arrival, j.Deadline = id, nil, s.now, s.now.Add(8*time.Hour)
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	for s.market.round == nil {
		s.wait()
	}
	opened := s.now
	for _, a := range took {
		if at := opened.Add(a.took); s.market.round != nil && at > s.market.round.closes {
			s.wait()
		}
		s.now = max(s.now, opened.Add(a.took))
		s.send(protocol.AgentParty(a.site), protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{bidsOf(id, a.option)}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}})
	}
	if s.market.round != nil {
		s.wait()
	}
	a := lastSent[protocol.Award](s)
	s.send(protocol.AgentParty(s.market.lots[id].site), protocol.Accept{Job: id, Epoch: a.Epoch})
	return a.Lease.Sub(opened) - 10*time.Second
}

// An after is the answer of a site to a round.
type after struct {
	site   string
	took   time.Duration
	option protocol.BidOption
}

// A dead site costs one window, and none after it until it is heard: by any message, or by the
// monitor, which hears heartbeats.
func TestADeadSiteIsWaitedForOnce(t *testing.T) {
	for name, heard := range map[string]func(*testMarket){
		"a message": func(s *testMarket) { s.send("agent/oslo", protocol.RegisterSite{Site: "oslo"}) },
		"its heartbeats": func(s *testMarket) {
			s.send(protocol.SiteMonitor, protocol.SiteCondition{Site: "oslo", State: protocol.SiteOK, Since: s.now})
		},
		"stale signals are no silence": func(s *testMarket) {
			s.send(protocol.SiteMonitor, protocol.SiteCondition{Site: "oslo", State: protocol.SignalsStale, Since: s.now})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestMarket(t, "bern", "oslo")
			bern := after{"bern", 5 * time.Millisecond, s.option(time.Hour, time.Hour)}
			for i, want := range []time.Duration{2 * time.Second, bern.took, bern.took} {
				if got := s.round(protocol.JobID(fmt.Sprint("job-", i)), bern); got != want {
					t.Fatalf("round %d was open for %v; want %v", i, got, want)
				}
			}
			if _, suspect := s.market.Suspects()["oslo"]; !suspect || count[protocol.CallForBids](s.sent) != 3 {
				t.Fatalf("suspects %v after %d calls", s.market.Suspects(), count[protocol.CallForBids](s.sent))
			}
			heard(s)
			if got := s.round("job-4", bern); got <= bern.took || len(s.market.Suspects()) != 1 {
				t.Errorf("it was heard, and the round closed after %v without it", got)
			}
		})
	}
}

// A site that lives and answers no call is not waited for again and again.
func TestHeartbeatsOfASiteThatNeverAnswersAreNoAnswers(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	bern := after{"bern", 5 * time.Millisecond, s.option(time.Hour, time.Hour)}
	for i := range hopelessMisses {
		if s.round(protocol.JobID(fmt.Sprint("job-", i)), bern) == bern.took {
			t.Fatalf("round %d did not wait", i)
		}
		if suspects := s.market.Suspects(); (len(suspects) == 1) != (i+1 < hopelessMisses) {
			t.Fatalf("after %d misses the monitor is to tell of %v", i+1, suspects)
		}
		if len(s.market.Suspects()) == 1 {
			s.send(protocol.SiteMonitor, protocol.SiteCondition{Site: "oslo", State: protocol.SiteOK, Since: s.now})
		}
	}
	if got := s.round("job-last", bern); got != bern.took {
		t.Errorf("waited %v", got)
	}
}

// A site that the monitor finds silent, or whose keys are revoked, is not waited for at all, also by
// the next leader.
func TestASilentSiteIsNotWaitedFor(t *testing.T) {
	for _, c := range []struct {
		from  protocol.Party
		state protocol.SiteState
	}{{protocol.SiteMonitor, protocol.SiteSilent}, {protocol.OperatorAPI, protocol.SiteRevoked}} {
		s := newTestMarket(t, "bern", "oslo")
		condition := s.message(c.from, protocol.SiteCondition{Site: "oslo", State: c.state, Since: s.now})
		s.market.Step(s.now, condition)
		if events := s.market.Events(); len(events) != 1 {
			t.Fatalf("%d events", len(events))
		}
		next := New(Config{}, &soonest{})
		for _, name := range []string{"bern", "oslo"} {
			next.Restore(s.message(protocol.AgentParty(name), protocol.RegisterSite{Site: name}))
		}
		next.Restore(condition)
		if !reflect.DeepEqual(next.Suspects(), s.market.Suspects()) || len(next.Suspects()) != 1 {
			t.Errorf("%s: the next leader suspects %v, this one %v", c.state, next.Suspects(), s.market.Suspects())
		}
		bern := after{"bern", 5 * time.Millisecond, s.option(time.Hour, time.Hour)}
		if got := s.round("job", bern); got != bern.took {
			t.Errorf("%s: the round was open for %v", c.state, got)
		}
	}
}

// Bids that come late count in the next round: an option that starts now starts when that round is
// called. The site's own answer to the next round replaces them, and they count once.
func TestLateBidsCountInTheNextRound(t *testing.T) {
	for _, tc := range []struct {
		name    string
		pause   time.Duration // between the rounds
		answers bool          // oslo answers the second round
		want    string        // who wins it
		used    int
	}{
		{"it does not answer the next round", 0, false, "oslo", 1},
		{"it answers the next round", 0, true, "bern", 0},
		{"the next round comes much later", time.Hour, false, "bern", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newTestMarket(t, "bern", "oslo")
			s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
			s.wait()
			first := s.market.round.call.opened
			s.offer("bern", noBids("train", protocol.NoCapacity))
			s.wait() // closes without oslo
			s.now = s.now.Add(time.Second)
			s.send("agent/oslo", protocol.Bids{Round: 1, Capacity: []protocol.CapacityProfile{freeCapacity(first)}, Jobs: []protocol.JobBids{
				bidsOf("train", protocol.BidOption{Start: first, Finish: first.Add(time.Hour), Model: "V100"}), bidsOf("ghost", s.option(0, time.Hour)),
			}})
			if s.market.counts["offer-too-late"] != 1 {
				t.Fatalf("counts %v", s.market.counts)
			}
			s.now = s.now.Add(tc.pause)
			s.wait()
			opened := s.market.round.call.opened
			s.market.sites["oslo"].suspectSite(s.now) // else the round waits for its answer
			delete(s.market.round.awaited, "oslo")
			if tc.answers {
				s.offer("oslo", noBids("train", protocol.NoCapacity))
			}
			s.offer("bern", bidsOf("train", s.option(time.Minute, time.Hour)))
			a, to := lastSent[protocol.Award](s), s.market.lots["train"].site
			if to != tc.want || s.market.counts["late-offer-used"] != tc.used || s.market.counts["offer-for-unknown-job"] != 0 || s.market.counts[string(protocol.ImpossibleBid)] != 0 {
				t.Errorf("awarded to %s; counts %v", to, s.market.counts)
			}
			if to == "oslo" && (a.Option.Start != opened || a.Option.Finish != opened.Add(time.Hour)) {
				t.Errorf("from %v to %v, called at %v", a.Option.Start, a.Option.Finish, opened)
			}
		})
	}
}

// A site that answers after its window is asked, and delays nobody; once it is fast again it is
// waited for.
func TestASlowSiteDelaysNobody(t *testing.T) {
	s := newTestMarket(t, "bern", "kiel", "oslo")
	n := 0
	play := func(slow time.Duration) time.Duration {
		n++
		return s.round(protocol.JobID(fmt.Sprint("job-", n)),
			after{"bern", 5 * time.Millisecond, s.option(time.Hour, time.Hour)},
			after{"kiel", 8 * time.Millisecond, s.option(2*time.Hour, time.Hour)},
			after{"oslo", slow, s.option(3*time.Hour, time.Hour)})
	}
	for range 10 {
		play(9 * time.Millisecond)
	}
	for range 10 {
		play(3 * time.Second)
	}
	if got := play(3 * time.Second); got != 8*time.Millisecond {
		t.Errorf("the slow site is waited for: %v", got)
	}
	for range 40 {
		play(9 * time.Millisecond)
	}
	if got := play(9 * time.Millisecond); got != 9*time.Millisecond {
		t.Errorf("it is fast again, and the round closed after %v", got)
	}
}
