package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A call is a round, shared by the hearings of all its jobs.
type call struct {
	round   uint64
	said    Origin
	closes  protocol.Time
	weights protocol.Weights
	shadow  map[place]protocol.ShadowPrice
	sites   []string // known when it was called
	offered []string // in time
	jobs    int
	awards  int
	holds   int
	refused int // jobs, after it was called and before the next
	proof   protocol.Certificate
	decided bool // something was decided in it, or asked about what is to be
}

type place struct{ site, model string }

// A hearing is a Hearing as it is kept: menus as they were said, so that a
// round which nobody asks about costs no copying.
type hearing struct {
	call     *call
	heard    []heard
	best     Priced // by cost, then finish, then site
	line     Line
	decision Decision
}

type heard struct {
	site string
	said Origin
	menu protocol.JobBids
	late bool
	void *protocol.Reason // its site was declared gone before the round was decided; nil: it was not
}

func (c *call) record() RoundRecord {
	r := RoundRecord{
		Round: c.round, Called: c.said, Closes: c.closes, Jobs: c.jobs,
		Awards: c.awards, Holds: c.holds, Refused: c.refused, Proof: c.proof,
		Offered: slices.Sorted(slices.Values(c.offered)),
	}
	for _, s := range c.sites {
		if !slices.Contains(c.offered, s) {
			r.Silent = append(r.Silent, s)
		}
	}
	return r
}

// price returns o with its terms in the round.
func (c *call) price(j protocol.Job, site string, o protocol.BidOption) Priced {
	worth := c.worth(site, o)
	return Priced{o, c.weights.CostOf(j, o, worth), protocol.GPUHoursCost(j.TotalGPUMilli(), o.Finish.Sub(o.Start), worth)}
}

// worth returns the shadow price of a GPU-hour where and while o runs: the
// mean of the announced slots, by time. Slots that were not announced are
// worth nothing.
func (c *call) worth(site string, o protocol.BidOption) protocol.Microdollars {
	p, ok := c.shadow[place{site, o.Model}]
	// Instants are compared, not spans: a span of hostile instants overflows.
	if !ok || p.Slot < time.Millisecond || o.Finish <= o.Start || o.Finish > o.Start.Add(2*protocol.MaxRun) {
		return 0
	}
	var sum int64
	slot := protocol.Time(p.Slot.Milliseconds())
	for i, v := range p.Values {
		from := p.From + protocol.Time(i)*slot
		if overlap := min(from+slot, o.Finish) - max(from, o.Start); overlap > 0 {
			sum += int64(v) * int64(overlap)
		}
	}
	return protocol.Microdollars(sum / int64(o.Finish-o.Start))
}

// add takes in a site's menu, and the best option if it came in time.
func (h *hearing) add(j protocol.Job, from Origin, menu protocol.JobBids, late bool) {
	site := from.From.SiteName()
	h.heard = append(h.heard, heard{site: site, said: from, menu: menu, late: late})
	if !late {
		h.count(j, site, menu)
	}
}

// voidBids notes that the bids of a site count for nothing any more: it was declared
// gone before the round was decided.
func (h *hearing) voidBids(j protocol.Job, site string, why protocol.Reason) {
	if h.decision.Kind != "" {
		return
	}
	h.best, h.line.Best, h.line.BestSite, h.line.Options = Priced{}, 0, "", 0
	for i := range h.heard {
		x := &h.heard[i]
		if x.site == site {
			x.void = &why
		}
		if !x.late && x.void == nil {
			h.count(j, x.site, x.menu)
		}
	}
}

// count takes in the options of a menu that came in time.
func (h *hearing) count(j protocol.Job, site string, menu protocol.JobBids) {
	for _, o := range menu.Options {
		p := h.call.price(j, site, o)
		if h.line.Options == 0 || better(p, site, h.best, h.line.BestSite) {
			h.best, h.line.Best, h.line.BestSite = p, p.Terms.Total(), site
		}
		h.line.Options++
	}
}

// better orders options by cost, then finish, then site, so that the order in
// which sites answer does not matter.
func better(a Priced, siteA string, b Priced, siteB string) bool {
	return cmp.Or(
		cmp.Compare(a.Terms.Total(), b.Terms.Total()),
		cmp.Compare(a.Finish, b.Finish),
		cmp.Compare(siteA, siteB),
	) < 0
}

func (h *hearing) decide(d Decision) {
	h.decision = d
	h.line.Kind, h.line.Code, h.line.Site, h.line.Until = d.Kind, d.Why.Code, d.Site, d.Until
}

// full returns h as it is shown.
func (h *hearing) full(j protocol.Job) Hearing {
	full := Hearing{
		Round: h.call.round, Called: h.call.said, Closes: h.call.closes, Weights: h.call.weights,
		Line: h.line, Decision: h.decision,
	}
	names := slices.Clone(h.call.sites)
	for _, x := range h.heard {
		names = append(names, x.site)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		full.Answers = append(full.Answers, h.answer(j, name))
	}
	return full
}

// answer returns the last that a site said in the round.
func (h *hearing) answer(j protocol.Job, site string) Answer {
	a := Answer{Site: site}
	for _, x := range h.heard {
		if x.site != site {
			continue
		}
		if x.void != nil {
			a = Answer{Site: site, Said: x.said, Late: x.late, Why: *x.void}
			continue
		}
		a = Answer{Site: site, Said: x.said, Late: x.late, Why: x.menu.Why, Expect: x.menu.Expect}
		for _, o := range x.menu.Options {
			a.Options = append(a.Options, h.call.price(j, site, o))
		}
	}
	slices.SortStableFunc(a.Options, func(x, y Priced) int {
		return cmp.Or(cmp.Compare(x.Terms.Total(), y.Terms.Total()), cmp.Compare(x.Finish, y.Finish))
	})
	return a
}
