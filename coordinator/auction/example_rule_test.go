package auction_test

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A cleanest rule awards each job, in the order of the round, the start of now that
// emits least. It prices no room and keeps no plan; a site that has no room left
// declines, and the job is called again.
type cleanest struct{}

func (cleanest) Clear(r auction.Round) auction.Outcome {
	var out auction.Outcome
	for _, lot := range r.Lots {
		d := auction.Decision{Verdict: auction.Defer, Until: r.Next, Why: protocol.Reason{Code: protocol.NoBids}}
		for _, menu := range lot.Bids { // by site name, so that ties do not hang on the network
			for _, o := range menu.Options {
				if o.Start <= r.Now && (d.Verdict == auction.Defer || o.Carbon < d.Option.Carbon) {
					d = auction.Decision{Verdict: auction.Award, Site: menu.Site, Option: o, Why: protocol.Reason{Code: protocol.ByRule}}
				}
			}
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

func (cleanest) ShadowPrices() []protocol.ShadowPrice { return nil }

func ExampleClearingRule() {
	const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z
	option := func(start protocol.Time, carbon protocol.Milligrams) protocol.BidOption {
		return protocol.BidOption{Start: start, Finish: start.Add(time.Hour), Model: "V100", Carbon: carbon}
	}
	round := auction.Round{
		Number: 1, Now: noon, Next: noon.Add(30 * time.Minute), Full: true, Weights: protocol.DefaultWeights(), Planning: protocol.DefaultPlanning(),
		Lots: []auction.Lot{
			{Job: protocol.Job{Urgency: protocol.UrgencyNow, ID: "train", GPUs: 1, Share: 1000, Deadline: noon.Add(24 * time.Hour)}, Bids: []auction.SiteBids{
				{Site: "lyon", Options: []protocol.BidOption{option(noon, 300), option(noon.Add(time.Hour), 20)}},
				{Site: "oslo", Options: []protocol.BidOption{option(noon, 200)}},
			}},
			{Job: protocol.Job{Urgency: protocol.UrgencyNow, ID: "eval", GPUs: 1, Share: 1000, Deadline: noon.Add(24 * time.Hour)}},
		},
	}
	var rule auction.ClearingRule = cleanest{}
	for i, d := range rule.Clear(round).Decisions {
		fmt.Println(round.Lots[i].Job.ID, d.Verdict == auction.Award, d.Site, d.Why.Code)
	}
	// Output:
	// train true oslo by-rule
	// eval false  no-offer
}
