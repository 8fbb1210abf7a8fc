package market

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A spurner does anything with a won job except run it.
type spurner func(*testMarket, protocol.Party, protocol.Award)

var spurners = map[string]spurner{
	"declines": func(s *testMarket, who protocol.Party, a protocol.Award) {
		s.send(who, protocol.Decline{Job: a.Job, Epoch: a.Epoch})
	},
	"lets the lease end": func(*testMarket, protocol.Party, protocol.Award) {},
	"gives it back": func(s *testMarket, who protocol.Party, a protocol.Award) {
		s.send(who, protocol.Accept{Job: a.Job, Epoch: a.Epoch})
		s.send(who, protocol.Decline{Job: a.Job, Epoch: a.Epoch})
	},
}

// clear has sites bid for the job in its next round, the first at the lowest price, and returns
// the award.
func (s *testMarket) clear(sites ...string) (to protocol.Party, a protocol.Award) {
	s.Helper()
	for count[protocol.CallForBids](s.wait()) == 0 {
	}
	var sent []protocol.Message
	for i, name := range sites {
		o := s.option(0, time.Hour)
		o.Money *= protocol.Microdollars(i + 1)
		sent = s.offer(name, bidsOf("train", o))
	}
	for _, m := range sent {
		if b, ok := m.Body.(protocol.Award); ok {
			to, a = m.To, b
		}
	}
	return to, a
}

// A site bids below all others and keeps no award. Another site has the job soon.
func TestRenegingSiteDoesNotStarveAJob(t *testing.T) {
	for name, spurn := range spurners {
		t.Run(name, func(t *testing.T) {
			s := newTestMarket(t, "bern", "oslo")
			s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
			for n := 1; ; n++ {
				to, a := s.clear("oslo", "bern")
				if to == "agent/bern" {
					if n != forgivenReneges+2 {
						t.Errorf("bern has it in round %d; oslo is forgiven %d times", n, forgivenReneges)
					}
					break
				}
				if to != "agent/oslo" || n > 2*forgivenReneges {
					t.Fatalf("in round %d it is awarded to %q", n, to)
				}
				spurn(s, to, a)
			}
			if s.market.RefusalCounts()["passed-over"] != 1 {
				t.Errorf("counts %v", s.market.RefusalCounts())
			}
		})
	}
}

// Nor do several such sites together.
func TestRenegingSitesDoNotStarveAJobTogether(t *testing.T) {
	s := newTestMarket(t, "bern", "kiel", "oslo", "rome")
	j := s.job()
	j.Regions = nil
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	for n := 1; ; n++ {
		to, a := s.clear("bern", "kiel", "oslo", "rome")
		if to == "agent/rome" {
			return
		}
		if n > 6*forgivenReneges {
			t.Fatalf("in round %d it is still awarded to %s", n, to)
		}
		spurners["declines"](s, to, a)
	}
}

// A site that bids alone is never skipped, and a skipped site gets its turn after some rounds.
func TestRenegingSiteIsSkippedForATimeIfOthersBid(t *testing.T) {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
	for n := range forgivenReneges + 7 {
		to, a := s.clear("oslo")
		if to == "" { // it waits for bern until the round closes
			s.wait()
			to, a = "agent/oslo", lastSent[protocol.Award](s)
		}
		if to != "agent/oslo" || s.market.lots["train"].site != "oslo" {
			t.Fatalf("in round %d it is awarded to %q", n, to)
		}
		spurners["declines"](s, to, a)
	}
	s.send("agent/bern", protocol.RegisterSite{Site: "bern"}) // it is back: rounds wait for it
	for n := 0; ; n++ {
		to, a := s.clear("oslo", "bern")
		if to == "agent/oslo" {
			if n != 64 {
				t.Errorf("oslo is passed over for %d rounds", n)
			}
			return
		}
		if n > 64 {
			t.Fatal("oslo is passed over for ever")
		}
		s.market.lots["train"].reneges = s.market.lots["train"].reneges[:1] // bern had bad luck, and is no matter here
		spurners["declines"](s, to, a)
	}
}

// A restored market has counted the same reneges as the one before.
func TestRenegesAreRestored(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newTestMarket(t, "bern", "oslo")
		var events []protocol.Message
		keep := func(sent []protocol.Message) []protocol.Message {
			events = append(events, s.market.Events()...)
			return sent
		}
		message := func(who protocol.Party, b protocol.Body) []protocol.Message { return keep(s.send(who, b)) }
		message("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100"}}})
		message(protocol.Submitter, protocol.Submit{Job: s.job()})
		answers := []protocol.Body{nil, protocol.Accept{}, protocol.Decline{}}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			l := s.market.lots["train"]
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				if l.state != accepted {
					keep(s.wait())
				}
			case 1:
				for _, name := range []string{"bern", "oslo"} {
					o := []protocol.JobBids{noBids("train", protocol.NoCapacity), bidsOf("train", s.option(0, time.Hour))}[rapid.IntRange(0, 1).Draw(rt, name)]
					message(protocol.AgentParty(name), protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{o}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}})
				}
			default:
				who := protocol.AgentParty(rapid.SampledFrom([]string{"bern", "oslo"}).Draw(rt, "who"))
				switch rapid.SampledFrom(answers).Draw(rt, "answer").(type) {
				case protocol.Accept:
					message(who, protocol.Accept{Job: "train", Epoch: l.epoch})
				case protocol.Decline:
					message(who, protocol.Decline{Job: "train", Epoch: l.epoch})
				}
			}
		}
		k := New(Config{}, &soonest{})
		for _, m := range events {
			k.Restore(m)
		}
		previous, got := s.market.lots["train"], k.lots["train"]
		if previous.state == called { // an award that ran out is counted when the job is called again
			got.leaseExpired()
		}
		if !reflect.DeepEqual(counted(got), counted(previous)) {
			rt.Fatalf("restored %+v; was %+v", got.reneges, previous.reneges)
		}
	})
}

// counted returns the reneges of a lot by site.
func counted(l *lot) map[string]renege {
	n := make(map[string]renege)
	for _, s := range l.reneges {
		if s.times > 0 {
			n[s.site] = s
		}
	}
	return n
}

// A round without skipped sites is unchanged.
func TestOnlySkippedSitesLoseTheirBids(t *testing.T) {
	all := []auction.SiteBids{{Site: "bern"}, {Site: "oslo"}}
	for _, c := range []struct {
		spurns []renege
		want   []auction.SiteBids
	}{
		{nil, all},
		{[]renege{{"oslo", 2, 0}}, all},
		{[]renege{{"oslo", 3, 1}}, all[:1]},
		{[]renege{{"oslo", 3, 1}, {"bern", 4, 2}}, all},
	} {
		if got := (&lot{reneges: c.spurns}).withoutReneging(all); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: heeded %+v, want %+v", c.spurns, got, c.want)
		}
	}
}
