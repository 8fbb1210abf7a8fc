// Package counterfactual clears recorded rounds again: first as they were, then with one
// thing changed.
//
// A market is a machine, so what it heard decides what it said. A [RoundReplay] steps a
// fresh market over a ledger and holds every sentence that it says to the one
// on the ledger. Up to the first that differs, the fresh market has been in the
// same state, so the rounds until then can be cleared again from the very
// inputs that they were cleared from: offers, weights, trust, plan and prices.
// After it nothing is claimed.
//
// In a replay the order of the ledger is that in which the market heard. What a
// live coordinator heard comes in any order and at any time; its ledger says
// which it was, and from which facts each of its lives began: protocol.InputLog.
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

// stateInterval is how many rounds lie between two states that are kept.
const stateInterval = 16

// A RoundReplay is the rounds of a ledger, ready to be cleared again.
type RoundReplay struct {
	cfg           market.Config
	market        *market.Market // nil before the first call
	earlyMessages []protocol.Message
	now           protocol.Time
	queue         []protocol.Message // said by the market, not met on the ledger yet
	lastMatched   uint64             // number of the last decision that was met, or not as it should be
	live          *liveReplay        // nil: the ledger does not say in which order it was heard

	rule   *auction.Auction
	rounds []clearedRound
	index  map[uint64]int // by number
	fresh  bool           // the rule has cleared nothing yet
	fault  string         // why other rounds cannot be cleared again
}

type clearedRound struct {
	in   auction.Round
	out  auction.Outcome
	from *auction.Auction // the state before; of some
}

// NewReplay returns a run that has heard nothing, of a ledger in the order in which it
// was heard. Its weights, its planning and its time for offers will be those of the
// ledger; cfg has all else.
func NewReplay(cfg market.Config) *RoundReplay {
	return &RoundReplay{cfg: cfg, index: make(map[uint64]int), fresh: true, rule: auction.New(auction.Config{})}
}

// NewLiveReplay returns a run that has heard nothing, of a ledger that says in which
// order it was heard. Its settings are those of the ledger.
func NewLiveReplay() *RoundReplay {
	r := NewReplay(market.Config{})
	r.live = &liveReplay{run: r, all: make(map[protocol.Party][]protocol.Message)}
	return r
}

// IsNeeded reports whether a run needs to see m: it is what the market said or
// heard.
func IsNeeded(m protocol.Message) bool {
	return m.From == protocol.Coordinator || m.From == protocol.InputRecorder || protocol.Coordinator.ShouldReceive(m)
}

// MatchedDecision reports whether a decision, by the coordinator's number of it, was come to
// on the ledger and by the market.
func (r *RoundReplay) MatchedDecision(decision uint64) bool { return decision <= r.lastMatched }

// AddMessage steps the market over the next message of the ledger. After a fault it
// does nothing.
func (r *RoundReplay) AddMessage(m protocol.Message) {
	switch {
	case !IsNeeded(m):
		return
	case r.live != nil:
		r.live.addMessage(m)
		return
	case r.fault != "":
		return
	case r.market != nil:
		r.stepMarket(m)
		return
	}
	r.earlyMessages = append(r.earlyMessages, m)
	if c, ok := m.Body.(protocol.CallForBids); ok {
		r.cfg.Terms, r.cfg.Window, r.cfg.Planning = c.Weights, c.Closes.Sub(m.At), c.Planning
		r.market = market.New(r.cfg, (*recordingRule)(r))
		for _, m := range r.earlyMessages {
			r.stepMarket(m)
		}
		r.earlyMessages = nil
	}
}

