package division

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

// sharing returns a site whose replicas take so many GPUs of the room of its name.
func sharing(s Site, gpus protocol.Milli) Site {
	s.Room, s.Takes = s.Name, 1000*gpus
	return s
}

// divideAll divides and fails the test on an error.
func divideAll(t failer, requests []Request, rooms []Room) Joint {
	t.Helper()
	j, err := DivideAll(requests, rooms)
	if err != nil {
		t.Fatalf("DivideAll(%+v, %+v): %v", requests, rooms, err)
	}
	return j
}

func TestScarceRoomGoesToTheServiceThatItSavesMost(t *testing.T) {
	x := Request{UID: "x", Wanted: 2, Sites: []Site{
		sharing(priced("SE", 0, 2, flat(2, 1_000_000)), 4), sharing(priced("FR", 0, 4, flat(4, 1_300_000)), 4)}}
	y := Request{UID: "y", Wanted: 6, Sites: []Site{
		sharing(priced("SE", 0, 8, flat(8, 200_000)), 1), sharing(priced("FR", 0, 16, flat(16, 450_000)), 1)}}
	rooms := []Room{{"SE", 8000}, {"FR", 16_000}}
	for _, order := range [][]Request{{x, y}, {y, x}} {
		j := divideAll(t, order, rooms)
		if j.Cost != 3_800_000 || j.LowerBound < 3_649_000 || j.LowerBound > 3_650_000 || j.Prices[1] != 0 {
			t.Errorf("S-D9: %s and %s at %d, bound %d, prices %v; want SE for y, $3.80, bound $3.65 at $0.075 a GPU-hour of SE",
				says(j.Divisions[0]), says(j.Divisions[1]), j.Cost, j.LowerBound, j.Prices)
		}
		t.Logf("S-D9: bound %d at prices %v", j.LowerBound, j.Prices)
	}
}

// drawJoint draws services under ByCost, in one tier, that share the rooms of a few sites.
func drawJoint(t *rapid.T) (requests []Request, rooms []Room) {
	for k := range 2 {
		rooms = append(rooms, Room{fmt.Sprint("room-", k), 1000 * protocol.Milli(rapid.IntRange(0, 6).Draw(t, "room"))})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "services") {
		r := Request{UID: fmt.Sprint(i), Wanted: rapid.IntRange(0, 5).Draw(t, "wanted"), Rebalance: true}
		takes := 1000 * protocol.Milli(rapid.IntRange(1, 3).Draw(t, "gpus"))
		for k := range 3 {
			s := Site{Name: string(rune('A' + k)), Held: rapid.IntRange(0, 1).Draw(t, "held"), Free: rapid.IntRange(0, 4).Draw(t, "free")}
			s.Steps = drawSteps(t, s.Held+s.Free)
			if k < 2 {
				s.Room, s.Takes = rooms[k].Name, takes
			}
			r.Sites = append(r.Sites, s)
		}
		requests = append(requests, r)
	}
	return requests, rooms
}

// cheapestJoint tries every joint division of as many replicas of each service as are given, and
// returns the least cost.
func cheapestJoint(requests []Request, placed []int, left map[string]protocol.Milli) (cost protocol.Microdollars, ok bool) {
	if len(requests) == 0 {
		return 0, true
	}
	var try func(s, total int, spent protocol.Microdollars)
	try = func(s, total int, spent protocol.Microdollars) {
		if s == len(requests[0].Sites) {
			if rest, fits := cheapestJoint(requests[1:], placed[1:], left); total == 0 && fits && (!ok || spent+rest < cost) {
				cost, ok = spent+rest, true
			}
			return
		}
		site := requests[0].Sites[s]
		for n := 0; n <= min(total, site.Held+site.Free); n++ {
			takes := protocol.Milli(max(n-site.Held, 0)) * site.Takes
			if site.Room != "" && takes > left[site.Room] {
				break
			}
			left[site.Room] -= takes
			try(s+1, total-n, spent+site.costOf(n))
			left[site.Room] += takes
		}
	}
	try(0, placed[0], 0)
	return cost, ok
}

