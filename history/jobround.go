package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A clearingRound is what all jobs of a round share. Each job has a jobRound that points to it.
type clearingRound struct {
	round   uint64
	message MessageRef
	closes  protocol.Time
	weights protocol.Weights
	shadow  map[place]protocol.ShadowPrice
	sites   []string              // asked when it was called
	call    *protocol.CallForBids // that says which sites are asked for which jobs; nil: all are, or no bids are kept
	offered []string              // in time
	jobs    int
	awards  int
	holds   int
	refused int // jobs, after it was called and before the next
	proof   protocol.Certificate
	decided bool // something was decided in it, or asked about what is to be

	maxStartDelay time.Duration // with which a site may start a job
}

// A place is what a shadow price is of: one GPU model at one site.
type place struct{ site, model string }

// A jobRound is a JobRound as it is kept: bids as they were sent, so that a
// round that no one looks at costs no copying.
type jobRound struct {
	round    *clearingRound
	received []receivedBids
	best     PricedOption // by cost, then finish, then site
	summary  RoundSummary
	decision Decision
}

// receivedBids are the bids of one site for one job in one round.
type receivedBids struct {
	site       string
	message    MessageRef
	bids       protocol.JobBids
	holes      []protocol.Hole // of a gang: what its options keep idle
	late       bool
	voidReason *protocol.Reason // its site was declared gone before the round was decided; nil: it was not
}

// roundRecord returns the round as it is exported. Only a site that was known at
// the call can be silent; one that joined later is listed only if it offered.
func (c *clearingRound) roundRecord() RoundRecord {
	r := RoundRecord{
		Round: c.round, Called: c.message, Closes: c.closes, Jobs: c.jobs,
		Awards: c.awards, Holds: c.holds, Refused: c.refused, Proof: c.proof,
		Offered: slices.Sorted(slices.Values(c.offered)), Weights: c.weights,
	}
	for _, s := range c.sites {
		if !slices.Contains(c.offered, s) {
			r.Silent = append(r.Silent, s)
		}
	}
	return r
}

// priceOption returns o with its cost by cause and the worth of the GPU-hours that it takes,
// as the round compared it: by the weights of its call for ranking, and its shadow prices.
func (c *clearingRound) priceOption(j protocol.Job, site string, o protocol.BidOption) PricedOption {
	worth := c.meanShadowPrice(site, o)
	return PricedOption{
		BidOption: o, Terms: c.weights.ForRanking().CostOf(j, o, worth),
		Room: protocol.GPUHoursCost(j.GPUsUnder(&o), o.Finish.Sub(o.Start), worth),
	}
}

// meanShadowPrice returns the shadow price of a GPU-hour where and while o runs: the
// mean of the announced slots, by time. Slots that were not announced are
// worth nothing.
func (c *clearingRound) meanShadowPrice(site string, o protocol.BidOption) protocol.Microdollars {
	p, ok := c.shadow[place{site, o.Model}]
	// Instants are compared, not spans: a span of hostile instants overflows.
	if !ok || p.Slot < time.Millisecond || o.Finish <= o.Start || o.Finish > o.Start.Add(2*protocol.MaxRun) {
		return 0
	}
	var sum int64
	slot := protocol.Time(p.Slot.Milliseconds())
	for i, v := range p.Values {
		from := p.From + protocol.Time(i)*slot
		// Each slot counts by the time that it shares with the option.
		if overlap := min(from+slot, o.Finish) - max(from, o.Start); overlap > 0 {
			sum += int64(v) * int64(overlap)
		}
	}
	return protocol.Microdollars(sum / int64(o.Finish-o.Start))
}

// receivedAhead is for the bids of how many sites a round of a job makes room at first.
const receivedAhead = 16

// addBids counts a site's bids, and keeps them if cfg says so. Late ones are kept to be shown, but
// do not count. A live view counts none, and prices only those that a hold is compared by.
func (h *jobRound) addBids(j protocol.Job, from MessageRef, menu protocol.JobBids, holes []protocol.Hole, late bool, cfg Config) {
	site := from.From.SiteName()
	if !cfg.NoBids {
		if h.received == nil {
			h.received = make([]receivedBids, 0, min(len(h.round.sites), receivedAhead))
		}
		h.received = append(h.received, receivedBids{site: site, message: from, bids: menu, holes: holesOf(holes, menu.Job), late: late})
	}
	if !late && !cfg.Live {
		h.countOptions(j, site, menu)
	}
}