// stepMarket takes the next message of the ledger. A market whose time has come ticks
// before it hears what was said at that time or later.
func (r *RoundReplay) stepMarket(m protocol.Message) {
	if due := r.market.Due(); m.At > r.now && due != 0 && due <= m.At {
		r.queueDecisions(r.market.Tick(m.At))
	}
	r.now = max(r.now, m.At)
	switch {
	case m.From != protocol.Coordinator:
		r.queueDecisions(r.market.Step(r.now, m))
		return
	case !isDecisive(m):
		if p, ok := m.Body.(protocol.Policy); ok {
			r.market.SetPolicy(p) // it may have been in force from the start
		}
		return
	case len(r.queue) == 0:
		r.queueDecisions(r.market.Tick(r.now))
	}
	if len(r.queue) == 0 {
		r.reportDivergence(m, "the market would have said nothing")
		return
	}
	if got := r.queue[0]; !sameDecision(got, m) {
		r.reportDivergence(m, "the market would have said another "+got.KindName())
		return
	}
	r.lastMatched = m.Seq
	r.queue = r.queue[1:]
}

// queueDecisions notes what the market says, as far as it decides something.
func (r *RoundReplay) queueDecisions(all []protocol.Message) {
	for _, m := range all {
		if isDecisive(m) {
			r.queue = append(r.queue, m)
		}
	}
}

// isDecisive reports whether m is a decision, or asks for what one is made from.
func isDecisive(m protocol.Message) bool {
	switch m.Body.(type) {
	case protocol.CallForBids, protocol.JudgeRequest, protocol.Award, protocol.Defer, protocol.Reject:
		return true
	}
	return false
}

func (r *RoundReplay) reportDivergence(m protocol.Message, how string) {
	r.lastMatched = math.MaxUint64
	r.dropRoundsFrom(len(r.rounds)-1, fmt.Sprintf("from message %d of the coordinator on, at %s, %s", m.Seq, m.At, how))
}

// dropRoundsFrom gives up all rounds from the ith on.
func (r *RoundReplay) dropRoundsFrom(i int, why string) {
	r.fault = why
	maps.DeleteFunc(r.index, func(_ uint64, at int) bool { return at >= i })
}

// sameDecision reports whether two sentences of a coordinator decide the same. When a
// lease or a hold ends hangs on the milliseconds of a clock, and is not looked
// at: had it mattered, the next call would be another.
func sameDecision(got, want protocol.Message) bool {
	if got.To != want.To {
		return false
	}
	switch w := want.Body.(type) {
	case protocol.CallForBids:
		g, ok := got.Body.(protocol.CallForBids)
		return ok && g.Round == w.Round && g.Weights == w.Weights && g.Planning.OrDefault() == w.Planning.OrDefault() && slices.EqualFunc(g.Jobs, w.Jobs, func(x, y protocol.Job) bool { return x.ID == y.ID }) &&
			slices.EqualFunc(g.ShadowPrices, w.ShadowPrices, func(x, y protocol.ShadowPrice) bool {
				return x.Site == y.Site && x.Model == y.Model && x.From == y.From && x.Slot == y.Slot && slices.Equal(x.Values, y.Values)
			})
	case protocol.Award:
		g, ok := got.Body.(protocol.Award)
		return ok && g.Round == w.Round && g.Job == w.Job && g.Epoch == w.Epoch && g.Option == w.Option && g.MayQueue == w.MayQueue && g.Why == w.Why && g.Proof == w.Proof
	case protocol.Defer:
		g, ok := got.Body.(protocol.Defer)
		g.Until = w.Until
		return ok && g == w
	case protocol.Reject:
		g, ok := got.Body.(protocol.Reject)
		return ok && g == w
	}
	return got.KindName() == want.KindName()
}

// A recordingRule is the auction, with what it is given and says written down.
type recordingRule RoundReplay

// Clear implements auction.ClearingRule.
func (t *recordingRule) Clear(in auction.Round) auction.Outcome {
	c := clearedRound{in: in}
	if len(t.rounds)%stateInterval == 0 || t.fresh {
		c.from, t.fresh = t.rule.Clone(), false
	}
	c.out = t.rule.Clear(in)
	t.index[in.Number] = len(t.rounds)
	t.rounds = append(t.rounds, c)
	return c.out
}

// ShadowPrices implements auction.ClearingRule.
func (t *recordingRule) ShadowPrices() []protocol.ShadowPrice { return t.rule.ShadowPrices() }
