package market

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A spurner does with a job that it won anything but run it.
type spurner func(*stage, protocol.Party, protocol.Award)

var spurners = map[string]spurner{
	"declines": func(s *stage, who protocol.Party, a protocol.Award) {
		s.tell(who, protocol.Decline{Job: a.Job, Epoch: a.Epoch})
	},
	"lets the lease end": func(*stage, protocol.Party, protocol.Award) {},
	"gives it back": func(s *stage, who protocol.Party, a protocol.Award) {
		s.tell(who, protocol.Accept{Job: a.Job, Epoch: a.Epoch})
		s.tell(who, protocol.Decline{Job: a.Job, Epoch: a.Epoch})
	},
}

// clear has sites offer for the job in its next round, the first at the least money,
// and returns who is awarded it.
func (s *stage) clear(sites ...string) (to protocol.Party, a protocol.Award) {
	s.Helper()
	for count[protocol.CallForBids](s.wait()) == 0 {
	}
	var said []protocol.Message
	for i, name := range sites {
		o := s.option(0, time.Hour)
		o.Money *= protocol.Microdollars(i + 1)
		said = s.offer(name, menu("train", o))
	}
	for _, m := range said {
		if b, ok := m.Body.(protocol.Award); ok {
			to, a = m.To, b
		}
	}
	return to, a
}

// A site bids below all others and keeps nothing. Others have the job soon.
func TestASiteThatKeepsNothingDoesNotStarveAJob(t *testing.T) {
	for name, spurn := range spurners {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "bern", "oslo")
			s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
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
func TestSitesThatKeepNothingDoNotStarveAJobTogether(t *testing.T) {
	s := newStage(t, "bern", "kiel", "oslo", "rome")
	j := s.job()
	j.Regions = nil
	s.tell(protocol.Submitter, protocol.Submit{Job: j})
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

// Who alone offers is heard, whatever it did; and who was passed over has its turn again.
func TestASiteIsPassedOverForOthersAndForATime(t *testing.T) {
	s := newStage(t, "bern", "oslo")
	s.tell(protocol.Submitter, protocol.Submit{Job: s.job()})
	for n := range forgivenReneges + 7 {
		to, a := s.clear("oslo")
		if to == "" { // it waits for bern until the round closes
			s.wait()
			to, a = "agent/oslo", the[protocol.Award](s)
		}
		if to != "agent/oslo" || s.market.lots["train"].site != "oslo" {
			t.Fatalf("in round %d it is awarded to %q", n, to)
		}
		spurners["declines"](s, to, a)
	}
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

// What became of awards is on the books: a market that is begun anew counts as the one
// before did.
func TestWhoDidNotKeepAJobIsRestored(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStage(t, "bern", "oslo")
		var facts []protocol.Message
		keep := func(said []protocol.Message) []protocol.Message {
			facts = append(facts, s.market.Events()...)
			return said
		}
		say := func(who protocol.Party, b protocol.Body) []protocol.Message { return keep(s.tell(who, b)) }
		say("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100"}}})
		say(protocol.Submitter, protocol.Submit{Job: s.job()})
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
					o := []protocol.JobBids{no("train", protocol.NoCapacity), menu("train", s.option(0, time.Hour))}[rapid.IntRange(0, 1).Draw(rt, name)]
					say(protocol.AgentParty(name), protocol.Bids{Round: s.market.rounds, Jobs: []protocol.JobBids{o}, Capacity: []protocol.CapacityProfile{room(s.now)}})
				}
			default:
				who := protocol.AgentParty(rapid.SampledFrom([]string{"bern", "oslo"}).Draw(rt, "who"))
				switch rapid.SampledFrom(answers).Draw(rt, "answer").(type) {
				case protocol.Accept:
					say(who, protocol.Accept{Job: "train", Epoch: l.epoch})
				case protocol.Decline:
					say(who, protocol.Decline{Job: "train", Epoch: l.epoch})
				}
			}
		}
		k := New(Config{}, &soonest{})
		for _, m := range facts {
			k.Restore(m)
		}
		lived, got := s.market.lots["train"], k.lots["train"]
		if lived.state == called { // an award that ran out is counted when the job is called again
			got.leaseExpired()
		}
		if !reflect.DeepEqual(counted(got), counted(lived)) {
			rt.Fatalf("restored %+v; was %+v", got.reneges, lived.reneges)
		}
	})
}

// counted returns what a lot has had of which site.
func counted(l *lot) map[string]renege {
	n := make(map[string]renege)
	for _, s := range l.reneges {
		if s.times > 0 {
			n[s.site] = s
		}
	}
	return n
}

// Where nobody is passed over a round is as it was.
func TestAMenuIsLeftOutOnlyOfWhoIsPassedOver(t *testing.T) {
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
