package bench

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A vcgRule clears rounds as the auction does, and adds up what sites would be paid above their
// bids by the rule of Vickrey, Clarke and Groves: what the round would cost more without the site.
// Source: Nisan et al., Algorithmic Game Theory (2007), section 9.3.3, with Clarke's pivot.
type vcgRule struct {
	auction.ClearingRule
	sites []string
	above []protocol.Microdollars // by site
}

// Clear implements auction.ClearingRule.
func (v *vcgRule) Clear(in auction.Round) auction.Outcome {
	out := v.ClearingRule.Clear(in)
	for i, site := range v.sites {
		if slices.ContainsFunc(out.Decisions, func(d auction.Decision) bool { return d.Verdict == auction.Award && d.Site == site }) {
			v.above[i] += costWithout(in, out, site)
		}
	}
	return out
}

// costWithout returns how much more the jobs that a round awards would cost without one site, or 0.
// A job that no other site can run has no such cost, and is left out. Jobs that wait are, too: they
// come back in later rounds, and would be paid for in each of them.
//
// The clearing without the site is as good as the auction finds it, so the result may be too high by
// the gap of its certificate.
func costWithout(in auction.Round, out auction.Outcome, site string) (more protocol.Microdollars) {
	without := in
	without.Full = true // so that the prices of capacity are searched
	without.Lots, without.LeftOut = nil, nil
	without.Sites = slices.DeleteFunc(slices.Clone(in.Sites), func(s auction.Site) bool { return s.Name == site })
	var with []protocol.Microdollars // by lot of without
	for i, d := range out.Decisions {
		if d.Verdict != auction.Award {
			continue
		}
		lot := in.Lots[i]
		with = append(with, costOfDecision(in, lot, d))
		lot.Bids = slices.DeleteFunc(slices.Clone(lot.Bids), func(b auction.SiteBids) bool { return b.Site == site })
		without.Lots = append(without.Lots, lot)
	}
	for i, d := range auction.New(auction.Config{}).Clear(without).Decisions {
		if d.Verdict != auction.Reject && d.Site != "" {
			more += costOfDecision(in, without.Lots[i], d) - with[i]
		}
	}
	return max(more, 0)
}

// costOfDecision returns the cost of the option that a lot is awarded or planned, as the round compares
// it.
func costOfDecision(in auction.Round, lot auction.Lot, d auction.Decision) protocol.Microdollars {
	by := protocol.PricingBasis{}
	if i := slices.IndexFunc(in.Sites, func(s auction.Site) bool { return s.Name == d.Site }); i >= 0 {
		by.Trust = in.Sites[i].Trust
	}
	return in.Weights.PriceOption(&lot.Job, &d.Option, by).Total()
}
