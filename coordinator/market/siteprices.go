package market

import "github.com/gridbid/gridbid/protocol"

// maxSharedPrices is the most sites whose shadow prices a call carries to all. Where the capacity of
// more is scarce, each site is told its own in a message before the call: a call to 1,000 sites with
// the prices of all would be 400 kB for each of them (decision 0290).
const maxSharedPrices = 16

// announcePrices returns the rule's shadow prices as the call for bids of a round is to carry them,
// or none and a message to each asked site that has some. Prices of sites that have gone are dropped.
func (k *Market) announcePrices(now protocol.Time, round uint64, isAsked func(site string) bool) (shared []protocol.ShadowPrice, own []protocol.Message) {
	all := k.rule.ShadowPrices()
	var bySite [][]protocol.ShadowPrice // the rule returns them by site
	for i, p := range all {
		if i == 0 || p.Site != all[i-1].Site {
			bySite = append(bySite, nil)
		}
		last := len(bySite) - 1
		bySite[last] = append(bySite[last], p)
	}
	if len(bySite) <= maxSharedPrices {
		return all, nil
	}
	for _, prices := range bySite {
		if site := prices[0].Site; k.sites[site] != nil && isAsked(site) {
			own = append(own, k.sender.NewMessage(now, protocol.AgentParty(site), protocol.SitePrices{Round: round, ShadowPrices: prices}))
		}
	}
	return nil, own
}
