package bench

import (
	"context"
	"flag"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var (
	rowDay  = flag.String("row-day", "six-regions", "scenario of which TestARowOfACertificateIsTheWinnersAsk clears the rounds")
	rowJobs = flag.Int("row-jobs", 100, "its jobs")
)

// A rowRule clears rounds as the auction does, and counts the awards of which the row of a certificate, the least cost
// of a job with room at its price, is what the winner asks: its room has no price.
type rowRule struct {
	auction.ClearingRule
	awards, asks, rivals int
}

// Clear implements auction.ClearingRule.
func (v *rowRule) Clear(in auction.Round) auction.Outcome {
	out := v.ClearingRule.Clear(in)
	prices := v.ShadowPrices()
	for i, d := range out.Decisions {
		if d.Verdict != auction.Award || len(in.Lots[i].Bids) < 2 {
			continue
		}
		v.awards, v.rivals = v.awards+1, v.rivals+len(in.Lots[i].Bids)-1
		if !isPriced(prices, d) {
			v.asks++
		}
	}
	return out
}

// isPriced reports whether the room that a decision takes has a price at some time.
func isPriced(prices []protocol.ShadowPrice, d auction.Decision) bool {
	for _, p := range prices {
		for k, value := range p.Values {
			from := p.From + protocol.Time(p.Slot.Milliseconds()*int64(k))
			if p.Site == d.Site && p.Model == d.Option.Model && value > 0 && from < d.Option.Finish && d.Option.Start < from.Add(p.Slot) {
				return true
			}
		}
	}
	return false
}

// Most rows of a certificate would tell all sites that bid for a job what the winner asked, to the microdollar, as
// little room is short: why there is none (decision 0423).
func TestARowOfACertificateIsTheWinnersAsk(t *testing.T) {
	s, err := spec.LoadScenario(*rowDay, spec.Options{MaxJobs: *rowJobs})
	if err != nil {
		t.Fatal(err)
	}
	v := &rowRule{ClearingRule: auction.New(auction.Config{})}
	if _, err := scenarios.Replay(context.Background(), s, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{Rule: func() auction.ClearingRule { return v }}); err != nil {
		t.Fatal(err)
	}
	t.Logf("of %d awards with rivals, %.1f each, %d rows are the winner's ask", v.awards, float64(v.rivals)/float64(max(v.awards, 1)), v.asks)
	if *rowDay == "six-regions" && 2*v.asks < v.awards {
		t.Errorf("of %d awards with rivals %d rows are the winner's ask: fewer than half", v.awards, v.asks)
	}
}
