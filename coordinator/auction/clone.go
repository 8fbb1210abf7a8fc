package auction

import "maps"

// Clone returns an auction that remembers what a does, and goes its own way.
func (a *Auction) Clone() *Auction {
	return &Auction{cfg: a.cfg, prices: priceMemory{a.prices.slot, a.prices.from, maps.Clone(a.prices.lines)}, plan: maps.Clone(a.plan)}
}
