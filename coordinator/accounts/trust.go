package accounts

import (
	"math"

	"github.com/gridbid/gridbid/protocol"
)

// Memory is how many of a site's latest jobs its trust rests on. Older ones
// are forgotten, so that a site which repairs its meters is believed again,
// and so that what is kept about a site has a bound.
const Memory = 64

// Bounds of a factor, in thousandths of the bid.
const (
	Honest   protocol.Milli = 1000   // bids are taken as said
	Untrue   protocol.Milli = 10_000 // the most that a bid is held to be short by
	benefit                 = 4      // honest jobs that a site is credited with before its first
	spread                  = 1.645  // standard errors above the mean: 95 % one-sided
	forecast                = 1.5    // measured carbon over bid carbon that an honest forecast may be off by
)

// Trust remembers, for each site, how its measured energy and carbon compared
// with what it bid. The zero Trust takes every site as honest.
type Trust struct {
	sites map[string]*past
}

// A past is a ring of a site's latest jobs.
type past struct {
	energy, carbon sample // millijoules and milligrams, facility's share included
	n              int    // jobs ever seen
	factor         protocol.Milli
}

// A sample is what was bid and measured, job by job.
type sample struct{ bid, measured [Memory]float64 }

// Observe remembers a finished job of a site. Amounts below zero count as zero;
// a bid of nothing for a job that took some counts against the site.
func (t *Trust) Observe(site string, bid, measured protocol.Bill) {
	p := t.sites[site]
	if p == nil {
		if t.sites == nil {
			t.sites = make(map[string]*past)
		}
		p = &past{}
		t.sites[site] = p
	}
	i := p.n % Memory
	p.energy.bid[i], p.energy.measured[i] = float64(max(0, bid.Energy)), float64(max(0, measured.Energy))
	p.carbon.bid[i], p.carbon.measured[i] = float64(max(0, bid.Carbon)), float64(max(0, measured.Carbon))
	p.n++
	p.factor = p.weigh()
}

// Factor returns what a site's bids are to be multiplied by, in thousandths:
// [Honest] for a site that keeps its word or is not known, more for one whose
// jobs take more energy than it says, or far more carbon, at most [Untrue]. A
// bid's carbon is by a forecast of the grid, so what an honest forecast may be
// off by counts for nothing.
//
// METHOD, Trust: max(1, upper confidence of the ratio measured / bid).
func (t *Trust) Factor(site string) protocol.Milli {
	if p := t.sites[site]; p != nil {
		return p.factor
	}
	return Honest
}

// weigh returns the factor that the remembered jobs give. Ratios are drawn
// towards honesty by the benefit of doubt k: factor = (n upper + k) / (n + k).
func (p *past) weigh() protocol.Milli {
	n := min(p.n, Memory)
	upper := max(p.energy.upper(n), p.carbon.upper(n)/forecast)
	factor := (float64(float64(n)*upper) + benefit) / float64(n+benefit)
	return max(Honest, min(Untrue, protocol.Milli(math.Round(min(factor, 1000)*1000))))
}

// upper returns the upper confidence of measured over bid, of n jobs. With bids
// b and measurements m, the ratio of sums r = Σm / Σb weighs a job by its size,
// so small honest jobs do not cover a large lie. Its standard error is that of a
// ratio estimator, e = sqrt(Σ(m-rb)² · n/(n-1)) / Σb; upper is r + 1.645 e.
func (s *sample) upper(n int) float64 {
	var bid, measured float64
	for i := range n {
		bid += s.bid[i]
		measured += s.measured[i]
	}
	switch {
	case bid == 0 && measured == 0:
		return 1
	case bid == 0:
		return math.Inf(1)
	}
	r := measured / bid
	var off float64
	for i := range n {
		d := s.measured[i] - float64(r*s.bid[i])
		off += float64(d * d)
	}
	if n > 1 {
		r += float64(spread * math.Sqrt(off*float64(n)/float64(n-1)) / bid)
	}
	return r
}
