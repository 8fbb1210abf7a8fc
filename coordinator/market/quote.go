package market

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// A Quotation is what a job would cost now, at each site, were it submitted.
type Quotation struct {
	Job   protocol.JobID
	Sites []SiteQuotation // the registered ones, by name; none of a job in parts
	// Decision is that of a round of this job alone, with the plan and the prices of the last
	// round; of a job in parts without a site. nil: the clearing rule cannot be asked without effect.
	Decision *auction.Decision
	Parts    []Quotation // of a job in parts, each as a job
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
	shared, own := k.announcePrices(now, 0, q.Call.SitesAsked())
	q.Call.Closes, q.Call.Weights, q.Call.ShadowPrices = now.Add(k.cfg.Window), k.cfg.Terms, shared
	q.Call.MaxBytes, q.Call.Planning = k.cfg.MaxOfferBytes, k.cfg.Planning
	return append(own, k.sender.NewMessage(now, "", q))
}

// Quote returns what a job would cost, by the answers of sites to a request of the time asked. It
// reads the market and changes nothing of it, so it may be called between two steps.
func (k *Market) Quote(now, asked protocol.Time, j protocol.Job, answers map[string]protocol.Message) Quotation {
	// A round of its own over a shallow copy: what clearing a round writes is replaced here.
	view := *k
	view.counts = make(map[string]int)
	w := &lot{job: j, submitted: j, state: called}
	r := &round{call: callTime{opened: asked}, closes: now, lots: []*lot{w}, index: make(map[protocol.JobID]int), offers: make(map[string]protocol.Bids)}
	if j.IsDivided() {
		r.lots = nil
		for _, p := range j.PartJobs() {
			r.lots = append(r.lots, &lot{job: p, submitted: p, state: called, whole: w})
		}
		w.parts = r.lots
	}
	for i, l := range r.lots {
		r.index[l.job.ID] = i
	}
	view.round = r
	for _, site := range k.siteNames {
		m := answers[site]
		if q, ok := m.Body.(protocol.Quote); ok {
			r.offers[site] = view.validateBids(site, shiftToMarketClock(q.Bids, m.At, asked, now))
		}
	}
	in, impossible, against := view.roundToClear(now, r)
	in.TieTolerance = auction.TieTolerance{} // a judge is asked about jobs only
	all := make([]Quotation, len(r.lots))
	for i, l := range r.lots {
		all[i].Job = l.job.ID
		for _, name := range k.siteNames {
			all[i].Sites = append(all[i].Sites, view.quotationOf(name, &l.job, in.Lots[i].Bids))
		}
	}
	if rule, ok := k.rule.(interface{ Clone() *auction.Auction }); ok {
		decisions := rule.Clone().Clear(in).Decisions
		for i, l := range r.lots {
			d := &decisions[i]
			if impossible[i] == len(k.sites) && len(k.sites) > 0 {
				*d = auction.Decision{Verdict: auction.Reject, Why: view.commonRejectReason(r, l)}
			} else if d.Verdict == auction.Defer && len(in.Lots[i].Bids) == 0 && against[i].Code != "" {
				d.Why = against[i]
			}
			all[i].Decision = d
		}
	}
	if !j.IsDivided() {
		return all[0]
	}
	view.noteOpenings(r, in)
	return view.quotationOfWhole(now, r, w, all)
}

// quotationOfWhole returns the quotation of a job in parts by those of its parts: whether they would be awarded
// together, and if not, why, and from when their starts would meet.
func (k *Market) quotationOfWhole(now protocol.Time, r *round, w *lot, parts []Quotation) Quotation {
	out := Quotation{Job: w.job.ID, Parts: parts}
	if parts[0].Decision == nil {
		return out
	}
	var all []*auction.Decision
	for i := range parts {
		all = append(all, parts[i].Decision)
	}
	d, apart := k.decisionOnParts(now, r, w, all)
	switch {
	case !apart:
		d = auction.Decision{Verdict: auction.Award, Why: protocol.Reason{Code: protocol.Cheapest, Note: jointStartNote(all, now, k.cfg.Planning.MaxStartDelay)}}
	case d.Why.Code == protocol.PartsApart && w.joint.opening > now:
		d.Why.Note = "by these offers all parts could start together at " + format.FormatInstant(w.joint.opening)
	}
	out.Decision = &d
	return out
}

// quotationOf returns the quotation of a site for a job; bids are those that the market allows.
func (k *Market) quotationOf(name string, job *protocol.Job, bids []auction.SiteBids) SiteQuotation {
	r := k.round
	o, answered := r.offers[name]
	q := SiteQuotation{Site: name, Answered: answered, Drained: k.sites[name].drained}
	for _, m := range o.Jobs {
		if m.Job != job.ID {
			continue
		}
		if q.Why = m.Why; len(m.Options) > 0 {
			q.Why.Code = protocol.Forbidden // unless options are left below
		}
	}
	for _, b := range bids {
		if b.Site != name {
			continue
		}
		q.Why = protocol.Reason{}
		for _, x := range b.Options {
			q.Options = append(q.Options, QuotedOption{
				BidOption: x, Price: accounts.SettlementAmount(x.Money, x.Money, job.TariffCost(x.Finish.Sub(x.Start), x.Tariff), k.cfg.Pay),
				Cost: k.cfg.Terms.PriceOption(job, &x, protocol.PricingBasis{Trust: k.trust.TrustFactor(name)}).Total(),
			})
		}
	}
	return q
}
