package auction

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// drawParts draws a tight round of a job with two or three parts, and perhaps other lots.
func drawParts(t *rapid.T) Round {
	r := drawRound(t, 4)
	n := rapid.IntRange(2, 3).Draw(t, "parts")
	for len(r.Lots) < n {
		r.Lots = append(r.Lots, lot(protocol.JobID(fmt.Sprint("more-", len(r.Lots))), 1, r.Lots[0].Bids...))
	}
	most := rapid.IntRange(2, n).Draw(t, "most")
	for i := range n {
		j := &r.Lots[i].Job
		j.PartOf, j.MaxSites, j.Priority, j.Urgency, j.Deadline = "whole", most, r.Lots[0].Job.Priority, r.Lots[0].Job.Urgency, r.Lots[0].Job.Deadline
	}
	return r
}

// bestTogether returns the least cost at which the given lots all find options that fit and go together, each
// priced by price; false if they cannot. It tries everything.
func bestTogether(p *problem, lots []int, price capacityPricing, fits bool) (best float64, ok bool) {
	best = math.Inf(1)
	left := p.newRemainingCapacity()
	defer p.releaseCapacity(left)
	choice := make(map[int]int)
	var try func(k int, sum float64)
	try = func(k int, sum float64) {
		if k == len(lots) {
			if goTogether(p, choice) && sum < best {
				best, ok = sum, true
			}
			return
		}
		r := p.lots[lots[k]]
		for c := 0; r.ensureSorted(c); c++ {
			if fits && !p.fitsCapacity(r, &r.scored[c], left.bare, left.free) {
				continue
			}
			left.takeOption(r, c, 1)
			choice[lots[k]] = c
			try(k+1, sum+r.scored[c].cost+price(r, &r.scored[c]))
			delete(choice, lots[k])
			left.takeOption(r, c, -1)
		}
	}
	try(0, 0)
	return best, ok
}

// goTogether reports whether the chosen options of parts, if any, may be awarded together.
func goTogether(p *problem, choice map[int]int) bool {
	sites := map[string]bool{}
	first, last, most := protocol.Time(math.MaxInt64), protocol.Time(0), 0
	for i, c := range choice {
		if p.jobs[i].PartOf == "" {
			continue
		}
		o := p.lots[i].candidateAt(c)
		sites[o.site], most = true, p.jobs[i].MaxSites
		first, last = min(first, o.Start), max(last, o.Start)
	}
	return len(sites) == 0 || len(sites) <= most && last.Sub(first) <= 15*time.Minute
}

func TestTheCheapestCombinationIsFound(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawParts(t)
		r.Lots[0].Job.Urgency = protocol.UrgencyNow
		p := newProblem(r, nil, &priceMemory{})
		p.groups = groupParts(r.Lots)
		g := p.groups[0]
		p.searchPrices(5)
		left := p.newRemainingCapacity()
		choice := p.chooseCombination(g, left)
		want, ok := bestTogether(p, g.lots, p.capacityCost, true)
		got := 0.0
		for k, i := range g.lots {
			if choice != nil {
				got += p.costWithCapacity(i, choice[k])
			}
		}
		if ok != (choice != nil) || ok && math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Fatalf("the search finds %v at %v; trying all %v at %v", choice, got, ok, want)
		}
		if ok {
			found++
		}
	})
	if found == 0 {
		t.Error("no drawn job found a combination: the test proves nothing")
	}
}

func TestPartsAreAwardedTogetherAndTheBoundHolds(t *testing.T) {
	awarded, tighter := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawParts(t)
		r.Full = rapid.Bool().Draw(t, "full")
		out := New(Config{}).Clear(r)
		p := newProblem(r, nil, &priceMemory{})
		sites, awards, parts := map[string]bool{}, 0, 0
		first, last := protocol.Time(math.MaxInt64), protocol.Time(0)
		var placed []int
		for i, d := range out.Decisions {
			if out.Placed[i] {
				placed = append(placed, i)
			}
			if r.Lots[i].Job.PartOf == "" {
				continue
			}
			if parts++; d.Verdict == Award {
				awards++
				sites[d.Site] = true
				first, last = min(first, d.Option.Start), max(last, d.Option.Start)
			}
		}
		if awards != 0 && awards != parts || len(sites) > r.Lots[0].Job.MaxSites || awards > 0 && last.Sub(first) > 15*time.Minute {
			t.Fatalf("%d of %d parts are awarded, at %v, with starts %v apart: %+v", awards, parts, sites, last.Sub(first), out.Decisions)
		}
		if awards > 0 {
			awarded++
		}
		if best, ok := bestTogether(p, placed, priceOfFreeCapacity, true); ok && float64(out.Proof.Bound) > best+1 {
			t.Fatalf("the bound is %d, and %v is possible: %+v", out.Proof.Bound, best, out)
		}
		apart := 0.0
		for _, i := range placed {
			apart += float64(p.lots[i].candidateAt(0).cost)
		}
		if awards > 0 && float64(out.Proof.Bound) > apart+1 {
			tighter++
		}
	})
	if awarded == 0 || tighter == 0 {
		t.Errorf("%d jobs were awarded, and the bound was above that of parts alone %d times: the test proves nothing", awarded, tighter)
	}
}

