package agents

import (
	"math/bits"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// maxSizes is on how many numbers of pods a site offers an elastic job.
const maxSizes = 4

// bidsForElastic returns the options for an elastic job: those of the gang that it is on each number of pods
// that the site offers.
func (p *bidPricing) bidsForElastic(j protocol.Job) (all protocol.JobBids) {
	defer func() { p.called = nil }()
	for _, pods := range p.sizesFor(&j) {
		at := j.AtPods(pods)
		if p.called = &j; at.Run > protocol.MaxRun {
			continue
		}
		spreads, holes, largest := len(p.spreads), len(p.holes), len(p.largest)
		m := p.bidsForJob(at)
		for i := range p.spreads[spreads:] {
			p.spreads[spreads+i].Option += len(all.Options)
		}
		for i := range p.holes[holes:] {
			p.holes[holes+i].Option += len(all.Options)
		}
		// Of the numbers without options the fewest pods say why: they would fit first.
		if all.Job == "" {
			all = m
		} else if p.largest = p.largest[:largest]; len(m.Options) > 0 {
			all.Options, all.Why = append(all.Options, m.Options...), protocol.Reason{}
		}
	}
	return all
}

// sizesFor returns on which numbers of pods the site offers an elastic job: the fewest, the most that it
// could hold and quotas have room for, as many as find room now, and of the points of its curve those that lie best
// between, at most maxSizes. Without Delivery.Sizes it is the number that the job names.
func (p *bidPricing) sizesFor(j *protocol.Job) []int {
	if !p.agent.delivery.Sizes {
		return []int{j.PodCount()}
	}
	fewest, most := j.PodRange()
	if j.MostPods > 0 {
		most = max(min(most, j.MostPods), fewest)
	}
	whole := j.AtPods(most)
	if ways, _ := p.agent.fleet.RunConfigs(whole); len(ways) == 0 {
		most = p.agent.fleet.LargestSet(&whole)
	}
	if most <= fewest {
		return []int{fewest} // it fits alone, or says why it does not
	}
	sizes := []int{fewest, most}
	if now := p.roomNow(j.AtPods(most)); now > fewest && now < most {
		sizes = append(sizes, now)
	}
	for len(sizes) < maxSizes {
		best, apart := 0, 0
		for _, x := range j.Speed {
			if d := leastRatio(sizes, x.Pods); d > apart && x.Pods < most {
				best, apart = x.Pods, d
			}
		}
		if best == 0 {
			break
		}
		sizes = append(sizes, best)
	}
	slices.Sort(sizes)
	return sizes
}

// leastRatio returns how far a number of pods is from the nearest of some, as the ratio of the larger to the
// smaller in thousandths above 1.
func leastRatio(sizes []int, pods int) int {
	least := 1 << (bits.UintSize - 2)
	for _, n := range sizes {
		least = min(least, 1000*max(n, pods)/min(n, pods)-1000)
	}
	return least
}

// roomNow returns for how many of a gang's pods the site has room now, on the model with the most.
func (p *bidPricing) roomNow(j protocol.Job) (most int) {
	ways, _ := p.agent.fleet.RunConfigs(j)
	model := ""
	for _, w := range ways {
		if w.Model != model || most == 0 {
			model = w.Model
			most = max(most, p.agent.fleet.PodsThatFit(p.now, &j, w.Model, w.Run))
		}
	}
	return most
}
