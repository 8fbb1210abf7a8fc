package leader

import (
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// evaluateQuoteBy returns what evaluates quotes by a market, in the units of the API.
func evaluateQuoteBy(m *market.Market) api.EvaluateQuote {
	return func(now, asked protocol.Time, j protocol.Job, answers map[string]protocol.Message) api.Quote {
		in := m.Quote(now, asked, j, answers)
		out := api.Quote{At: now, Sites: siteQuotesOf(j, in)}
		for _, p := range in.Parts {
			part := api.PartQuote{Part: p.Job, Sites: siteQuotesOf(j, p)}
			if d := p.Decision; d != nil && in.Decision.Verdict == auction.Award {
				part.Takes = startOf(j, p, d)
			}
			out.Parts = append(out.Parts, part)
		}
		if d := in.Decision; d != nil {
			out.Verdict = map[auction.Verdict]string{auction.Award: "award", auction.Defer: "wait", auction.Reject: "refuse"}[d.Verdict]
			out.Why, out.Note, out.Takes = string(d.Why.Code), d.Why.Note, startOf(j, in, d)
		}
		return out
	}
}

// siteQuotesOf returns what the sites of a quotation offer, never nil.
func siteQuotesOf(j protocol.Job, in market.Quotation) []api.SiteQuote {
	all := []api.SiteQuote{}
	for _, s := range in.Sites {
		all = append(all, siteQuoteOf(j, s))
	}
	return all
}

// siteQuoteOf returns the soonest and the cheapest start of a site; of several that cost its
// tenant the same, the soonest.
func siteQuoteOf(j protocol.Job, s market.SiteQuotation) api.SiteQuote {
	q := api.SiteQuote{Site: s.Site, Why: string(s.Why.Code), Note: s.Why.Note}
	switch {
	case !s.Answered:
		q.Why = string(protocol.NoAnswer)
	case s.Drained:
		q.Why, q.Note = "drained", ""
		return q
	}
	for _, o := range s.Options {
		x := quotedStart(s.Site, j, o)
		if q.Earliest == nil || x.Start < q.Earliest.Start {
			q.Earliest = x
		}
		if q.Cheapest == nil || x.Price < q.Cheapest.Price {
			q.Cheapest = x
		}
	}
	return q
}

// startOf returns the start that a decision takes or plans; nil if it has none.
func startOf(j protocol.Job, in market.Quotation, d *auction.Decision) *api.QuotedStart {
	for _, s := range in.Sites {
		for _, o := range s.Options {
			if s.Site == d.Site && o.BidOption == d.Option {
				return quotedStart(s.Site, j, o)
			}
		}
	}
	return nil
}

// quotedStart returns an option in the units of the API.
func quotedStart(site string, j protocol.Job, o market.QuotedOption) *api.QuotedStart {
	return &api.QuotedStart{
		Site: site, Model: o.Model, Start: o.Start, Finish: o.Finish, Energy: o.Energy.InKWh(), Carbon: o.Carbon.InKilograms(),
		Price: o.Price.InDollars(), Cost: o.Cost.InDollars(), Late: o.Finish > j.Deadline,
	}
}
