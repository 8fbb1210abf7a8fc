package learned

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A candidate is one option of a lot with what an observation says of it.
type candidate struct {
	site   int // index into the round's sites
	option *protocol.BidOption
	rank   protocol.Microdollars  // by which options are ordered: as the auction compares them
	quoted protocol.CostBreakdown // what its owner would be charged, as bid
	room   roomView
}

// rankOptions returns the cheapest options of a lot, in the order in which the auction compares them
// where room has no price: deadlines first, trust in sites and the operators' preferences counted.
func rankOptions(all []candidate, r *auction.Round, l *auction.Lot) []candidate {
	all = all[:0]
	ranking, weights := r.Weights.ForRanking(), r.Weights
	compared, charged := ranking.ForJob(&l.Job), weights.ForJob(&l.Job)
	for i := range l.Bids {
		m := &l.Bids[i]
		site, ok := slices.BinarySearchFunc(r.Sites, m.Site, func(s auction.Site, name string) int { return cmp.Compare(s.Name, name) })
		if !ok {
			continue
		}
		trust := max(r.Sites[site].Trust, 1000)
		for k := range m.Options {
			o := &m.Options[k]
			by := protocol.PricingBasis{Trust: trust}
			c := candidate{site: site, option: o, quoted: charged.PriceOption(o, by)}
			if o.Start > r.Now {
				by.FinishDelay = r.Planning.MaxStartDelay
			}
			c.rank = compared.PriceOption(o, by).Total()
			if k < len(m.Bias) {
				c.rank -= max(c.rank, -c.rank) * protocol.Microdollars(m.Bias[k]) / 1000
			}
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(x.option.Finish, y.option.Finish), cmp.Compare(x.site, y.site),
			cmp.Compare(x.option.Model, y.option.Model), cmp.Compare(x.option.Cap, y.option.Cap), cmp.Compare(x.option.Start, y.option.Start))
	})
	return all[:min(len(all), MostOptions)]
}
