package market

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// noon is when these tests begin.
const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// soonest is a simple predictable rule: each lot gets the option that starts first; ties go by
// money, then site name. A lot without options waits a little over a minute, or over pause.
type soonest struct {
	rounds []auction.Round
	pause  time.Duration
}

func (s *soonest) ShadowPrices() []protocol.ShadowPrice { return nil }

func (s *soonest) Clear(r auction.Round) (out auction.Outcome) {
	s.rounds = append(s.rounds, r)
	for _, l := range r.Lots {
		d := auction.Decision{Verdict: auction.Defer, Until: r.Now.Add(cmp.Or(s.pause, time.Minute)) + 7, Why: protocol.Reason{Code: protocol.Waiting}}
		for _, m := range l.Bids {
			for _, o := range m.Options {
				if d.Verdict == auction.Defer || o.Start < d.Option.Start || o.Start == d.Option.Start && o.Money < d.Option.Money {
					d = auction.Decision{Verdict: auction.Award, Site: m.Site, Option: o, Why: protocol.Reason{Code: protocol.ByRule}}
				}
			}
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

// A testMarket is a market and the senders of all parties around it.
type testMarket struct {
	*testing.T
	market  *Market
	rule    *soonest
	now     protocol.Time
	senders map[protocol.Party]*protocol.Sender
	sent    []protocol.Message // by the market
	facts   []protocol.Message // its events
}

// newTestMarket returns a market with some registered sites.
func newTestMarket(t *testing.T, sites ...string) *testMarket {
	s := &testMarket{T: t, rule: &soonest{}, now: noon, senders: make(map[protocol.Party]*protocol.Sender)}
	s.market = New(Config{}, s.rule)
	for _, name := range sites {
		s.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
	}
	return s
}

// message returns the next message of a party.
func (s *testMarket) message(who protocol.Party, b protocol.Body) protocol.Message {
	if s.senders[who] == nil {
		s.senders[who] = &protocol.Sender{Party: who}
	}
	return s.senders[who].NewMessage(s.now, protocol.Coordinator, b)
}

// send sends a message of a party to the market, and returns what the market sends in answer.
func (s *testMarket) send(who protocol.Party, b protocol.Body) []protocol.Message {
	return s.record(s.market.Step(s.now, s.message(who, b)))
}

func (s *testMarket) record(ms []protocol.Message) []protocol.Message {
	s.sent, s.facts = append(s.sent, ms...), append(s.facts, s.market.Events()...)
	return ms
}

// restored returns a market that was restored from the events.
func (s *testMarket) restored() *Market {
	k := New(Config{}, &soonest{})
	for _, m := range s.facts {
		k.Restore(m)
	}
	return k
}

// wait moves the clock to when the market is due.
func (s *testMarket) wait() []protocol.Message {
	s.Helper()
	due := s.market.Due()
	if due == 0 {
		s.Fatal("the market is due at no time")
	}
	s.now = max(s.now, due)
	sent := s.record(s.market.Tick(s.now))
	if due := s.market.Due(); due != 0 && due <= s.now {
		s.Fatalf("after a tick at %v the market is due at %v", s.now, due)
	}
	return sent
}

// job is the job of most tests.
func (s *testMarket) job() protocol.Job {
	return protocol.Job{
		Urgency: protocol.UrgencyNow, ID: "train", Tenant: "lab", GPUs: 1, Share: 1000, CPU: 4000, Models: []string{"V100"}, Regions: []string{"bern", "oslo"},
		Arrival: noon, Run: time.Hour, Deadline: noon.Add(8 * time.Hour),
	}
}

func (s *testMarket) option(start, run time.Duration) protocol.BidOption {
	return protocol.BidOption{
		Start: s.now.Add(start), Finish: s.now.Add(start + run), Model: "V100",
		Energy: 720_000_000, Carbon: 40_000, Money: 10_000,
	}
}

func freeCapacity(at protocol.Time) protocol.CapacityProfile {
	return protocol.CapacityProfile{Model: "V100", From: at.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{4000}, Total: 4000}
}

// offer sends a site's bids for the open round.
func (s *testMarket) offer(site string, menus ...protocol.JobBids) []protocol.Message {
	return s.send(protocol.AgentParty(site), protocol.Bids{Round: s.market.rounds, Jobs: menus, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}})
}

func bidsOf(id protocol.JobID, options ...protocol.BidOption) protocol.JobBids {
	return protocol.JobBids{Job: id, Options: options}
}

func noBids(id protocol.JobID, c protocol.Code) protocol.JobBids {
	return protocol.JobBids{Job: id, Why: protocol.Reason{Code: c}}
}

// lastSent returns the last message body of a type that the market sent.
func lastSent[B protocol.Body](s *testMarket) (last B) {
	s.Helper()
	for _, m := range slices.Backward(s.sent) {
		if b, ok := m.Body.(B); ok {
			return b
		}
	}
	s.Fatalf("the market has sent no %T", last)
	return last
}

func count[B protocol.Body](ms []protocol.Message) (n int) {
	for _, m := range ms {
		if _, ok := m.Body.(B); ok {
			n++
		}
	}
	return n
}

// done is an honest report of the end of the job, an hour after now.
func (s *testMarket) done(a protocol.Award) protocol.UsageReport {
	return protocol.UsageReport{
		Job: a.Job, Epoch: a.Epoch, Started: s.now, Ended: s.now.Add(time.Hour), Node: "n1", Devices: []int{0},
		IT: 600_000_000, Energy: 720_000_000, Carbon: 50_000, Money: 12_000,
	}
}