// G-X9: two parts, two sites with room for one each.
func TestTwoPartsTakeOneSiteEach(t *testing.T) {
	o := option("V100", 0, 1, 10)
	whole := func(most int, sites ...string) Round {
		r := round(nil)
		for _, name := range sites {
			r.Sites = append(r.Sites, Site{Name: name, Capacity: []protocol.CapacityProfile{hourly("V100", 8000, 8000)}})
		}
		for i := range 2 {
			l := lot(protocol.JobID(fmt.Sprint("whole.", i)), 8)
			for _, name := range sites {
				l.Bids = append(l.Bids, SiteBids{Site: name, Options: []protocol.BidOption{o}})
			}
			l.Job.PartOf, l.Job.MaxSites = "whole", most
			r.Lots = append(r.Lots, l)
		}
		return r
	}
	out := New(Config{}).Clear(whole(2, "bern", "oslo"))
	if a, b := out.Decisions[0], out.Decisions[1]; a.Verdict != Award || b.Verdict != Award || a.Site == b.Site {
		t.Errorf("decided %+v and %+v; want one part at each site", a, b)
	}
	for _, r := range []Round{whole(1, "bern", "oslo"), whole(2, "bern")} {
		for _, d := range New(Config{}).Clear(r).Decisions {
			if d.Verdict != Defer || d.Why.Code != protocol.PartsApart {
				t.Errorf("decided %+v; want it to wait, as its parts find no room together", d)
			}
		}
	}
}

// Three parts with all that eight sites may offer are within what a search looks at.
func TestThreePartsOverEightSitesAreSearchedToTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := round(nil)
		for s := range 8 {
			r.Sites = append(r.Sites, Site{Name: fmt.Sprint("site-", s), Capacity: []protocol.CapacityProfile{hourly("V100", 16_000, 16_000), hourly("A100", 16_000, 8000)}})
		}
		for i := range 3 {
			l := lot(protocol.JobID(fmt.Sprint("whole.", i)), 8)
			l.Job.PartOf, l.Job.MaxSites = "whole", 2
			for _, s := range r.Sites {
				m := SiteBids{Site: s.Name}
				for k := range 8 {
					m.Options = append(m.Options, option([]string{"V100", "A100"}[k%2], float64(k/2), float64(k/2)+1, protocol.Microdollars(rapid.IntRange(1, 40).Draw(t, "cents"))))
				}
				l.Bids = append(l.Bids, m)
			}
			r.Lots = append(r.Lots, l)
		}
		p := newProblem(r, nil, &priceMemory{})
		x := p.searchCombination(groupParts(r.Lots)[0], p.capacityCost)
		x.left = p.newRemainingCapacity()
		if x.extend(0, 0); x.visits >= maxCombinations || x.best == nil {
			t.Fatalf("the search looked at %d options and has %v", x.visits, x.best)
		}
	})
}

// BenchmarkCombination is the search for three parts at eight sites with eight options each.
func BenchmarkCombination(b *testing.B) {
	r := round(nil)
	for s := range 8 {
		r.Sites = append(r.Sites, Site{Name: fmt.Sprint("site-", s), Capacity: []protocol.CapacityProfile{hourly("V100", 16_000, 16_000)}})
	}
	for i := range 3 {
		l := lot(protocol.JobID(fmt.Sprint("whole.", i)), 8)
		l.Job.PartOf, l.Job.MaxSites = "whole", 2
		for s := range r.Sites {
			m := SiteBids{Site: r.Sites[s].Name}
			for k := range 8 {
				m.Options = append(m.Options, option("V100", float64(k), float64(k)+1, protocol.Microdollars(1+(7*i+13*s+29*k)%31)))
			}
			l.Bids = append(l.Bids, m)
		}
		r.Lots = append(r.Lots, l)
	}
	p := newProblem(r, nil, &priceMemory{})
	g, left, looked := groupParts(r.Lots)[0], p.newRemainingCapacity(), 0
	for b.Loop() {
		x := p.searchCombination(g, p.capacityCost)
		x.left = left
		x.extend(0, 0)
		looked = x.visits
	}
	b.ReportMetric(float64(looked), "options")
}
