package serviceday

import "slices"

// A Bound is what no placement of the scheduled replicas can be below. A row that lacks replicas for a part of
// its time may be that part below it. Relaxations are what it leaves out.
type Bound struct {
	TotalUSD float64 `json:"total_usd"` // money and carbon at its price
	Kg       float64 `json:"kg"`        // were carbon all that counts
	USD      float64 `json:"usd"`       // were money
}

// Relaxations are what a Bound leaves out.
var Relaxations = []string{
	"all prices and intensities of the day are known",
	"no job takes an H100",
	"replicas move, start and drain in no time and at no cost",
	"a replica takes an eighth of a node's idle draw, and no node idles beside",
	"requests have no distance",
}

// lowerBound bounds the cost of a day: in each minute as many replicas as scheduled run, with the minute's
// load spread over them. It is the dual of that choice: at any price of a replica what all replicas are
// worth, less what places cost below that price, is no more than any placement costs. The price of the
// dearest replica that is needed makes it exact.
func (d *Day) lowerBound() (b Bound) {
	table := &d.world.Table
	for m := settled; m < len(d.counts); m++ {
		wanted := d.counts[m]
		load := d.perSecond(m) / (float64(wanted) * table.Limit)
		kwh := (table.Watts(load) + hostWatts) / 60_000
		least := func(of func(price, carbon float64) float64) float64 {
			var costs []float64
			for i, site := range d.Scenario.Sites {
				for range placesAt(site) {
					costs = append(costs, kwh*of(d.hourOf(i, m)))
				}
			}
			sorted := slices.Sorted(slices.Values(costs))
			if len(sorted) == 0 {
				return 0
			}
			price := sorted[min(wanted, len(sorted))-1]
			bound := float64(min(wanted, len(sorted))) * price
			for _, c := range costs {
				bound -= max(price-c, 0)
			}
			return bound
		}
		b.TotalUSD += least(d.priceOf)
		b.USD += least(func(price, _ float64) float64 { return price })
		b.Kg += least(func(_, carbon float64) float64 { return carbon })
	}
	return b
}
