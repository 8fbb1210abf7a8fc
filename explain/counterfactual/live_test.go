package counterfactual

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// A clerk keeps the account of a stage.
type clerk struct {
	mouth protocol.Sender
	life  uint32
	books []protocol.Input
	notes []protocol.Message
}

func (c *clerk) begin(t *rapid.T, now protocol.Time, cfg market.Config) {
	rules, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.life++
	c.mouth = protocol.Sender{Party: protocol.InputRecorder, Incarnation: c.life}
	c.note(now, protocol.InputLog{Rules: string(rules), Restored: slices.Clone(c.books)})
}

func (c *clerk) note(now protocol.Time, h protocol.InputLog) {
	h.Incarnation = uint64(c.life)
	c.notes = append(c.notes, c.mouth.NewMessage(now, protocol.InputRecorder, h))
}

// restart has the stage's market end, and another begin where it stood.
func (s *stage) restart(t *rapid.T, cfg market.Config) {
	s.market = market.New(cfg, auction.New(auction.Config{}))
	for _, b := range s.clerk.books {
		i := slices.IndexFunc(s.said, func(m protocol.Message) bool { return m.From == b.From && m.Seq == b.Seq })
		s.market.Restore(s.said[i])
	}
	s.clerk.begin(t, s.now, cfg)
	s.market.BeginIncarnation(s.clerk.life)
}

// shuffled returns the messages of a ledger in another order, in which each
// speaker's are as they were.
func shuffled(t *rapid.T, all []protocol.Message) (out []protocol.Message) {
	var who []protocol.Party
	of := make(map[protocol.Party][]protocol.Message)
	for _, m := range all {
		if of[m.From] == nil {
			who = append(who, m.From)
		}
		of[m.From] = append(of[m.From], m)
	}
	for len(who) > 0 {
		i := rapid.IntRange(0, len(who)-1).Draw(t, "speaker")
		p := who[i]
		if out, of[p] = append(out, of[p][0]), of[p][1:]; len(of[p]) == 0 {
			who = slices.Delete(who, i, i+1)
		}
	}
	return out
}

// A live ledger in any order leads to the rounds that there were, in each life of
// the coordinator.
func TestALiveLedgerSaysInWhichOrderItWasHeard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, cfg := drawPlay(t), market.Config{Terms: weights, Lease: 7_000_000_000}
		s := &stage{now: noon, mouths: make(map[protocol.Party]*protocol.Sender), clerk: new(clerk)}
		s.restart(t, cfg)
		for _, name := range p.sites {
			s.say(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
		}
		dies := rapid.IntRange(0, 4).Draw(t, "dies after round")
		p.on(s, func(round uint64, site string, _ *protocol.Bids) bool {
			return rapid.IntRange(0, 5).Draw(t, "offer is lost") > 0
		}, func(round int) {
			if round == dies {
				s.restart(t, cfg)
			}
		})
		r := NewLiveReplay()
		for _, m := range shuffled(t, append(slices.Clone(s.said), s.clerk.notes...)) {
			r.AddMessage(m)
		}
		if r.fault != "" || r.live.missingInput() != "" {
			t.Fatalf("not reproduced: %q %q", r.fault, r.live.missingInput())
		}
		for _, m := range s.said {
			if a, ok := m.Body.(protocol.Award); ok {
				if _, err := r.ClearWithChange(a.Round, RoundChange{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// An account that leaves a step out is noticed; the next life is not lost with it.
func TestAFalseAccountIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := play{sites: []string{"bern", "oslo"}, jobs: []protocol.Job{{Urgency: protocol.UrgencyNow, ID: "a", GPUs: 1, Share: 1000, CPU: 1000, Arrival: noon, Run: 3_600_000_000_000, Deadline: noon + 9*3_600_000}}}
		option := func(money protocol.Microdollars) protocol.Bids {
			return protocol.Bids{
				Capacity: []protocol.CapacityProfile{{Model: "V100", Slot: 3_600_000_000_000, Total: 4000, Free: []protocol.Milli{4000}}},
				Jobs:     []protocol.JobBids{{Job: "a", Options: []protocol.BidOption{{Model: "V100", Money: money}}}},
			}
		}
		p.offers = []map[string]protocol.Bids{{"bern": option(10), "oslo": option(20)}}
		cfg := market.Config{Terms: weights}
		s := &stage{now: noon, mouths: make(map[protocol.Party]*protocol.Sender), clerk: new(clerk)}
		s.restart(t, cfg)
		for _, name := range p.sites {
			s.say(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
		}
		p.on(s, nil, nil)
		// After the first comes all that leads to the award; the last is its accept.
		left := rapid.IntRange(1, len(s.clerk.notes)-2).Draw(t, "left out")
		notes := slices.Delete(slices.Clone(s.clerk.notes), left, left+1)
		s.restart(t, cfg)
		r := NewLiveReplay()
		for _, m := range append(slices.Clone(s.said), notes...) {
			r.AddMessage(m)
		}
		if _, err := r.ClearWithChange(1, RoundChange{}); err == nil {
			t.Fatalf("step %d was left out of the account, and not missed", left)
		}
		r.AddMessage(s.clerk.notes[len(s.clerk.notes)-1])
		if r.live.market == nil {
			t.Fatal("the next life is lost too")
		}
	})
}