func TestAJointDivisionKeepsRoomsAndItsBound(t *testing.T) {
	best, found, bounds, turns := 0.0, 0.0, 0.0, 0.0
	rapid.Check(t, func(t *rapid.T) {
		requests, rooms := drawJoint(t)
		j := divideAll(t, requests, rooms)
		left, placed := make(map[string]protocol.Milli), []int{}
		for _, room := range rooms {
			left[room.Name] = room.Free
		}
		for i, r := range requests {
			placed = append(placed, j.Divisions[i].Placed)
			for s, site := range r.Sites {
				left[site.Room] -= protocol.Milli(max(j.Divisions[i].Shares[s].Replicas-site.Held, 0)) * site.Takes
			}
		}
		for _, room := range rooms {
			if left[room.Name] < 0 {
				t.Errorf("%s is over by %d", room.Name, -left[room.Name])
			}
			left[room.Name] = room.Free
		}
		least, ok := cheapestJoint(requests, placed, left)
		if !ok || j.LowerBound > least || j.Cost < least {
			t.Errorf("DivideAll(%+v, %+v) = %+v; the best of all costs %d", requests, rooms, j, least)
		}
		var cost protocol.Microdollars
		alike := true
		for i, turn := range inTurn(t, requests, rooms) {
			if j.Divisions[i].Pending > turn.Pending {
				t.Errorf("service %d has %d pending; %d if they take their share in turn", i, j.Divisions[i].Pending, turn.Pending)
			}
			cost, alike = cost+turn.Cost, alike && j.Divisions[i].Pending == turn.Pending
		}
		if alike {
			if j.Cost > cost {
				t.Errorf("DivideAll(%+v, %+v) costs %d; %d if they take their share in turn", requests, rooms, j.Cost, cost)
			}
			best, found, bounds, turns = best+least.InDollars(), found+j.Cost.InDollars(), bounds+j.LowerBound.InDollars(), turns+cost.InDollars()
		}
	})
	t.Logf("in all: bounds $%.2f, best of all $%.2f, found $%.2f, in turn $%.2f an hour", bounds, best, found, turns)
}

// inTurn divides services one after the other.
func inTurn(t failer, requests []Request, rooms []Room) (out []Division) {
	left := make(map[string]protocol.Milli)
	for _, room := range rooms {
		left[room.Name] = room.Free
	}
	for _, r := range requests {
		r.Sites = byName(r)
		for s := range r.Sites {
			if site := &r.Sites[s]; site.Room != "" {
				site.Free = min(site.Free, int(left[site.Room]/site.Takes))
			}
		}
		d := divide(t, r)
		for s, site := range r.Sites {
			left[site.Room] -= protocol.Milli(max(d.Shares[s].Replicas-site.Held, 0)) * site.Takes
		}
		out = append(out, d)
	}
	return out
}

func TestServicesWithRoomForAllAreDividedAsEachAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var requests []Request
		for range rapid.IntRange(0, 3).Draw(t, "services") {
			requests = append(requests, drawRequest(t, kinds, 3))
		}
		j := divideAll(t, requests, []Room{{"unused", 0}})
		for i, r := range requests {
			if want := divide(t, r); !reflect.DeepEqual(j.Divisions[i], want) {
				t.Errorf("service %d is divided as %+v; alone as %+v", i, j.Divisions[i], want)
			}
		}
	})
}

func TestOtherKindsShareRoomsInTurn(t *testing.T) {
	rooms := []Room{{"A", 4000}, {"B", 4000}}
	free := Request{Kind: ByFreeReplicas, Wanted: 4, Sites: []Site{sharing(Site{Name: "A", Free: 4}, 1), sharing(Site{Name: "B", Free: 4}, 1)}}
	cost := Request{Wanted: 4, Sites: []Site{sharing(priced("A", 0, 4, flat(4, 10)), 1), sharing(priced("B", 0, 4, flat(4, 90)), 1)}}
	j := divideAll(t, []Request{free, cost}, rooms)
	if says(j.Divisions[0]) != "A2 B2" || says(j.Divisions[1]) != "A2 B2" || j.Cost != 200 || j.LowerBound > 200 {
		t.Errorf("DivideAll = %s and %s at %d, bound %d; want A2 B2 each, at 200", says(j.Divisions[0]), says(j.Divisions[1]), j.Cost, j.LowerBound)
	}
}

