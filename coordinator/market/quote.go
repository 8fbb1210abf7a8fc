package market

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A Quotation is what a job would cost now, at each site, were it submitted.
type Quotation struct {
	Sites []SiteQuotation // the registered ones, by name
	// Decision is that of a round of this job alone, with the plan and the prices of the last
	// round. nil: the clearing rule cannot be asked without effect.
	Decision *auction.Decision
}

// A SiteQuotation is what one site answered.
type SiteQuotation struct {
	Site     string
	Answered bool
	Drained  bool           // an operator drained it: it would get no award
	Options  []QuotedOption // that the market would allow, by start
	Why      protocol.Reason
}

// A QuotedOption is an option with what its tenant would pay, were it measured as it was bid, and
// what it costs by the market's objective.
type QuotedOption struct {
	protocol.BidOption
	Price, Cost protocol.Microdollars
}

// forwardQuoteRequest asks all agents what the operator API asks, in the terms of a round. It
// changes nothing: the answers are read by who asked, and Quote reckons with them.
func (k *Market) forwardQuoteRequest(now protocol.Time, m protocol.Message, q protocol.QuoteRequest) []protocol.Message {
	if m.From != protocol.OperatorAPI {
		k.counts["enquiry-of-stranger"]++
		return nil
	}
	if slices.ContainsFunc(q.Call.Jobs, func(j protocol.Job) bool { return j.InvalidReason() != "" }) {
		return nil // whoever asks checks the job, too, and says what is wrong with it
	}
	shared, own := k.announcePrices(now, 0)
	q.Call.Closes, q.Call.Weights, q.Call.ShadowPrices = now.Add(k.cfg.Window), k.cfg.Terms, shared
	q.Call.MaxBytes, q.Call.Planning = k.cfg.MaxOfferBytes, k.cfg.Planning
	return append(own, k.sender.NewMessage(now, "", q))
}

// Quote returns what a job would cost, by the answers of sites to a request of the time asked. It
// reads the market and changes nothing of it, so it may be called between two steps.
func (k *Market) Quote(now, asked protocol.Time, j protocol.Job, answers map[string]protocol.Message) (out Quotation) {
	// A round of its own over a shallow copy: what clearing a round writes is replaced here.
	view := *k
	view.counts = make(map[string]int)
	l := &lot{job: j, submitted: j, state: called}
	r := &round{call: callTime{opened: asked}, closes: now, lots: []*lot{l}, index: map[protocol.JobID]int{j.ID: 0}, offers: make(map[string]protocol.Bids)}
	view.round = r
	for _, site := range slices.Sorted(maps.Keys(k.sites)) {
		m := answers[site]
		if q, ok := m.Body.(protocol.Quote); ok {
			r.offers[site] = view.validateBids(site, shiftToMarketClock(q.Bids, m.At, asked, now))
		}
	}
	in, impossible, against := view.roundToClear(now, r)
	in.TieTolerance = auction.TieTolerance{} // a judge is asked about jobs only
	for _, name := range slices.Sorted(maps.Keys(k.sites)) {
		out.Sites = append(out.Sites, view.quotationOf(name, in.Lots[0].Bids))
	}
	rule, ok := k.rule.(interface{ Clone() *auction.Auction })
	if !ok {
		return out
	}
	d := rule.Clone().Clear(in).Decisions[0]
	if impossible[0] == len(k.sites) && len(k.sites) > 0 {
		d = auction.Decision{Verdict: auction.Reject, Why: view.commonRejectReason(r, l)}
	} else if d.Verdict == auction.Defer && len(in.Lots[0].Bids) == 0 && against[0].Code != "" {
		d.Why = against[0]
	}
	out.Decision = &d
	return out
}

// quotationOf returns the quotation of a site; bids are those that the market allows.
func (k *Market) quotationOf(name string, bids []auction.SiteBids) SiteQuotation {
	r := k.round
	o, answered := r.offers[name]
	q := SiteQuotation{Site: name, Answered: answered, Drained: k.sites[name].drained}
	for _, m := range o.Jobs {
		if q.Why = m.Why; len(m.Options) > 0 {
			q.Why.Code = protocol.Forbidden // unless options are left below
		}
	}
	job := &r.lots[0].job
	for _, b := range bids {
		if b.Site != name {
			continue
		}
		q.Why = protocol.Reason{}
		for _, x := range b.Options {
			u := protocol.Usage{Energy: x.Energy, Carbon: x.Carbon, Money: x.Money, Finish: x.Finish}
			q.Options = append(q.Options, QuotedOption{
				BidOption: x, Price: accounts.SettlementAmount(u, u, job.TariffCost(x.Finish.Sub(x.Start), x.Tariff), k.cfg.Pay),
				Cost: k.cfg.Terms.PriceOption(job, &x, protocol.PricingBasis{Trust: k.trust.TrustFactor(name)}).Total(),
			})
		}
	}
	return q
}
