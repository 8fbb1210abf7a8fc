package division

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

func TestAContradictoryRequestNamesItsField(t *testing.T) {
	for _, tc := range []struct {
		change func(*Request)
		want   string
	}{
		{func(r *Request) { r.Kind = "fair" }, `kind "fair": want cost, free-replicas`},
		{func(r *Request) { r.Wanted = -1 }, "wanted is -1"},
		{func(r *Request) { r.Min, r.Max = 3, 2 }, "min is 3 and max 2"},
		{func(r *Request) { r.MinPerSite = -1 }, "minPerSite is -1"},
		{func(r *Request) { r.Move.Horizon = -time.Hour }, "move: horizon is"},
		{func(r *Request) { r.Move.Hysteresis = -1 }, "move: hysteresis is -1"},
		{func(r *Request) { r.Sites[0].Name = "" }, "site 0 of the request has no name"},
		{func(r *Request) { r.Sites[1].Name = "A" }, "site A is named twice"},
		{func(r *Request) { r.Sites[1].Held = -2 }, "site B: held is -2"},
		{func(r *Request) { r.Sites[1].Free = 1 << 40 }, "site B: free is 1099511627776: want 0 to 1000000"},
		{func(r *Request) { r.Sites[1].Weight = -1 }, "site B: weight is -1"},
		{func(r *Request) { r.Sites[1].Tier = -1 }, "site B: tier is -1"},
		{func(r *Request) { r.Sites[1].Start = -1 }, "site B: start is -1"},
		{func(r *Request) { r.Sites[1].Free = 5 }, "site B: steps are for 4 replicas, and it has 0 and room for 5 more"},
		{func(r *Request) { r.Sites[1].Steps = []Step{{Cost: 1}} }, "site B: step 0 is of 0 replicas"},
		{func(r *Request) { r.Sites[1].Steps = []Step{{Replicas: 4, Cost: 1 << 50}} }, "site B: step 0 costs 1125899906842624"},
		{func(r *Request) { r.SpreadConstraints = []SpreadConstraint{{By: "rack"}} }, `spread by "rack"`},
		{func(r *Request) { r.SpreadConstraints = []SpreadConstraint{{By: ByRegion, MinGroups: 3, MaxGroups: 2}} }, "spread by region over 3 to 2 groups"},
		{func(r *Request) {
			r.SpreadConstraints = []SpreadConstraint{{By: BySite, MinGroups: 2}, {By: BySite, MaxGroups: 3}}
		}, "spread by site twice"},
		{func(r *Request) { r.SpreadConstraints = []SpreadConstraint{{By: ByProvider}} }, "site A has no provider"},
		{func(r *Request) { r.Sites[0].Held, r.Sites[1].Held = 600_000, 600_000; r.Kind = ByWeight }, "replicas held in all is 1200000"},
	} {
		r := Request{Wanted: 3, Sites: []Site{priced("A", 0, 4, flat(4, 1)), priced("B", 0, 4, flat(4, 1))}}
		r.Sites[0].Region, r.Sites[1].Region = "eu", "us"
		if _, err := Divide(r); err != nil {
			t.Fatalf("Divide of the request to spoil: %v", err)
		}
		tc.change(&r)
		if _, err := Divide(r); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Divide: %v; want an error with %q", err, tc.want)
		}
	}
	r := Request{Kind: ByFreeReplicas, Wanted: 3, Sites: sites(t, "A held 3; B free 3")}
	for _, tc := range []struct {
		stuck []Stuck
		want  string
	}{
		{[]Stuck{{Site: "C"}}, "site C has stuck replicas and is not in the request"},
		{[]Stuck{{Site: "A"}, {Site: "A"}}, "stuck replicas of site A are named twice"},
		{[]Stuck{{Site: "A", Ready: -1}}, "site A: ready is -1"},
	} {
		if _, err := Reschedule(r, tc.stuck, time.Second); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Reschedule: %v; want an error with %q", err, tc.want)
		}
	}
}

func TestTheGreatestNumbersAreDivided(t *testing.T) {
	r := Request{Wanted: mostReplicas, Rebalance: true, Move: Move{Horizon: 1, Hysteresis: mostHysteresis}}
	for _, name := range []string{"A", "B", "C"} {
		s := priced(name, 0, mostReplicas, flat(mostReplicas/2, mostCost), flat(1, -mostCost), flat(mostReplicas/2, mostCost))
		s.Start, s.Weight = mostCost, mostWeight
		r.Sites = append(r.Sites, s)
	}
	for _, kind := range kinds {
		r.Kind = kind
		d := divide(t, r)
		if d.Placed != mostReplicas || d.Cost < 0 || d.StartCost < 0 || kind == ByCost && (d.LowerBound > d.Cost || d.LowerBound < 0) {
			t.Errorf("%s: %d replicas at %d, starts %d, bound %d; want %d, and no overflow", kind, d.Placed, d.Cost, d.StartCost, d.LowerBound, mostReplicas)
		}
	}
}

