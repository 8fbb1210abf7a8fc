// Package counterfactual clears recorded rounds again: first as they were, then with one
// thing changed.
//
// A market is a machine, so what it heard decides what it said. A [Run] steps a
// fresh market over a ledger and holds every sentence that it says to the one
// on the ledger. Up to the first that differs, the fresh market has been in the
// same state, so the rounds until then can be cleared again from the very
// inputs that they were cleared from: offers, weights, trust, plan and prices.
// After it nothing is claimed.
//
// In a replay the order of the ledger is that in which the market heard. What a
// live coordinator heard comes in any order and at any time; its ledger says
// which it was, and from which facts each of its lives began: protocol.Heard.
//
// A round that is cleared again asks nobody: sites offered for the world that
// there was.
package counterfactual

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// every is how many rounds lie between two states that are kept.
const every = 16

// A Run is the rounds of a ledger, ready to be cleared again.
type Run struct {
	cfg    market.Config
	market *market.Market // nil before the first call
	early  []protocol.Message
	now    protocol.Time
	queue  []protocol.Message // said by the market, not met on the ledger yet
	met    uint64             // number of the last decision that was met, or not as it should be
	live   *live              // nil: the ledger does not say in which order it was heard

	rule   *auction.Auction
	rounds []cleared
	index  map[uint64]int // by number
	fresh  bool           // the rule has cleared nothing yet
	fault  string         // why other rounds cannot be cleared again
}

type cleared struct {
	in   auction.Round
	out  auction.Outcome
	from *auction.Auction // the state before; of some
}

// New returns a run that has heard nothing, of a ledger in the order in which it
// was heard. Its weights, its planning and its time for offers will be those of the
// ledger; cfg has all else.
func New(cfg market.Config) *Run {
	return &Run{cfg: cfg, index: make(map[uint64]int), fresh: true, rule: auction.New(auction.Config{})}
}

// NewLive returns a run that has heard nothing, of a ledger that says in which
// order it was heard. Its settings are those of the ledger.
func NewLive() *Run {
	r := New(market.Config{})
	r.live = &live{run: r, all: make(map[protocol.Party][]protocol.Message)}
	return r
}

// Heard reports whether a run needs to see m: it is what the market said or
// heard.
func Heard(m protocol.Message) bool {
	return m.From == protocol.Coordinator || m.From == protocol.Clerk || protocol.Coordinator.Hears(m)
}

// Met reports whether a decision, by the coordinator's number of it, was come to
// on the ledger and by the market.
func (r *Run) Met(decision uint64) bool { return decision <= r.met }

// Add steps the market over the next message of the ledger. After a fault it
// does nothing.
func (r *Run) Add(m protocol.Message) {
	switch {
	case !Heard(m):
		return
	case r.live != nil:
		r.live.add(m)
		return
	case r.fault != "":
		return
	case r.market != nil:
		r.next(m)
		return
	}
	r.early = append(r.early, m)
	if c, ok := m.Body.(protocol.Call); ok {
		r.cfg.Terms, r.cfg.Window, r.cfg.Planning = c.Terms, c.Closes.Sub(m.At), c.Planning
		r.market = market.New(r.cfg, (*tape)(r))
		for _, m := range r.early {
			r.next(m)
		}
		r.early = nil
	}
}

// next takes the next message of the ledger. A market whose time has come ticks
// before it hears what was said at that time or later.
func (r *Run) next(m protocol.Message) {
	if due := r.market.Due(); m.At > r.now && due != 0 && due <= m.At {
		r.say(r.market.Tick(m.At))
	}
	r.now = max(r.now, m.At)
	switch {
	case m.From != protocol.Coordinator:
		r.say(r.market.Step(r.now, m))
		return
	case !decides(m):
		if p, ok := m.Body.(protocol.Policy); ok {
			r.market.Govern(p) // it may have been in force from the start
		}
		return
	case len(r.queue) == 0:
		r.say(r.market.Tick(r.now))
	}
	if len(r.queue) == 0 {
		r.differs(m, "the market would have said nothing")
		return
	}
	if got := r.queue[0]; !same(got, m) {
		r.differs(m, "the market would have said another "+got.Kind())
		return
	}
	r.met = m.Seq
	r.queue = r.queue[1:]
}

// say notes what the market says, as far as it decides something.
func (r *Run) say(all []protocol.Message) {
	for _, m := range all {
		if decides(m) {
			r.queue = append(r.queue, m)
		}
	}
}

// decides reports whether m is a decision, or asks for what one is made from.
func decides(m protocol.Message) bool {
	switch m.Body.(type) {
	case protocol.Call, protocol.Ask, protocol.Award, protocol.Hold, protocol.Refuse:
		return true
	}
	return false
}

func (r *Run) differs(m protocol.Message, how string) {
	r.met = math.MaxUint64
	r.drop(len(r.rounds)-1, fmt.Sprintf("from message %d of the coordinator on, at %s, %s", m.Seq, m.At, how))
}

// drop gives up all rounds from the ith on.
func (r *Run) drop(i int, why string) {
	r.fault = why
	maps.DeleteFunc(r.index, func(_ uint64, at int) bool { return at >= i })
}

// same reports whether two sentences of a coordinator decide the same. When a
// lease or a hold ends hangs on the milliseconds of a clock, and is not looked
// at: had it mattered, the next call would be another.
func same(got, want protocol.Message) bool {
	if got.To != want.To {
		return false
	}
	switch w := want.Body.(type) {
	case protocol.Call:
		g, ok := got.Body.(protocol.Call)
		return ok && g.Round == w.Round && g.Terms == w.Terms && g.Planning.OrDefault() == w.Planning.OrDefault() && slices.EqualFunc(g.Jobs, w.Jobs, func(x, y protocol.Job) bool { return x.ID == y.ID }) &&
			slices.EqualFunc(g.Shadow, w.Shadow, func(x, y protocol.Price) bool {
				return x.Site == y.Site && x.Model == y.Model && x.From == y.From && x.Slot == y.Slot && slices.Equal(x.Values, y.Values)
			})
	case protocol.Award:
		g, ok := got.Body.(protocol.Award)
		return ok && g.Round == w.Round && g.Job == w.Job && g.Epoch == w.Epoch && g.Option == w.Option && g.Queue == w.Queue && g.Why == w.Why && g.Proof == w.Proof
	case protocol.Hold:
		g, ok := got.Body.(protocol.Hold)
		g.Until = w.Until
		return ok && g == w
	case protocol.Refuse:
		g, ok := got.Body.(protocol.Refuse)
		return ok && g == w
	}
	return got.Kind() == want.Kind()
}

// A tape is the auction, with what it is given and says written down.
type tape Run

// Clear implements auction.Rule.
func (t *tape) Clear(in auction.Round) auction.Outcome {
	c := cleared{in: in}
	if len(t.rounds)%every == 0 || t.fresh {
		c.from, t.fresh = t.rule.Clone(), false
	}
	c.out = t.rule.Clear(in)
	t.index[in.Number] = len(t.rounds)
	t.rounds = append(t.rounds, c)
	return c.out
}

// Shadow implements auction.Rule.
func (t *tape) Shadow() []protocol.Price { return t.rule.Shadow() }
