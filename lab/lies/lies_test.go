package lies_test

import (
	"testing"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/verify"
)

// A lie is one thing that a hub does wrong, by the number and the name of its row in docs/proof.md. Nil hooks leave
// all as it is.
type lie struct {
	number int
	name   string
	quotas bool // the world must have quotas

	reorders bool // messages that came too late are heard

	input    func(w *world, m protocol.Message) []protocol.Message                                      // what the hub takes in its place
	market   func(w *world, m protocol.Message) protocol.Message                                        // what the market takes of what was logged
	output   func(w *world, k *market.Market, out []protocol.Message) []protocol.Message                // what is logged and sent of what the market says
	told     func(w *world, who protocol.Party, m protocol.Message) protocol.Message                    // what a party is sent of what was logged
	read     func(w *world, r *auction.Round)                                                           // what the clearing reads
	decide   func(w *world, r auction.Round, clear func(auction.Round) auction.Outcome) auction.Outcome // what it decides
	settings func(w *world, c *market.Config)                                                           // by which settings
	rewrite  func(w *world)                                                                             // what is rewritten at the end
}

// A lyingRule is a rule that somebody interferes with.
type lyingRule struct {
	auction.ClearingRule
	clear func(auction.Round, func(auction.Round) auction.Outcome) auction.Outcome
}

func (l lyingRule) Clear(r auction.Round) auction.Outcome { return l.clear(r, l.ClearingRule.Clear) }

// A lyingMarket is a market that somebody interferes with.
type lyingMarket struct {
	*market.Market
	w *world
}

func (k *lyingMarket) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if l := k.w.lie; l != nil && l.market != nil {
		m = l.market(k.w, m)
	}
	return k.alter(k.Market.Step(now, m))
}

// RefuseDuplicate lets what a lying hub reordered through.
func (k *lyingMarket) RefuseDuplicate(m protocol.Message) bool {
	return (k.w.lie == nil || !k.w.lie.reorders) && k.Market.RefuseDuplicate(m)
}

func (k *lyingMarket) Tick(now protocol.Time) []protocol.Message { return k.alter(k.Market.Tick(now)) }

func (k *lyingMarket) alter(out []protocol.Message) []protocol.Message {
	if l := k.w.lie; l != nil && l.output != nil {
		return l.output(k.w, k.Market, out)
	}
	return out
}

// said reports the findings of a reader.
func said(t testing.TB, seed uint64, who string, r verify.Report) int {
	for _, f := range r.Findings {
		t.Logf("world %d, %s: %s", seed, who, f)
	}
	return len(r.Findings)
}