func TestTiesGoByTheHashOfTheUID(t *testing.T) {
	for _, tc := range []struct{ uid, want string }{
		{"", "A1"}, {"a", "A1"}, {"b", "B1"}, // FNV-1a of "a" is 0xe40c292c, of "b" 0xe70c2de5
	} {
		for _, kind := range []Kind{ByFreeReplicas, ByWeight, ByWeightUncapped, ByCost} {
			r := Request{UID: tc.uid, Kind: kind, Wanted: 1, Sites: []Site{priced("A", 0, 5, flat(5, 1)), priced("B", 0, 5, flat(5, 1))}}
			if got := says(divide(t, r)); got != tc.want {
				t.Errorf("%s of %q: %s; want %s", kind, tc.uid, got, tc.want)
			}
		}
	}
}

// region returns a site in a region.
func region(of string, s Site) Site {
	s.Region = of
	return s
}

func TestReplicasAreSpread(t *testing.T) {
	cheap, dear := protocol.Microdollars(10), protocol.Microdollars(90)
	three := []Site{
		region("eu", priced("A", 0, 6, flat(6, cheap))), region("eu", priced("B", 0, 6, flat(6, cheap+1))),
		region("us", priced("C", 0, 6, flat(6, dear))), region("as", priced("D", 0, 20, flat(20, dear+1)))}
	for _, tc := range []struct {
		what   string
		wanted int
		spread []SpreadConstraint
		gang   bool
		want   string
	}{
		{"without a rule the cheapest hold all", 8, nil, false, "A6 B2"},
		{"two regions: one replica in the next cheapest", 8, []SpreadConstraint{{ByRegion, 2, 0}}, false, "A6 B1 C1"},
		{"three regions", 8, []SpreadConstraint{{ByRegion, 3, 0}}, false, "A6 C1 D1"},
		{"more regions than there are", 8, []SpreadConstraint{{ByRegion, 4, 0}}, false, "A6 C1 D1: too-few-groups"},
		{"more regions than there are, all or nothing", 8, []SpreadConstraint{{ByRegion, 4, 0}}, true, "none, 8 pending: too-few-groups"},
		{"fewer replicas than regions", 2, []SpreadConstraint{{ByRegion, 3, 0}}, false, "A1 C1"},
		{"one region with room for all", 8, []SpreadConstraint{{ByRegion, 0, 1}}, false, "A6 B2"},
		{"one region, and only the dearest has room for all", 14, []SpreadConstraint{{ByRegion, 0, 1}}, false, "D14"},
		{"one site", 8, []SpreadConstraint{{BySite, 0, 1}}, false, "D8"},
		{"one site has no room for all", 22, []SpreadConstraint{{BySite, 0, 1}}, false, "D20, 2 pending: groups-full"},
		{"two sites in two regions", 8, []SpreadConstraint{{BySite, 0, 2}, {ByRegion, 2, 0}}, false, "A6 C2"},
	} {
		r := Request{Wanted: tc.wanted, SpreadConstraints: tc.spread, AllOrNothing: tc.gang, Sites: three}
		if got := says(divide(t, r)); got != tc.want {
			t.Errorf("%s: Divide(%d) = %s; want %s", tc.what, tc.wanted, got, tc.want)
		}
	}
	r := Request{Kind: ByFreeReplicas, Wanted: 8, SpreadConstraints: []SpreadConstraint{{ByRegion, 0, 1}}, Sites: sites(t, "A free 6; B held 1 free 6; C free 20")}
	r.Sites[0].Region, r.Sites[1].Region, r.Sites[2].Region = "eu", "eu", "us"
	if got := says(divide(t, r)); got != "A4 B4" {
		t.Errorf("one region by free replicas: %s; want A4 B4, as eu is in use", got)
	}
	if r.Rebalance = true; says(divide(t, r)) != "C8" {
		t.Errorf("one region, rebalanced: %s; want C8, the roomiest", says(divide(t, r)))
	}
}

func TestASilentSiteKeepsWhatItHas(t *testing.T) {
	for _, tc := range []struct {
		wanted int
		want   string
	}{
		{8, "A4 B4"}, {4, "A4"}, {2, "A4: held-by-silent"}, {12, "A4 B6, 2 pending: no-room"},
	} {
		r := Request{Kind: ByFreeReplicas, Wanted: tc.wanted, Sites: sites(t, "A held 4 free 9; B held 2 free 4")}
		r.Sites[0].Silent = true
		if got := says(divide(t, r)); got != tc.want {
			t.Errorf("Divide(%d) with a silent A = %s; want %s", tc.wanted, got, tc.want)
		}
	}
}
