// Package counterfactual clears recorded rounds anew: first unchanged, then with one
// change.
//
// The market is a deterministic state machine: its inputs determine its outputs. A
// [RoundReplay] steps a fresh market over a ledger and compares each of its messages with the
// ledger's. Up to the first difference, the fresh market was in the recorded state,
// so the rounds until then can be cleared from their original inputs: bids, weights,
// trust, plan and prices. Rounds after it cannot be cleared.
//
// In a replay the ledger has the order in which the market received messages. A live
// coordinator receives messages in any order and at any time; its ledger records that
// order, and the events from which each incarnation began: see protocol.InputLog.
//
// Sites do not bid anew in a counterfactual round: their recorded bids belong to what
// really happened.
package counterfactual

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// stateInterval is the number of rounds between two stored states of the auction: a trade of
// memory against repeated clearing.
const stateInterval = 16

// A RoundReplay holds the rounds of a ledger, ready to be cleared anew.
type RoundReplay struct {
	cfg           market.Config
	market        *market.Market // nil before the first call for bids
	earlyMessages []protocol.Message
	now           protocol.Time
	queue         []protocol.Message // messages of the market that the ledger has not shown yet
	lastMatched   uint64             // sequence number of the last decision that was compared; the maximum after a difference
	live          *liveReplay        // nil: the ledger is a replay's, in order of receipt

	rule   *auction.Auction
	rounds []clearedRound
	index  map[uint64]int // by round number
	fresh  bool           // whether the rule has cleared nothing yet
	fault  string         // why later rounds cannot be cleared
	taken  int            // rounds that TakeRounds has returned or passed over
}

// clearedRound is one recorded round: its inputs and its outcome.
type clearedRound struct {
	in   auction.Round
	out  auction.Outcome
	from *auction.Auction // state before the round; stored for some rounds only
}

// NewReplay returns a run without messages, for a ledger that has them in the order in which the
// market received them. Weights, planning and bidding time are taken from the ledger's first
// call; all other settings from cfg.
func NewReplay(cfg market.Config) *RoundReplay {
	return &RoundReplay{cfg: cfg, index: make(map[uint64]int), fresh: true, rule: auction.New(auction.Config{})}
}

// NewLiveReplay returns an empty run for the ledger of a live coordinator, which records
// the order of receipt. All settings come from the ledger.
func NewLiveReplay() *RoundReplay {
	r := NewReplay(market.Config{})
	r.live = &liveReplay{run: r, all: make(map[protocol.Party][]protocol.Message)}
	return r
}

// IsNeeded reports whether a run needs m: the market sent or received it.
func IsNeeded(m protocol.Message) bool {
	return m.From == protocol.Coordinator || m.From == protocol.InputRecorder || protocol.Coordinator.ShouldReceive(m)
}

// MatchedDecision reports whether a decision, by its sequence number, was compared with the
// market's own.
func (r *RoundReplay) MatchedDecision(decision uint64) bool { return decision <= r.lastMatched }

// AddMessage steps the market over the next message of the ledger. After a fault it does
// nothing.
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
	// The market cannot start before the first call, which has its settings: keep what came before.
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

// stepMarket processes the next message of the ledger. If the market is due, it ticks
// before it receives messages of that time or later.
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
			r.market.SetPolicy(p) // the policy may have been in force from the start
		}
		return
	// The market may be due at the very instant of its next recorded decision.
	case len(r.queue) == 0:
		r.queueDecisions(r.market.Tick(r.now))
	}
	if len(r.queue) == 0 {
		r.reportDivergence(m, "the market would have sent nothing")
		return
	}
	if got := r.queue[0]; !sameDecision(got, m) {
		r.reportDivergence(m, "the market would have sent another "+got.KindName())
		return
	}
	r.lastMatched = m.Seq
	r.queue = r.queue[1:]
}

// queueDecisions queues the messages of the market that are decisions.
func (r *RoundReplay) queueDecisions(all []protocol.Message) {
	for _, m := range all {
		if isDecisive(m) {
			r.queue = append(r.queue, m)
		}
	}
}

// isDecisive reports whether m is a decision or requests the inputs of one.
func isDecisive(m protocol.Message) bool {
	switch m.Body.(type) {
	case protocol.CallForBids, protocol.SitePrices, protocol.JudgeRequest, protocol.Award, protocol.Defer, protocol.Reject:
		return true
	}
	return false
}

// reportDivergence records the first difference, after which no round can be cleared.
func (r *RoundReplay) reportDivergence(m protocol.Message, how string) {
	r.lastMatched = math.MaxUint64
	r.dropRoundsFrom(len(r.rounds)-1, fmt.Sprintf("from message %d of the coordinator on, at %s, %s", m.Seq, m.At, how))
}

// dropRoundsFrom marks all rounds from the ith on as not clearable.
func (r *RoundReplay) dropRoundsFrom(i int, why string) {
	r.fault = why
	maps.DeleteFunc(r.index, func(_ uint64, at int) bool { return at >= i })
}

// sameDecision reports whether two messages of a coordinator decide the same. The ends of
// leases and deferrals depend on milliseconds of a clock and are ignored: if they had
// mattered, the next call would differ.
func sameDecision(got, want protocol.Message) bool {
	if got.To != want.To {
		return false
	}
	switch w := want.Body.(type) {
	case protocol.CallForBids:
		g, ok := got.Body.(protocol.CallForBids)
		return ok && g.Round == w.Round && g.Weights == w.Weights && g.Planning.OrDefault() == w.Planning.OrDefault() && slices.EqualFunc(g.Jobs, w.Jobs, func(x, y protocol.Job) bool { return x.ID == y.ID }) && samePrices(g.ShadowPrices, w.ShadowPrices)
	case protocol.SitePrices:
		g, ok := got.Body.(protocol.SitePrices)
		return ok && g.Round == w.Round && samePrices(g.ShadowPrices, w.ShadowPrices)
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

// samePrices reports whether two calls announce the same shadow prices.
func samePrices(got, want []protocol.ShadowPrice) bool {
	return slices.EqualFunc(got, want, func(x, y protocol.ShadowPrice) bool {
		return x.Site == y.Site && x.Model == y.Model && x.From == y.From && x.Slot == y.Slot && slices.Equal(x.Values, y.Values)
	})
}

// A recordingRule is the auction with its inputs and outputs recorded.
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

// A DecidedRound is a round of the ledger: what its rule knew, and what it decided, lot by lot.
type DecidedRound struct {
	In        auction.Round
	Decisions []auction.Decision
}

// TakeRounds returns the rounds that came up since it was called last, in order. Each was compared with
// the ledger first: a round whose decisions the ledger does not show yet comes with a later call, and
// one that is not as on the ledger never. Their slices are those of the run.
func (r *RoundReplay) TakeRounds() (out []DecidedRound) {
	if len(r.queue) > 0 || r.live != nil && len(r.live.expectedMessages) > 0 {
		return nil
	}
	for ; r.taken < len(r.rounds); r.taken++ {
		c := &r.rounds[r.taken]
		if i, ok := r.index[c.in.Number]; ok && i == r.taken {
			out = append(out, DecidedRound{c.in, c.out.Decisions})
		}
	}
	return out
}

// Missing returns why rounds of the messages so far are not reproduced, or "" if all are.
func (r *RoundReplay) Missing() string {
	if r.live != nil {
		return cmp.Or(r.fault, r.live.missingInput())
	}
	return r.fault
}