// holesOf returns the holes of a job's options; nil for nearly all jobs.
func holesOf(all []protocol.Hole, id protocol.JobID) (out []protocol.Hole) {
	for i := range all {
		if all[i].Job == id {
			out = append(out, all[i])
		}
	}
	return out
}

// voidBids notes that the bids of a site count for nothing any more: it was declared
// gone before the round was decided.
func (h *jobRound) voidBids(j protocol.Job, site string, why protocol.Reason) {
	if h.decision.Kind != "" {
		return
	}
	h.best, h.summary.Best, h.summary.BestSite, h.summary.Options = PricedOption{}, 0, "", 0
	for i := range h.received {
		x := &h.received[i]
		if x.site == site {
			x.voidReason = &why
		}
		if !x.late && x.voidReason == nil {
			h.countOptions(j, x.site, x.bids)
		}
	}
}

// countOptions updates number and best of the options that came in time.
func (h *jobRound) countOptions(j protocol.Job, site string, menu protocol.JobBids) {
	for _, o := range menu.Options {
		p := h.round.priceOption(j, site, o)
		if h.summary.Options == 0 || isBetterOption(p, site, h.best, h.summary.BestSite) {
			h.best, h.summary.Best, h.summary.BestSite = p, p.Terms.Total(), site
		}
		h.summary.Options++
	}
}

// isBetterOption orders options by cost, then finish, then site, so that the order in
// which sites answer does not matter.
func isBetterOption(a PricedOption, siteA string, b PricedOption, siteB string) bool {
	return cmp.Or(
		cmp.Compare(a.Terms.Total(), b.Terms.Total()),
		cmp.Compare(a.Finish, b.Finish),
		cmp.Compare(siteA, siteB),
	) < 0
}

// setDecision records the decision, and in the summary what stays of it when the round is
// no longer kept in full.
func (h *jobRound) setDecision(d Decision) {
	h.decision = d
	h.summary.Kind, h.summary.Code, h.summary.Site, h.summary.Until = d.Kind, d.Why.Code, d.Site, d.Until
}

// exportRound returns the round with priced options, one answer for each site: those asked in
// the call and those that answered without being known then, by name.
func (h *jobRound) exportRound(j protocol.Job) JobRound {
	full := JobRound{
		Round: h.round.round, Called: h.round.message, Closes: h.round.closes, Weights: h.round.weights,
		Summary: h.summary, Decision: h.decision,
	}
	names := slices.Clone(h.round.sites)
	if call := h.round.call; call != nil {
		names = call.SitesAskedFor(j.ID)
	}
	for _, x := range h.received {
		names = append(names, x.site)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		full.Answers = append(full.Answers, h.answerOf(j, name))
	}
	return full
}

// answerOf returns the last answer of a site in the round, options cheapest first. A voided
// answer keeps the reason and loses its options. Without any answer Message is zero.
func (h *jobRound) answerOf(j protocol.Job, site string) Answer {
	a := Answer{Site: site}
	for _, x := range h.received {
		if x.site != site {
			continue
		}
		if x.voidReason != nil {
			a = Answer{Site: site, Message: x.message, Late: x.late, Why: *x.voidReason}
			continue
		}
		a = Answer{Site: site, Message: x.message, Late: x.late, Why: x.bids.Why, Expect: x.bids.Expect}
		for i, o := range x.bids.Options {
			p := h.round.priceOption(j, site, o)
			if k := slices.IndexFunc(x.holes, func(x protocol.Hole) bool { return x.Option == i }); k >= 0 {
				p.Hole = &x.holes[k]
			}
			a.Options = append(a.Options, p)
		}
	}
	// Stable, so that equal options keep the order of the site's message.
	slices.SortStableFunc(a.Options, func(x, y PricedOption) int {
		return cmp.Or(cmp.Compare(x.Terms.Total(), y.Terms.Total()), cmp.Compare(x.Finish, y.Finish))
	})
	return a
}
