package services

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/division"
	"github.com/gridbid/gridbid/protocol"
)

// mostCompared is of how many services in one call decisions say what else would have been decided, the first ones:
// it takes three more divisions each, which is as much again as the call.
const mostCompared = 100

// weighCarbon returns what a replica costs with its carbon at so many thousandths of the price of carbon;
// the bid has it once.
func (k *Services) weighCarbon(x protocol.CostStep, factor protocol.Milli) protocol.Microdollars {
	more := protocol.Weights{Carbon: k.cfg.Weights.Carbon * protocol.Microdollars(factor-1000) / 1000}
	return min(max(x.Cost+more.CarbonCost(x.Carbon), -protocol.MaxMoney), protocol.MaxMoney)
}

// compare adds to a decision by cost what a rebalance saves, and where one would put the replicas if
// carbon were twice as dear.
func (k *Services) compare(b *protocol.ServiceDivision, s *service, r division.Request, d division.Division, c *call) {
	if c.compared++; c.compared > mostCompared {
		return
	}
	steady, anew := r, r
	steady.Rebalance, anew.Rebalance = false, true
	if r.Rebalance {
		if stay, err := division.Divide(steady); err == nil {
			b.Stay, b.Starts = stay.Cost, d.StartCost
		}
	}
	dearer, emits := anew, false
	dearer.Sites = slices.Clone(anew.Sites)
	for i := range dearer.Sites {
		x := &dearer.Sites[i]
		if bid := c.bids[x.Name]; bid != nil && !x.Silent {
			row := bid.rows[s.spec.ID]
			row.Available = max(x.Free-s.heldBack(x), 0)
			row.Steps = firstSteps(row.Steps, row.Available)
			x.Steps = k.stepsOf(row, x.Held+s.heldBack(x), x.HeldServes, s.spec.GPUMilli(), 2*s.spec.CarbonFactor())
			emits = emits || row.HeldCarbon > 0 || len(row.Steps) > 0 && row.Steps[0].Carbon > 0
		}
	}
	now, err := division.Divide(anew)
	then, fault := division.Divide(dearer)
	if !emits || err != nil || fault != nil {
		return
	}
	for i, x := range then.Shares { // by name, as of the same sites
		if before := now.Shares[i].Replicas; x.Replicas+before > 0 {
			b.CarbonDoubled = append(b.CarbonDoubled, protocol.SiteCount{Site: x.Site, Count: x.Replicas, Before: before})
		}
	}
}
