package learned

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A BoxQuestion asks the agents of a seat for numbers, all at once, when a full round is cleared. The
// rule that asks owns it.
type BoxQuestion struct {
	Now  protocol.Time
	Seen [][]float32 // what each agent sees
}

// newBoxQuestion returns a question of so many agents, each of whom sees so many numbers.
func newBoxQuestion(agents, size int) BoxQuestion {
	q := BoxQuestion{Seen: make([][]float32, agents)}
	for i := range q.Seen {
		q.Seen[i] = make([]float32, size)
	}
	return q
}

// siteNamed returns the site of a round by its name, or nil if it did not answer.
func siteNamed(r *auction.Round, name string) *auction.Site {
	for i := range r.Sites {
		if r.Sites[i].Name == name {
			return &r.Sites[i]
		}
	}
	return nil
}

// levelAt returns how far a value of an hour lies above the mean of the next 24, in parts of that. An
// hour beyond the last has the last one's.
func levelAt[N ~int64](v []N, hour int) float64 {
	return levelOf(meanOf(v, hour, hour+1), meanOf(v, 0, 24))
}

// valueAt returns the value of a slot; the last one's beyond it, and 0 of none.
func valueAt[N ~int64](v []N, at int) float64 {
	if len(v) == 0 {
		return 0
	}
	return float64(v[min(max(at, 0), len(v)-1)])
}

// shareAt returns which part of a pool a series of GPUs is at an instant.
func shareAt(p *protocol.CapacityProfile, v []protocol.Milli, at protocol.Time) float64 {
	if p.Slot <= 0 {
		return 0
	}
	return ratioOf(valueAt(v, int(at.Sub(p.From)/p.Slot)), float64(p.Total))
}

// announcedAt returns the price per GPU-hour of a model at a site at an instant.
func announcedAt(prices []protocol.ShadowPrice, site, model string, at protocol.Time) float64 {
	i := slices.IndexFunc(prices, func(p protocol.ShadowPrice) bool { return p.Site == site && p.Model == model })
	if i < 0 || prices[i].Slot <= 0 || at < prices[i].From {
		return 0
	}
	if k := int(at.Sub(prices[i].From) / prices[i].Slot); k < len(prices[i].Values) {
		return float64(prices[i].Values[k])
	}
	return 0
}

// A usualRate is what a GPU-hour of a full round's jobs costs where it is cheapest, energy and carbon, in
// microdollars: the yardstick of prices of room. A round in which that is nothing leaves the last one.
type usualRate float64

// update reads a round.
func (u *usualRate) update(r *auction.Round, all []candidate) []candidate {
	cost, hours := 0.0, 0.0
	for i := range r.Lots {
		l := &r.Lots[i]
		if all = rankOptions(all, r, l); len(all) == 0 {
			continue
		}
		best := &all[0]
		cost += float64(best.quoted.Money + best.quoted.Carbon)
		hours += float64(float64(l.Job.TotalGPUMilli()) / 1000 * hoursOf(best.option.Finish.Sub(best.option.Start)))
	}
	if hours > 0 && cost > 0 {
		*u = usualRate(cost / hours)
	}
	return all
}

// sortedPools returns the pools of GPUs that sites have, in the order in which a learner sees them.
func sortedPools(pools []auction.Pool) []auction.Pool {
	pools = slices.Clone(pools)
	slices.SortFunc(pools, func(a, b auction.Pool) int {
		return slices.Compare([]string{a.Site, a.Model}, []string{b.Site, b.Model})
	})
	return slices.Compact(pools)
}

// hourStart returns the start of an hour that lies so many ahead of the one that has begun.
func hourStart(now protocol.Time, ahead int) protocol.Time {
	return now.Floor(time.Hour).Add(time.Duration(ahead) * time.Hour)
}
