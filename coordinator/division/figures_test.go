package division

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

func dollars(cents int) protocol.Microdollars { return protocol.Microdollars(cents) * 10_000 }

// The figures are those that Karmada's own AssignReplicas printed, unless a line says otherwise.
// Where one sequence has several steps, what a site holds is the result of the step before.
func TestReplicasAreDividedAsInWorkedFigures(t *testing.T) {
	for _, tc := range []struct {
		id   string
		r    Request
		from string
		want string
	}{
		{"W1 in proportion to votes", Request{Kind: ByWeightUncapped, Wanted: 12}, "A weight 18; B weight 12; C weight 6", "A6 B4 C2"},
		{"W2 fractions", Request{Kind: ByWeightUncapped, Wanted: 7}, "A weight 10; B weight 5; C weight 3", "A4 B2 C1"},
		{"W3 the small get one", Request{Kind: ByWeightUncapped, Wanted: 9}, "A weight 1; B weight 10; C weight 1", "A1 B7 C1"},
		{"W4 and keep it", Request{Kind: ByWeightUncapped, Wanted: 11}, "A weight 1; B weight 10; C weight 1", "A1 B9 C1"},
		{"W5 the very small get nothing", Request{Kind: ByWeightUncapped, Wanted: 30}, "A weight 1; B weight 1; C weight 100", "C30"},
		{"W6 percentages", Request{Kind: ByWeightUncapped, Wanted: 100}, "A weight 400; B weight 300; C weight 200; D weight 100", "A40 B30 C20 D10"},
		{"W7 ties by ascending names without a UID", Request{Kind: ByFreeReplicas, Wanted: 7}, "A free 4; B free 4; C free 4; D free 4; E free 4", "A2 B2 C1 D1 E1"},
		{"W8 a tie for one", Request{Kind: ByFreeReplicas, Wanted: 1}, "A free 5; B free 5", "A1"},
		{"W9 an exact fit", Request{Kind: ByFreeReplicas, Wanted: 18}, "A free 10; B free 5; C free 3", "A10 B5 C3"},

		{"P1 the first tier overflows", Request{Kind: ByFreeReplicas, Wanted: 6}, "idc free 4; cloud1- free 10 tier 1; cloud2- free 5 tier 1", "cloud1-1 cloud2-1 idc4"},
		{"P2 and holds all if it can", Request{Kind: ByFreeReplicas, Wanted: 3}, "idc free 4; cloud1- free 10 tier 1; cloud2- free 5 tier 1", "idc3"},
		{"P3 growth goes on where there is room", Request{Kind: ByFreeReplicas, Wanted: 10}, "idc held 4; cloud1- held 1 free 9 tier 1; cloud2- held 1 free 4 tier 1", "cloud1-4 cloud2-2 idc4"},
		{"P4 the last tier shrinks first", Request{Kind: ByFreeReplicas, Wanted: 5}, "idc held 4; cloud1- held 4 free 6 tier 1; cloud2- held 2 free 3 tier 1", "cloud1-1 idc4"},
		{"P5 to nothing", Request{Kind: ByFreeReplicas, Wanted: 3}, "idc held 4; cloud1- held 4 free 6 tier 1; cloud2- held 2 free 3 tier 1", "idc3"},
		{"P6 all or nothing", Request{Kind: ByFreeReplicas, Wanted: 25, AllOrNothing: true}, "idc free 4; cloud1- free 10 tier 1; cloud2- free 5 tier 1", "none, 25 pending: not-all-fit"},
		{"P6 ours: what fits", Request{Kind: ByFreeReplicas, Wanted: 25}, "idc free 4; cloud1- free 10 tier 1; cloud2- free 5 tier 1", "cloud1-10 cloud2-5 idc4, 6 pending: no-room"},
		{"P7 two sites in the first tier", Request{Kind: ByFreeReplicas, Wanted: 9}, "A free 8; B free 4; cloud free 20 tier 1", "A6 B3"},
		{"P8 that overflow", Request{Kind: ByFreeReplicas, Wanted: 15}, "A free 8; B free 4; cloud free 20 tier 1", "A8 B4 cloud3"},
		{"P9 and shrink", Request{Kind: ByFreeReplicas, Wanted: 10}, "A held 8; B held 4; cloud held 3 free 17 tier 1", "A7 B3"},
		{"P10 three tiers", Request{Kind: ByFreeReplicas, Wanted: 20}, "A free 5; B free 6 tier 1; C free 30 tier 2", "A5 B6 C9"},
		{"P10 the third shrinks", Request{Kind: ByFreeReplicas, Wanted: 13}, "A held 5; B held 6 tier 1; C held 9 free 21 tier 2", "A5 B6 C2"},
		{"P10 then the second", Request{Kind: ByFreeReplicas, Wanted: 8}, "A held 5; B held 6 tier 1; C held 2 free 28 tier 2", "A5 B3"},
		{"P11 no move when a better tier recovers", Request{Kind: ByFreeReplicas, Wanted: 6}, "idc free 6; cloud held 6 free 4 tier 1", "cloud6"},
		{"P12 until a rebalance is asked", Request{Kind: ByFreeReplicas, Wanted: 6, Rebalance: true}, "idc free 6; cloud held 6 free 4 tier 1", "idc6"},
		{"P13 exclusive tiers: the first with room for all", Request{Kind: ByFreeReplicas, Wanted: 5, ExclusiveTiers: true}, "one free 3; two free 10 tier 1", "two5"},
		{"P14 growth starts from the tier in use", Request{Kind: ByFreeReplicas, Wanted: 6, ExclusiveTiers: true}, "one free 20; two held 5 free 5 tier 1", "two6"},
		{"P14 a rebalance goes back", Request{Kind: ByFreeReplicas, Wanted: 6, ExclusiveTiers: true, Rebalance: true}, "one free 20; two held 5 free 5 tier 1", "one6"},
		{"ours: no exclusive tier fits all, so the largest holds what it can", Request{Kind: ByFreeReplicas, Wanted: 20, ExclusiveTiers: true}, "one free 3; two free 10 tier 1", "two10, 10 pending: no-tier"},

		{"D1 what is added is divided by what is free", Request{Kind: ByFreeReplicas, Wanted: 18}, "A held 6 free 2; B held 4 free 2; C held 2 free 8", "A7 B5 C6"},
		{"D2 what stays by what runs", Request{Kind: ByFreeReplicas, Wanted: 6}, "A held 6 free 2; B held 4 free 2; C held 2 free 8", "A3 B2 C1"},
		{"D3 what stays by what runs, with fractions", Request{Kind: ByFreeReplicas, Wanted: 9}, "A held 6; B held 4; C held 2", "A4 B3 C2"},
		{"D4 unchanged", Request{Kind: ByFreeReplicas, Wanted: 12}, "A held 6 free 2; B held 4 free 2; C held 2 free 8", "A6 B4 C2"},
		{"D5 a rebalance counts free and own", Request{Kind: ByFreeReplicas, Wanted: 12, Rebalance: true}, "A held 6 free 2; B held 4 free 2; C held 2 free 8", "A4 B3 C5"},
		{"D6 all or nothing", Request{Kind: ByFreeReplicas, Wanted: 20, AllOrNothing: true}, "A free 10; B free 5; C free 3", "none, 20 pending: not-all-fit"},
		{"D7 a full site gets nothing", Request{Kind: ByFreeReplicas, Wanted: 4}, "A free 4; B free 0", "A4"},
		{"K7b the fewest sites are not filled one by one", Request{Kind: FewestSites, Wanted: 20}, "A free 18; B free 12; C free 6", "A12 B8"},
		{"X3 the fewest sites, of equal ones", Request{Kind: FewestSites, Wanted: 9}, "A free 4; B free 4; C free 4", "A3 B3 C3"},
		{"K7d growth prefers sites in use", Request{Kind: FewestSites, Wanted: 8}, "A free 18; B free 12; C held 5 free 6", "C8"},
		{"K7c as far as they have room", Request{Kind: FewestSites, Wanted: 8}, "A free 18; B free 12; C held 5 free 1", "A3 C5"},

		{"static 1:2", Request{Kind: ByWeightUncapped, Wanted: 9}, "A weight 1; B weight 2", "A3 B6"},
		{"static 1:3", Request{Kind: ByWeightUncapped, Wanted: 9}, "A weight 1; B weight 3", "A2 B7"},
		{"static 3:2:1", Request{Kind: ByWeightUncapped, Wanted: 10}, "A weight 3; B weight 2; C weight 1", "A5 B3 C2"},
		{"static 1:1:1", Request{Kind: ByWeightUncapped, Wanted: 2}, "A weight 1; B weight 1; C weight 1", "A1 B1"},
		{"static 10:1:1", Request{Kind: ByWeightUncapped, Wanted: 5}, "A weight 10; B weight 1; C weight 1", "A5"},
		{"static, a site without weight", Request{Kind: ByWeightUncapped, Wanted: 10}, "A weight 3; B weight 1; C", "A7 B3"},
		{"static, no weight at all", Request{Kind: ByWeightUncapped, Wanted: 10}, "A; B; C", "A4 B3 C3"},
		{"static, what was before does not count", Request{Kind: ByWeightUncapped, Wanted: 12}, "A held 3 weight 1; B held 6 weight 2", "A4 B8"},
		{"static, ours: capped, and the rest to the others", Request{Kind: ByWeight, Wanted: 12}, "A weight 1 free 20; B weight 1 free 20; C weight 4 free 2", "A5 B5 C2"},
		{"static, ours: at least one each", Request{Kind: ByWeight, Wanted: 5, MinPerSite: 1}, "A weight 10 free 9; B weight 1 free 9; C weight 1 free 9", "A3 B1 C1"},

		{"R1 what fits is placed", Request{Kind: ByFreeReplicas, Wanted: 20}, "A free 10; B free 5; C free 3", "A10 B5 C3, 2 pending: no-room"},
		{"R2 and the rest when room appears", Request{Kind: ByFreeReplicas, Wanted: 20}, "A held 10; B held 5; C held 3 free 4", "A10 B5 C5"},
		{"R3 as far as it does", Request{Kind: ByFreeReplicas, Wanted: 20}, "A held 10; B held 5; C held 3 free 1", "A10 B5 C4, 1 pending: no-room"},
		{"R4 a gang is not placed in part", Request{Wanted: 20, AllOrNothing: true, Kind: ByFreeReplicas}, "A free 10; B free 5; C free 3", "none, 20 pending: not-all-fit"},

		{"F3 a lost site's replicas are divided", Request{Kind: ByFreeReplicas, Wanted: 6}, "B held 2 free 1; C held 1 free 5", "B3 C3"},
		{"F4 by what is free", Request{Kind: ByFreeReplicas, Wanted: 12}, "B held 4 free 2; C held 2 free 8", "B5 C7"},
		{"F5 Karmada keeps what it has", Request{Kind: ByFreeReplicas, Wanted: 12, AllOrNothing: true}, "B held 4 free 1; C held 2 free 1", "B4 C2, 6 pending: not-all-fit"},
		{"F5 ours: what fits", Request{Kind: ByFreeReplicas, Wanted: 12}, "B held 4 free 1; C held 2 free 1", "B5 C3, 4 pending: no-room"},
		{"N1 running and stock", Request{Kind: ByFreeReplicas, Wanted: 6}, "A free 12; B free 1; C free 4", "A4 C2"},
		{"H2 four more", Request{Kind: ByFreeReplicas, Wanted: 10}, "A held 4 free 6; B held 2 free 2", "A7 B3"},
		{"H6 ten to four", Request{Kind: ByFreeReplicas, Wanted: 4}, "A held 7; B held 3", "A3 B1"},
	} {
		tc.r.Sites = sites(t, tc.from)
		if got := says(divide(t, tc.r)); got != tc.want {
			t.Errorf("%s: Divide(%d of %s) = %s; want %s", tc.id, tc.r.Wanted, tc.from, got, tc.want)
		}
	}
}

