package learned

import (
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// SiteHorizons are the hours ahead that a site looks at.
var SiteHorizons = []int{0, 1, 2, 4, 8, 12, 24, 48}

// SiteFeatures names the numbers that a site sees, in order.
var SiteFeatures = siteFeatures()

// siteFeatures names four numbers of each horizon, and eight more.
func siteFeatures() (names []string) {
	for _, what := range []string{"free", "price", "carbon", "shadow"} {
		for _, h := range SiteHorizons {
			names = append(names, fmt.Sprintf("%s_%d", what, h))
		}
	}
	return append(names, "day", "day_shifted", "trust", "fleet", "asked", "won", "said_money", "said_energy")
}

// LeastStated and MostStated bound what a site may say of its costs, in parts of the truth.
const (
	LeastStated = 0.7
	MostStated  = 1.5
)

// A SiteStatement is what a site says of the money and of the energy of its options, in thousandths of the truth.
type SiteStatement struct{ Money, Energy protocol.Milli }

// A SiteRule is the auction, and agents of sites that choose what they say of their costs. They choose
// when a full round is cleared, for all bids until the next one. It implements auction.ClearingRule.
type SiteRule struct {
	market *auction.Auction
	sites  []string
	ask    func(*BoxQuestion) [][2]float64
	tell   func([]SiteStatement)

	question BoxQuestion
	said     []SiteStatement
	won      []gpuTime // since the last question
	rate     usualRate
	all      []candidate
}

// NewSiteRule returns a rule for sites in the order of their names. It asks by one function, which
// returns what each says, and hands that on by another.
func NewSiteRule(sites []string, ask func(*BoxQuestion) [][2]float64, tell func([]SiteStatement)) *SiteRule {
	b := &SiteRule{
		market: auction.New(auction.Config{}), sites: slices.Sorted(slices.Values(sites)), ask: ask, tell: tell,
		question: newBoxQuestion(len(sites), len(SiteFeatures)), said: make([]SiteStatement, len(sites)), won: make([]gpuTime, len(sites)),
	}
	for i := range b.said {
		b.said[i] = SiteStatement{1000, 1000}
	}
	return b
}

// Clear implements auction.ClearingRule.
func (b *SiteRule) Clear(r auction.Round) auction.Outcome {
	if r.Full {
		b.all = b.rate.update(&r, b.all)
		b.observe(&r)
		for i, v := range b.ask(&b.question) {
			b.said[i] = SiteStatement{thousandthsOf(v[0]), thousandthsOf(v[1])}
		}
		clear(b.won)
		b.tell(slices.Clone(b.said))
	}
	out := b.market.Clear(r)
	for i, d := range out.Decisions {
		if k, ok := slices.BinarySearch(b.sites, d.Site); ok && d.Verdict == auction.Award {
			b.won[k] += gpuTimeOf(&r.Lots[i].Job)
		}
	}
	return out
}

// thousandthsOf returns what a site says in thousandths, within the bounds.
func thousandthsOf(v float64) protocol.Milli {
	return protocol.Milli(float64(min(max(v, LeastStated), MostStated)*1000) + 0.5)
}

// ShadowPrices implements auction.ClearingRule.
func (b *SiteRule) ShadowPrices() []protocol.ShadowPrice { return b.market.ShadowPrices() }

// observe fills the question. A site that did not answer sees zeros.
func (b *SiteRule) observe(r *auction.Round) {
	b.question.Now = r.Now
	shadow, fleet := b.market.ShadowPrices(), 0.0
	for i := range r.Sites {
		for k := range r.Sites[i].Capacity {
			fleet += float64(r.Sites[i].Capacity[k].Total)
		}
	}
	for i, name := range b.sites {
		clear(b.question.Seen[i])
		if site := siteNamed(r, name); site != nil {
			b.observeSite(features{row: b.question.Seen[i]}, r, site, i, shadow, fleet)
		}
	}
}

// observeSite fills what one site sees: its own GPUs and grid, what was announced, and its own past.
func (b *SiteRule) observeSite(f features, r *auction.Round, site *auction.Site, i int, shadow []protocol.ShadowPrice, fleet float64) {
	own := 0.0
	for k := range site.Capacity {
		own += float64(site.Capacity[k].Total)
	}
	overPools := func(value func(p *protocol.CapacityProfile) float64) (mean float64) {
		for k := range site.Capacity {
			p := &site.Capacity[k]
			mean += float64(ratioOf(float64(p.Total), own) * value(p))
		}
		return mean
	}
	ahead := func(h int) protocol.Time { return r.Now.Add(time.Duration(h) * time.Hour) }
	for _, h := range SiteHorizons {
		f.put(overPools(func(p *protocol.CapacityProfile) float64 { return shareAt(p, p.Free, ahead(h)) }))
	}
	for _, h := range SiteHorizons {
		f.put(levelAt(site.Forecast.Price, h))
	}
	for _, h := range SiteHorizons {
		f.put(levelAt(site.Forecast.Carbon, h))
	}
	for _, h := range SiteHorizons {
		f.put(squash(ratioOf(overPools(func(p *protocol.CapacityProfile) float64 { return announcedAt(shadow, site.Name, p.Model, ahead(h)) }), float64(b.rate)), 1))
	}
	asked := gpuTime(0)
	for k := range r.Lots {
		if slices.ContainsFunc(r.Lots[k].Bids, func(m auction.SiteBids) bool { return m.Site == site.Name && len(m.Options) > 0 }) {
			asked += gpuTimeOf(&r.Lots[k].Job)
		}
	}
	f.put(triangleWave(r.Now, 0))
	f.put(triangleWave(r.Now, 6*time.Hour))
	f.put(float64(max(site.Trust, 1000))/1000 - 1)
	f.put(ratioOf(own, fleet))
	f.put(squash(ratioOf(1000*asked.gpuHours(), own), 2))
	f.put(squash(ratioOf(1000*b.won[i].gpuHours(), own), 1))
	f.put(float64(b.said[i].Money) / 1000)
	f.put(float64(b.said[i].Energy) / 1000)
}
