package auction

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// drawEqualLots draws a round of lots of a few kinds that may not wait, at sites with little room. The lots of a kind
// differ in their arrival, which changes the cost of all their options by the same.
func drawEqualLots(t *rapid.T) *problem {
	r := round(nil)
	for _, name := range []string{"bern", "kiel", "oslo"} {
		gpus := protocol.Milli(rapid.IntRange(0, 5).Draw(t, "gpus")) * 1000
		r.Sites = append(r.Sites, Site{Name: name, Trust: 1000, Capacity: []protocol.CapacityProfile{hourly("V100", 8000, gpus)}})
	}
	var kinds []Lot
	for k := range rapid.IntRange(1, 3).Draw(t, "kinds") {
		l := lot("", rapid.IntRange(1, 2).Draw(t, "of GPUs"))
		l.Job.Urgency, l.Job.Run = protocol.UrgencyNow, time.Duration(k+1)*time.Minute
		for _, s := range r.Sites {
			m := SiteBids{Site: s.Name}
			for range rapid.IntRange(0, 3).Draw(t, "options") {
				begin := float64(rapid.IntRange(0, 2).Draw(t, "from"))
				m.Options = append(m.Options, option("V100", begin, begin+float64(k+1), protocol.Microdollars(rapid.IntRange(1, 9).Draw(t, "cents"))))
			}
			l.Bids = append(l.Bids, m)
		}
		kinds = append(kinds, l)
	}
	for i := range rapid.IntRange(2, 24).Draw(t, "lots") {
		l := rapid.SampledFrom(kinds).Draw(t, "kind")
		l.Job.ID = protocol.JobID(fmt.Sprint("job-", i))
		l.Job.Arrival = noon.Add(-time.Duration(rapid.IntRange(0, 5000).Draw(t, "earlier")) * time.Millisecond)
		r.Lots = append(r.Lots, l)
	}
	p := newProblem(r, nil, &priceMemory{})
	p.full = rapid.Bool().Draw(t, "full")
	return p
}

// What fails for a lot fails for its equals: a search that asks once for all of them leaves no step untaken that saves
// more than a microdollar of rounding for each of the two lots.
func TestASearchThatAsksOnceForEqualLotsLeavesNoStep(t *testing.T) {
	spared, steps := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawEqualLots(t)
		order := p.orderByRegret()
		from := slices.Repeat([]int{-1}, len(p.lots))
		left := p.newRemainingCapacity()
		for i := range from { // far from the best, so that there are steps to take
			c := rapid.IntRange(-1, p.lots[i].candidateCount()-1).Draw(t, "has")
			if c >= 0 && p.lots[i].ensureSorted(c) && p.fitsCapacity(p.lots[i], &p.lots[i].scored[c], left.bare, left.free) {
				left.takeOption(p.lots[i], c, 1)
				from[i] = c
			}
		}
		once, each := p.newLocalSearch(from), p.newLocalSearch(from)
		for i := range each.class {
			each.class[i] = noClass
		}
		once.repeat(order, moveOrExchange)
		each.repeat(order, moveOrExchange)
		spared += once.work - each.work
		steps += once.steps
		for _, s := range stepsLeft(p, once.choice) {
			if s.saves > 2 {
				t.Fatalf("%v: option %d for lot %d, and option %d for lot %d, save %d", once.choice, s.c, s.i, s.to, s.o, s.saves)
			}
		}
	})
	if t.Logf("%d units of work are spared; %d steps were taken", spared, steps); spared <= 0 || steps == 0 {
		t.Error("no search was spared anything, or none took a step")
	}
}
