package auction

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func TestJitterMovesCostsBySoMuchAndNoFurther(t *testing.T) {
	j := CostJitter{PerMillion: 500, Seed: 7}
	o := option("A100", 0, 1, 100)
	var sum, square float64
	const n = 4000
	for i := range n {
		o.Start = noon + protocol.Time(i)*1000
		d := float64(j.moved(1_000_000_000, "job-1", "oslo", &o)-1_000_000_000) / 1e9
		if math.Abs(d) > 0.0005 {
			t.Fatalf("start %v: moved by %.4f %%; want at most 0.05 %%", o.Start, 100*d)
		}
		sum += d
		square += d * d
	}
	// Uniform over ±0.05 %: mean 0, standard deviation 0.05/√3 = 0.0289 %.
	if mean, sd := sum/n, math.Sqrt(square/n); math.Abs(mean) > 0.00003 || math.Abs(sd-0.000289) > 0.00001 {
		t.Errorf("mean %.5f %%, standard deviation %.5f %%; want 0 and 0.0289", 100*mean, 100*sd)
	}
	if got := (CostJitter{}).moved(12345, "job-1", "oslo", &o); got != 12345 {
		t.Errorf("no jitter moves 12345 to %d", got)
	}
}

// What tells an option from another one moves its cost; nothing else does.
func TestJitterDependsOnJobSiteStartModelAndCap(t *testing.T) {
	j, base := CostJitter{PerMillion: 500, Seed: 7}, option("A100", 0, 1, 100)
	cost := func(j CostJitter, job protocol.JobID, site string, change func(*protocol.BidOption)) protocol.Microdollars {
		o := base
		change(&o)
		return j.moved(1_000_000_000, job, site, &o)
	}
	same := func(*protocol.BidOption) {}
	was := cost(j, "job-1", "oslo", same)
	for what, got := range map[string]protocol.Microdollars{
		"seed": cost(CostJitter{500, 8}, "job-1", "oslo", same), "job": cost(j, "job-2", "oslo", same), "site": cost(j, "job-1", "kiel", same),
		"start": cost(j, "job-1", "oslo", func(o *protocol.BidOption) { o.Start++ }),
		"model": cost(j, "job-1", "oslo", func(o *protocol.BidOption) { o.Model = "V100" }),
		"cap":   cost(j, "job-1", "oslo", func(o *protocol.BidOption) { o.Cap = 200_000 }),
	} {
		if got == was {
			t.Errorf("another %s moves the cost to the same %d", what, got)
		}
	}
	if got := cost(j, "job-1", "oslo", func(o *protocol.BidOption) { o.Money, o.Finish = 1, o.Finish+1 }); got != was {
		t.Errorf("another price moves the cost to %d; want %d", got, was)
	}
}

// The jitter is in what a round compares, so two equal options are told apart by it, and in
// nothing that is announced about the option.
func TestJitterChoosesAmongEqualsAndChangesNoBid(t *testing.T) {
	two := func() Round {
		var menus []SiteBids
		var sites []Site
		for _, name := range []string{"bern", "kiel", "oslo"} {
			menus = append(menus, SiteBids{Site: name, Options: []protocol.BidOption{option("A100", 0, 1, 100)}})
			sites = append(sites, Site{Name: name, Capacity: []protocol.CapacityProfile{hourly("A100", 4000, 4000)}})
		}
		return round([]Lot{lot("job-1", 1, menus...)}, sites...)
	}
	chosen := make(map[string]bool)
	for seed := range uint64(30) {
		d := New(Config{Jitter: CostJitter{PerMillion: 500, Seed: seed}}).Clear(two()).Decisions[0]
		if d.Verdict != Award || d.Option != option("A100", 0, 1, 100) {
			t.Fatalf("seed %d: %+v", seed, d)
		}
		chosen[d.Site] = true
	}
	if len(chosen) != 3 {
		t.Errorf("thirty seeds choose %v of three equal sites; want each of them", chosen)
	}
}

// Outcomes depend on the bids and never on their order, with jitter too.
func TestJitterDoesNotDependOnTheOrderOfBids(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRound(t, 4)
		j := CostJitter{PerMillion: 500, Seed: rapid.Uint64().Draw(t, "seed")}
		turned := r
		turned.Lots = nil
		for _, l := range r.Lots {
			back := l
			back.Bids = nil
			for i := len(l.Bids) - 1; i >= 0; i-- {
				back.Bids = append(back.Bids, l.Bids[i])
			}
			turned.Lots = append(turned.Lots, back)
		}
		x, y := New(Config{Jitter: j}).Clear(r), New(Config{Jitter: j}).Clear(turned)
		for i := range x.Decisions {
			if x.Decisions[i].Site != y.Decisions[i].Site || x.Decisions[i].Option != y.Decisions[i].Option {
				t.Fatalf("lot %d: %+v, with the menus turned around %+v", i, x.Decisions[i], y.Decisions[i])
			}
		}
	})
}
