package market

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// noon is when the markets of these tests begin.
const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// soonest is a rule simple enough to foresee: each lot goes to the option that
// starts first, and waits a minute and
// a little if there is none. Money decides ties, then
// the site's name.
type soonest struct{ rounds []auction.Round }

func (s *soonest) ShadowPrices() []protocol.ShadowPrice { return nil }

func (s *soonest) Clear(r auction.Round) (out auction.Outcome) {
	s.rounds = append(s.rounds, r)
	for _, l := range r.Lots {
		d := auction.Decision{Verdict: auction.Defer, Until: r.Now.Add(time.Minute) + 7, Why: protocol.Reason{Code: protocol.Waiting}}
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

// A stage is a market and all who speak to it.
type stage struct {
	*testing.T
	market *Market
	rule   *soonest
	now    protocol.Time
	mouths map[protocol.Party]*protocol.Sender
	said   []protocol.Message // by the market
}

// newStage returns a market that some sites have greeted.
func newStage(t *testing.T, sites ...string) *stage {
	s := &stage{T: t, rule: &soonest{}, now: noon, mouths: make(map[protocol.Party]*protocol.Sender)}
	s.market = New(Config{}, s.rule)
	for _, name := range sites {
		s.tell(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
	}
	return s
}

// say makes the next message of a party.
func (s *stage) say(who protocol.Party, b protocol.Body) protocol.Message {
	if s.mouths[who] == nil {
		s.mouths[who] = &protocol.Sender{Party: who}
	}
	return s.mouths[who].NewMessage(s.now, protocol.Coordinator, b)
}

// tell has a party say something, and returns what the market says to it.
func (s *stage) tell(who protocol.Party, b protocol.Body) []protocol.Message {
	return s.hear(s.market.Step(s.now, s.say(who, b)))
}

func (s *stage) hear(ms []protocol.Message) []protocol.Message {
	s.said = append(s.said, ms...)
	return ms
}

// wait moves the clock to when the market is due.
func (s *stage) wait() []protocol.Message {
	s.Helper()
	due := s.market.Due()
	if due == 0 {
		s.Fatal("the market is due at no time")
	}
	s.now = max(s.now, due)
	said := s.hear(s.market.Tick(s.now))
	if due := s.market.Due(); due != 0 && due <= s.now {
		s.Fatalf("after a tick at %v the market is due at %v", s.now, due)
	}
	return said
}

// job is the job that most tests sell.
func (s *stage) job() protocol.Job {
	return protocol.Job{
		ID: "train", Tenant: "lab", GPUs: 1, Share: 1000, CPU: 4000, Models: []string{"V100"}, Regions: []string{"bern", "oslo"},
		Arrival: noon, Run: time.Hour, Deadline: noon.Add(8 * time.Hour),
	}
}

func (s *stage) option(start, run time.Duration) protocol.BidOption {
	return protocol.BidOption{
		Start: s.now.Add(start), Finish: s.now.Add(start + run), Model: "V100",
		Energy: 720_000_000, Carbon: 40_000, Money: 10_000,
	}
}

func room(at protocol.Time) protocol.CapacityProfile {
	return protocol.CapacityProfile{Model: "V100", From: at.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{4000}, Total: 4000}
}

// offer has a site answer the open round.
func (s *stage) offer(site string, menus ...protocol.JobBids) []protocol.Message {
	return s.tell(protocol.AgentParty(site), protocol.Bids{Round: s.market.rounds, Jobs: menus, Capacity: []protocol.CapacityProfile{room(s.now)}})
}

func menu(id protocol.JobID, options ...protocol.BidOption) protocol.JobBids {
	return protocol.JobBids{Job: id, Options: options}
}

func no(id protocol.JobID, c protocol.Code) protocol.JobBids {
	return protocol.JobBids{Job: id, Why: protocol.Reason{Code: c}}
}

// the returns the last thing of a kind that the market said.
func the[B protocol.Body](s *stage) (last B) {
	s.Helper()
	for _, m := range slices.Backward(s.said) {
		if b, ok := m.Body.(B); ok {
			return b
		}
	}
	s.Fatalf("the market has said no %T", last)
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
func (s *stage) done(a protocol.Award) protocol.UsageReport {
	return protocol.UsageReport{
		Job: a.Job, Epoch: a.Epoch, Started: s.now, Ended: s.now.Add(time.Hour), Node: "n1", Devices: []int{0},
		IT: 600_000_000, Energy: 720_000_000, Carbon: 50_000, Money: 12_000,
	}
}
