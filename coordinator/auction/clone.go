package auction

import (
	"maps"
	"slices"
)

// Clone returns an independent copy of a, with its plan and prices. Counterfactuals clear rounds
// with it (explain/counterfactual).
func (a *Auction) Clone() *Auction {
	return &Auction{cfg: a.cfg, prices: priceMemory{a.prices.slot, a.prices.from, maps.Clone(a.prices.lines)}, plan: maps.Clone(a.plan), order: slices.Clone(a.order)}
}