func TestStuckReplicasMoveWhereThereIsRoom(t *testing.T) {
	const from = "m1- held 5; m2- held 3 free 4; m3- held 2 free 2"
	for _, tc := range []struct {
		id     string
		wanted int
		from   string
		stuck  Stuck
		want   string
	}{
		{"S1 three of five", 10, from, Stuck{"m1-", 2, 3, time.Minute}, "m1-2 m2-5 m3-3"},
		{"S2 not long enough", 10, from, Stuck{"m1-", 2, 3, 20 * time.Second}, "m1-5 m2-3 m3-2"},
		{"S3 never below those that are ready", 5, "m1- held 5; m2- free 9", Stuck{"m1-", 4, 3, time.Minute}, "m1-4 m2-1"},
		{"S4 ours: nowhere fits, so they stay", 10, "m1- held 5; m2- held 3; m3- held 2", Stuck{"m1-", 2, 3, time.Minute}, "m1-5 m2-3 m3-2"},
		{"S4 ours: one fits, so two stay", 10, "m1- held 5; m2- held 3 free 1; m3- held 2", Stuck{"m1-", 2, 3, time.Minute}, "m1-4 m2-4 m3-2"},
		{"the site's own free places do not count", 10, "m1- held 5 free 9; m2- held 3; m3- held 2", Stuck{"m1-", 2, 3, time.Minute}, "m1-5 m2-3 m3-2"},
	} {
		r := Request{Kind: ByFreeReplicas, Wanted: tc.wanted, Sites: sites(t, tc.from)}
		d, err := Reschedule(r, []Stuck{tc.stuck}, 30*time.Second)
		if got := says(d); err != nil || got != tc.want {
			t.Errorf("%s: Reschedule(%s, %+v) = %s, %v; want %s", tc.id, tc.from, tc.stuck, got, err, tc.want)
		}
	}
}
