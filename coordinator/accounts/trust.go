package accounts

import (
	"math"

	"github.com/gridbid/gridbid/protocol"
)

// TrustWindow is the number of a site's latest jobs that its trust depends on. Older
// jobs are dropped, so that a site that repairs its meters regains trust and the
// memory for each site is bounded.
const TrustWindow = 64

// Bounds and constants of the trust factor, in thousandths of the bid.
const (
	HonestFactor        protocol.Milli = 1000   // bids count as they are
	MaxTrustFactor      protocol.Milli = 10_000 // largest factor: bids count ten times
	priorHonestJobs                    = 4      // honest jobs that every site is credited with in advance
	confidenceZ                        = 1.645  // standard errors above the mean: 95 % one-sided
	carbonForecastSlack                = 1.5    // measured over bid carbon that an honest forecast may reach
	missedStartRatio                   = 2      // a start that never came counts as a job that took so many times what was bid
)

// Trust stores, for each site, the energy and carbon that it bid and that were
// measured. The zero Trust rates every site as honest.
type Trust struct {
	sites map[string]*siteRecord
}

// A siteRecord is a ring buffer of a site's latest jobs, with the factor they give.
type siteRecord struct {
	energy, carbon ratioSample // millijoules and milligrams, including the facility's overhead
	missed         [TrustWindow]bool
	n              int // number of jobs and missed starts observed so far; n % TrustWindow is the next slot
	factor         protocol.Milli
}

// A ratioSample holds bid and measured amounts by job.
type ratioSample struct{ bid, measured [TrustWindow]float64 }

// ObserveJob adds a finished job of a site. Negative amounts count as zero. A zero
// bid for a job that used something counts against the site.
func (t *Trust) ObserveJob(site string, bid, measured protocol.Usage) {
	t.observe(site, bid, measured, false)
}

// ObserveMissedStart adds a job that a site accepted and did not start by its deadline, while other sites held
// room for the other parts of that job.
func (t *Trust) ObserveMissedStart(site string) {
	t.observe(site, protocol.Usage{}, protocol.Usage{}, true)
}

func (t *Trust) observe(site string, bid, measured protocol.Usage, missed bool) {
	p := t.sites[site]
	if p == nil {
		if t.sites == nil {
			t.sites = make(map[string]*siteRecord)
		}
		p = &siteRecord{}
		t.sites[site] = p
	}
	i := p.n % TrustWindow
	p.missed[i] = missed
	p.energy.bid[i], p.energy.measured[i] = float64(max(0, bid.Energy)), float64(max(0, measured.Energy))
	p.carbon.bid[i], p.carbon.measured[i] = float64(max(0, bid.Carbon)), float64(max(0, measured.Carbon))
	p.n++
	p.factor = p.computeFactor()
}

// TrustFactor returns the factor by which a site's bids are multiplied, in
// thousandths: [HonestFactor] for a site without jobs or whose measurements match its
// bids; more, up to [MaxTrustFactor], for one whose jobs take more energy than bid, or
// far more carbon. Bid carbon rests on a forecast of the grid, so carbon counts
// only beyond the error of an honest forecast.
//
// Source: docs/method.md, section 8: max(1, upper confidence bound of measured / bid).
func (t *Trust) TrustFactor(site string) protocol.Milli {
	if p := t.sites[site]; p != nil {
		return p.factor
	}
	return HonestFactor
}

// computeFactor returns the factor of the stored jobs. A prior of k honest jobs shrinks
// it towards 1, and m missed starts count as jobs of twice the bid: factor = (n upper + k + 2 m) / (n + k + m).
func (p *siteRecord) computeFactor() protocol.Milli {
	slots, missed := min(p.n, TrustWindow), 0
	for i := range slots {
		if p.missed[i] {
			missed++
		}
	}
	n := slots - missed
	upper := max(p.energy.upperRatio(slots, n), p.carbon.upperRatio(slots, n)/carbonForecastSlack)
	factor := (float64(float64(n)*upper) + float64(priorHonestJobs+missedStartRatio*missed)) / float64(n+priorHonestJobs+missed)
	return max(HonestFactor, min(MaxTrustFactor, protocol.Milli(math.Round(min(factor, 1000)*1000))))
}

// upperRatio returns the upper confidence bound of measured over bid for n jobs in so many slots; the others, in
// which nothing was bid, are missed starts. With
// bids b and measurements m, the ratio of sums r = Σm / Σb weighs each job by its
// size, so that many small honest jobs do not hide a large false one. The
// standard error of that ratio estimator is
// e = sqrt(Σ(m-rb)² · n/(n-1)) / Σb; upper is r + 1.645 e.
func (s *ratioSample) upperRatio(slots, n int) float64 {
	var bid, measured float64
	for i := range slots {
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
	for i := range slots {
		d := s.measured[i] - float64(r*s.bid[i])
		off += float64(d * d)
	}
	if n > 1 {
		r += float64(confidenceZ * math.Sqrt(off*float64(n)/float64(n-1)) / bid)
	}
	return r
}