func TestContradictoryRoomsAreErrors(t *testing.T) {
	good := Request{Wanted: 1, Sites: []Site{sharing(priced("A", 0, 4, flat(4, 1)), 1)}}
	spoilt := func(change func(*Request)) []Request {
		r := good
		r.Sites = []Site{good.Sites[0]}
		change(&r)
		return []Request{good, r}
	}
	for _, tc := range []struct {
		requests []Request
		rooms    []Room
		want     string
	}{
		{[]Request{good}, []Room{{"A", 1}, {"A", 2}}, `room 1 is called "A"`},
		{[]Request{good}, []Room{{"", 1}}, `room 0 is called ""`},
		{[]Request{good}, []Room{{"A", -1}}, "room A: free is -1"},
		{[]Request{good}, nil, `request 0: a replica at A takes 1000 of room "A"`},
		{spoilt(func(r *Request) { r.Sites[0].Takes = 0 }), []Room{{"A", 1}}, "request 1: a replica at A takes 0"},
		{spoilt(func(r *Request) { r.Wanted = -1 }), []Room{{"A", 1}}, "request 1: division: wanted is -1"},
	} {
		if _, err := DivideAll(tc.requests, tc.rooms); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("DivideAll: %v; want an error with %q", err, tc.want)
		}
	}
}

func TestJointDivisionsOfSteadyServicesKeepTheirRooms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests, rooms := drawJoint(t)
		for i := range requests {
			requests[i].Rebalance, requests[i].Move = rapid.Bool().Draw(t, "rebalance"), Move{Horizon: time.Hour, Hysteresis: 200, Most: rapid.IntRange(0, 2).Draw(t, "most")}
			requests[i].Kind = rapid.SampledFrom([]Kind{ByCost, ByCost, ByFreeReplicas}).Draw(t, "kind")
		}
		j := divideAll(t, requests, rooms)
		for k, room := range rooms {
			left := room.Free
			for i, r := range requests {
				left -= protocol.Milli(max(j.Divisions[i].Shares[k].Replicas-r.Sites[k].Held, 0)) * r.Sites[k].Takes
			}
			if left < 0 {
				t.Errorf("DivideAll(%+v, %+v): %s is over by %d", requests, rooms, room.Name, -left)
			}
		}
		if j.LowerBound > j.Cost {
			t.Errorf("DivideAll(%+v, %+v) costs %d, bound %d", requests, rooms, j.Cost, j.LowerBound)
		}
	})
}

// At the price that z would pay for A, x goes to B, the only site of y, which comes before z.
func TestNoServiceLosesItsPlaceToWhomItWouldSaveMore(t *testing.T) {
	one := func(name string, cost protocol.Microdollars) Site {
		return sharing(priced(name, 0, 1, flat(1, cost)), 1)
	}
	x := Request{UID: "x", Wanted: 1, Sites: []Site{one("A", 10_000), one("B", 20_000)}}
	y := Request{UID: "y", Wanted: 1, Sites: []Site{one("B", 10_000)}}
	z := Request{UID: "z", Wanted: 1, Sites: []Site{one("A", 10_000), one("C", 1_000_000)}}
	j := divideAll(t, []Request{x, y, z}, []Room{{"A", 1000}, {"B", 1000}, {"C", 1000}})
	if says(j.Divisions[0]) != "A1" || says(j.Divisions[1]) != "B1" || says(j.Divisions[2]) != "C1" {
		t.Errorf("DivideAll = %s, %s, %s; want A1, B1, C1", says(j.Divisions[0]), says(j.Divisions[1]), says(j.Divisions[2]))
	}
}
