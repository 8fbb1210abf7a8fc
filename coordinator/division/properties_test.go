package division

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

var kinds = []Kind{ByCost, ByFreeReplicas, FewestSites, ByWeight, ByWeightUncapped}

// drawSteps draws costs for n replicas: few values, so that ties happen, rising or not.
func drawSteps(t *rapid.T, n int) (steps []Step) {
	rises := rapid.Bool().Draw(t, "rises")
	for n > 0 {
		k := rapid.IntRange(1, n).Draw(t, "replicas")
		steps = append(steps, Step{Replicas: k, Cost: protocol.Microdollars(rapid.IntRange(-2, 9).Draw(t, "cost")) * 10_000})
		n -= k
	}
	if rises {
		slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.Cost, b.Cost) })
	}
	return steps
}

// drawRequest draws a request with all that a policy may say.
func drawRequest(t *rapid.T, kinds []Kind, most int) Request {
	r := Request{
		UID: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "uid"), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
		Wanted: rapid.IntRange(0, 4*most).Draw(t, "wanted"), Rebalance: rapid.Bool().Draw(t, "rebalance"),
		AllOrNothing: rapid.IntRange(0, 4).Draw(t, "gang") == 0, ExclusiveTiers: rapid.IntRange(0, 4).Draw(t, "exclusive") == 0,
	}
	if rapid.Bool().Draw(t, "bounds") {
		r.Min, r.Max = rapid.IntRange(0, 3).Draw(t, "min"), rapid.IntRange(3, 3*most).Draw(t, "max")
	}
	if rapid.IntRange(0, 2).Draw(t, "floors") == 0 {
		r.MinPerSite = rapid.IntRange(0, 2).Draw(t, "minPerSite")
	}
	bys := rapid.Permutation([]Group{BySite, ByRegion, ByProvider}).Draw(t, "by")
	for i := range rapid.IntRange(0, 2).Draw(t, "spreads") / 2 * rapid.IntRange(1, 2).Draw(t, "constraints") {
		s := SpreadConstraint{By: bys[i], MinGroups: rapid.IntRange(0, 2).Draw(t, "minGroups")}
		if rapid.Bool().Draw(t, "limited") {
			s.MaxGroups = max(s.MinGroups, rapid.IntRange(1, 3).Draw(t, "maxGroups"))
		}
		r.SpreadConstraints = append(r.SpreadConstraints, s)
	}
	if rapid.Bool().Draw(t, "weighed") {
		r.Move = Move{Horizon: time.Duration(rapid.IntRange(1, 6).Draw(t, "hours")) * time.Hour, Hysteresis: 200}
	}
	if rapid.IntRange(0, 2).Draw(t, "bounded moves") == 0 {
		r.Move.Most = rapid.IntRange(1, 3).Draw(t, "mostMoves")
	}
	tiers := rapid.IntRange(0, 2).Draw(t, "tiers")
	for i := range rapid.IntRange(0, 5).Draw(t, "sites") {
		s := Site{Name: string(rune('A' + i)), Region: rapid.SampledFrom([]string{"eu", "us"}).Draw(t, "region"),
			Provider: rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "provider"),
			Tier:     rapid.IntRange(0, tiers).Draw(t, "tier"), Weight: int64(rapid.IntRange(0, 3).Draw(t, "weight")),
			Held: rapid.IntRange(0, most).Draw(t, "held"), Free: rapid.IntRange(0, most).Draw(t, "free"),
			Start: protocol.Microdollars(rapid.IntRange(0, 3).Draw(t, "start")) * 20_000, Silent: rapid.IntRange(0, 9).Draw(t, "silent") == 0}
		s.Steps = drawSteps(t, s.Held+s.Free)
		r.Sites = append(r.Sites, s)
	}
	return r
}

func target(r Request) int {
	n := max(r.Wanted, r.Min)
	if r.Max > 0 {
		n = min(n, r.Max)
	}
	return n
}

// byName returns the sites in the order of a division's shares.
func byName(r Request) []Site {
	out := slices.Clone(r.Sites)
	slices.SortFunc(out, func(a, b Site) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func TestWhereVotesAreFreePlacesNoSiteGetsMoreThanItHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parties []*party
		var votes int64
		for i := range rapid.IntRange(1, 6).Draw(t, "parties") {
			p := &party{votes: int64(rapid.IntRange(0, 9).Draw(t, "free")), most: 1000, order: i}
			parties, votes = append(parties, p), votes+p.votes
		}
		total := rapid.Int64Range(0, votes).Draw(t, "total")
		takeSeats(int(total), parties)
		for _, p := range parties {
			if int64(p.seats) > p.votes {
				t.Errorf("%d seats given: a party with %d votes has %d", total, p.votes, p.seats)
			}
			total -= int64(p.seats)
		}
		if total != 0 {
			t.Errorf("%d seats were not given", total)
		}
	})
}

func TestCountsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, kinds, 4)
		d := divide(t, r)
		placed, silent := 0, 0
		for i, s := range byName(r) {
			n := d.Shares[i].Replicas
			placed += n
			switch {
			case d.Shares[i].Site != s.Name:
				t.Fatalf("share %d is of %s; want %s", i, d.Shares[i].Site, s.Name)
			case s.Silent && n != s.Held:
				t.Errorf("silent site %s has %d; want to keep %d", s.Name, n, s.Held)
			case n < 0, r.Kind != ByWeightUncapped && n > s.Held+s.Free:
				t.Errorf("site %s gets %d; it has %d and room for %d more", s.Name, n, s.Held, s.Free)
			}
			if s.Silent {
				silent += s.Held
			}
		}
		if placed != d.Placed || d.Pending != max(target(r)-placed, 0) || placed > max(target(r), silent) {
			t.Errorf("Divide(%+v) = %+v: %d replicas in all, %d wanted, %d at silent sites", r, d, placed, target(r), silent)
		}
		if (d.Pending > 0) && d.Reason == "" {
			t.Errorf("%d are pending without a reason", d.Pending)
		}
		if d.Reason == NoRoom && d.Room >= target(r) || d.Reason == GroupsFull && d.Room < target(r) {
			t.Errorf("reason %s with room for %d of %d", d.Reason, d.Room, target(r))
		}
	})
}

func TestNoReplicaIsPendingBesideRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, kinds, 4)
		r.AllOrNothing, r.ExclusiveTiers, r.SpreadConstraints = false, false, nil
		d := divide(t, r)
		weighted := slices.ContainsFunc(r.Sites, func(s Site) bool { return s.Weight > 0 })
		for i, s := range byName(r) {
			open := !s.Silent && (!weighted || s.Weight > 0 || r.Kind != ByWeight && r.Kind != ByWeightUncapped)
			if n := d.Shares[i].Replicas; d.Pending > 0 && open && n < s.Held+s.Free {
				t.Errorf("Divide(%+v) = %s: %s has %d of %d", r, says(d), s.Name, n, s.Held+s.Free)
			}
		}
	})
}

func TestTheOrderOfSitesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, kinds, 4)
		want := divide(t, r)
		r.Sites = rapid.Permutation(r.Sites).Draw(t, "order")
		if got := divide(t, r); !reflect.DeepEqual(got, want) {
			t.Errorf("Divide depends on the order of sites:\n got %+v\nwant %+v", got, want)
		}
	})
}

// held returns the request with the sites as a division leaves them.
func held(r Request, d Division) Request {
	r.Sites = byName(r)
	for i := range r.Sites {
		s, n := &r.Sites[i], d.Shares[i].Replicas
		s.Held, s.Free = n, max(s.Held+s.Free-n, 0)
	}
	return r
}

func TestAnUnchangedServiceStaysWhereItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, kinds, 4)
		r.Move.Most = 0
		if r.Kind == ByWeightUncapped {
			for i := range r.Sites {
				r.Sites[i].Free += 20
			}
		}
		d := divide(t, r)
		r = held(r, d)
		r.Rebalance = false
		if len(r.SpreadConstraints) > 1 { // two of them are kept by rules of thumb, which settle a division later
			d = divide(t, r)
			r = held(r, d)
		}
		if got := divide(t, r); says(got) != says(d) {
			t.Errorf("divided once more: %s; want %s as before", says(got), says(d))
		}
		if r.Kind == ByCost && len(r.SpreadConstraints) == 0 {
			r.Rebalance = true
			once := divide(t, r)
			if got := divide(t, held(r, once)); got.Moves != 0 && once.LowerBound == once.Cost {
				t.Errorf("a second rebalance moves %d replicas: %s after %s", got.Moves, says(got), says(once))
			}
		}
	})
}

func TestASteadyDivisionOnlyAddsOrOnlyRemoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, []Kind{ByCost, ByFreeReplicas, FewestSites}, 4)
		r.Rebalance, r.MinPerSite, r.SpreadConstraints, r.ExclusiveTiers = false, 0, nil, false
		if d := divide(t, r); d.Moves != 0 {
			t.Errorf("Divide(%+v) = %s moves %d replicas; want none", r, says(d), d.Moves)
		}
	})
}

func TestFloorsAndTiersAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, []Kind{ByCost, ByFreeReplicas, FewestSites}, 4)
		r.AllOrNothing, r.SpreadConstraints, r.ExclusiveTiers, r.Move.Most = false, nil, false, 0
		r.Rebalance = true
		d := divide(t, r)
		floors, silent := 0, 0
		for _, s := range r.Sites {
			if s.Silent {
				silent += s.Held
			} else {
				floors += min(r.MinPerSite, s.Held+s.Free)
			}
		}
		all := byName(r)
		for i, s := range all {
			n := d.Shares[i].Replicas
			least := min(r.MinPerSite, s.Held+s.Free)
			if !s.Silent && floors <= target(r)-silent && n < least {
				t.Errorf("Divide(%+v) = %s: %s has %d; want %d at least", r, says(d), s.Name, n, least)
			}
			for k, better := range all {
				if !s.Silent && !better.Silent && better.Tier < s.Tier && n > least && d.Shares[k].Replicas < better.Held+better.Free {
					t.Errorf("Divide(%+v) = %s: %s has more than its floor while %s of a better tier has room", r, says(d), s.Name, better.Name)
				}
			}
		}
	})
}

func TestSpreadIsKeptWhereItCanBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, kinds, 4)
		r.AllOrNothing, r.ExclusiveTiers, r.Move.Most = false, false, 0
		r.SpreadConstraints = r.SpreadConstraints[:min(len(r.SpreadConstraints), 1)]
		for i := range r.Sites {
			r.Sites[i].Silent = false
		}
		d := divide(t, r)
		weighted := slices.ContainsFunc(r.Sites, func(s Site) bool { return s.Weight > 0 })
		for _, s := range r.SpreadConstraints {
			in, could := make(map[string]bool), make(map[string]bool)
			for i, site := range byName(r) {
				name := groupName(&site, s.By)
				in[name] = in[name] || d.Shares[i].Replicas > 0
				room := site.Held + site.Free
				switch {
				case r.Kind == ByWeight && weighted && site.Weight == 0, r.Kind == ByWeightUncapped && weighted && site.Weight == 0:
					room = 0
				case r.Kind == ByWeightUncapped:
					room = 1
				}
				could[name] = could[name] || room > 0
			}
			count := func(of map[string]bool) (n int) {
				for _, yes := range of {
					if yes {
						n++
					}
				}
				return n
			}
			if s.MaxGroups > 0 && count(in) > s.MaxGroups || count(in) < min(s.MinGroups, d.Placed, count(could)) {
				t.Errorf("Divide(%+v) = %s in %d groups by %s; want %d to %d", r, says(d), count(in), s.By, s.MinGroups, s.MaxGroups)
			}
			if short := count(in) < min(s.MinGroups, d.Placed); short && d.Reason != TooFewGroups && d.Pending == 0 {
				t.Errorf("Divide(%+v) = %s; want reason %s", r, says(d), TooFewGroups)
			}
		}
	})
}

func TestARebalanceMovesNoMoreThanAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, []Kind{ByCost, ByFreeReplicas, FewestSites}, 4)
		r.Rebalance, r.MinPerSite, r.SpreadConstraints, r.ExclusiveTiers = true, 0, nil, false
		r.Move.Most = rapid.IntRange(1, 4).Draw(t, "most moves")
		if d := divide(t, r); d.Moves > r.Move.Most {
			t.Errorf("Divide(%+v) = %s moves %d; want %d at most", r, says(d), d.Moves, r.Move.Most)
		}
	})
}

func TestReschedulingGivesUpNothingForNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t, kinds[:4], 4)
		r.SpreadConstraints, r.ExclusiveTiers, r.MinPerSite = nil, false, 0
		total, weighted := 0, slices.ContainsFunc(r.Sites, func(s Site) bool { return s.Weight > 0 })
		var stuck []Stuck
		for i := range r.Sites {
			s := &r.Sites[i]
			if r.Kind == ByWeight && weighted && s.Weight == 0 {
				s.Held = 0
			}
			total += s.Held
			if rapid.Bool().Draw(t, "stuck") {
				ready := rapid.IntRange(0, s.Held).Draw(t, "ready")
				stuck = append(stuck, Stuck{s.Name, ready, rapid.IntRange(0, 5).Draw(t, "unschedulable"), time.Minute})
			}
		}
		r.Wanted, r.Min, r.Max = total, 0, 0
		d, err := Reschedule(r, stuck, 30*time.Second)
		if err != nil || d.Placed != total {
			t.Fatalf("Reschedule(%+v, %+v) = %s, %v; want all %d placed", r, stuck, says(d), err, total)
		}
		all := byName(r)
		for _, s := range stuck {
			i := slices.IndexFunc(all, func(x Site) bool { return x.Name == s.Site })
			if n := d.Shares[i].Replicas; r.Kind != ByWeight && n < min(s.Ready, all[i].Held) || s.Unschedulable > 0 && n > all[i].Held {
				t.Errorf("Reschedule(%+v, %+v) = %s: %s has %d ready of %d and gets %d", r, stuck, says(d), s.Site, s.Ready, all[i].Held, n)
			}
		}
	})
}
