package division

import (
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// Bounds of a joint division, so that no sum leaves 64 bits.
const (
	mostRoom  = 1_000_000_000     // thousandths of a GPU: a million GPUs
	mostOfAll = 10 * mostReplicas // replicas of all services
)

// A Room is what sites of several services share, such as the GPUs of one model at a site.
type Room struct {
	Name string
	Free protocol.Milli // thousandths of a GPU, beyond what the held replicas have
}

// A Joint is how several services are divided that share rooms.
type Joint struct {
	Divisions []Division // in the order of the requests
	// Cost is of all replicas under ByCost, per hour, and LowerBound a cost per hour that no joint
	// division can be below with as many replicas of each service in each of its tiers.
	Cost, LowerBound protocol.Microdollars
	// Prices are what a GPU-hour of each room is worth to the services, with which the bound was
	// found; zero where there is room for all.
	Prices []protocol.Microdollars
}

// DivideAll divides services that share rooms. The order of requests is that of their right: no
// service has more replicas pending than if each took its share after those before it. Within
// that, rooms go to those to whom they save most: services under ByCost are divided by prices of
// rooms, and what that costs least is kept.
//
// A replica takes room where it starts; one that is moved or removed gives its room back only
// after the division.
func DivideAll(requests []Request, rooms []Room) (Joint, error) {
	j, err := newJoint(requests, rooms)
	if err != nil {
		return Joint{}, err
	}
	prices := make([]int64, len(rooms))
	best := j.inTurn(prices)
	if j.isContested() {
		best, prices = j.priced(best)
	}
	return j.result(best, prices), nil
}

// A joint is a set of services on its way to divisions.
type joint struct {
	requests []Request
	free     []protocol.Milli // of each room
	room     [][]int          // of each site of each request: the number of its room, or -1
	alone    []*problem       // each service as if there were no other
	steps    int
}

// newJoint checks requests and rooms, and divides each service as if there were no other.
func newJoint(requests []Request, rooms []Room) (*joint, error) {
	j := &joint{requests: slices.Clone(requests)}
	at := make(map[string]int, len(rooms))
	for k, room := range rooms {
		if _, twice := at[room.Name]; twice || room.Name == "" {
			return nil, fmt.Errorf("division: room %d is called %q: give each room a name of its own", k, room.Name)
		}
		if err := within("free", int64(room.Free), mostRoom); err != nil {
			return nil, fmt.Errorf("division: room %s: %w", room.Name, err)
		}
		at[room.Name] = k
		j.free = append(j.free, room.Free)
	}
	replicas := 0
	for i := range j.requests {
		r := &j.requests[i]
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("division: request %d: %w", i, err)
		}
		if r.Load > 0 {
			return nil, fmt.Errorf("division: request %d has a load: divide it alone", i)
		}
		if r.Kind == "" {
			r.Kind = ByCost
		}
		of := make([]int, len(r.Sites))
		for s := range r.Sites {
			site := &r.Sites[s]
			k, known := at[site.Room]
			if of[s] = k; site.Room == "" {
				of[s] = -1
			} else if !known || site.Takes < 1 || site.Takes > mostRoom {
				return nil, fmt.Errorf("division: request %d: a replica at %s takes %d of room %q: want 1 to %d of a room that is named", i, site.Name, site.Takes, site.Room, mostRoom)
			}
			j.steps += len(site.Steps)
			replicas += site.Held
		}
		j.room = append(j.room, of)
		replicas += max(r.Wanted, r.Min)
	}
	if err := within("replicas wanted and held in all", int64(replicas), mostOfAll); err != nil {
		return nil, fmt.Errorf("division: %w", err)
	}
	none := make([]int64, len(rooms))
	for i := range j.requests {
		j.alone = append(j.alone, j.solve(i, j.free, none))
	}
	return j, nil
}

// solve divides one service with what is left of the rooms, at prices in µ$ per GPU-hour.
func (j *joint) solve(i int, left []protocol.Milli, prices []int64) *problem {
	r := j.requests[i]
	r.Sites = slices.Clone(r.Sites)
	for s, k := range j.room[i] {
		if site := &r.Sites[s]; k >= 0 {
			site.Free = min(site.Free, int(left[k]/site.Takes))
		}
	}
	p := newProblem(&r)
	j.setPrices(i, p, prices)
	p.solve()
	return p
}

// setPrices says what a start counts per hour at each place for the room that it takes. It is rounded
// down: lower prices keep a lower bound valid.
func (j *joint) setPrices(i int, p *problem, prices []int64) {
	for _, pl := range p.places {
		if k := j.room[i][pl.at]; k >= 0 {
			pl.price = min(prices[k]*int64(pl.Takes)/1000, dearestStart)
		}
	}
}

// use adds what so many replicas at each place take of the rooms, beyond those held, times sign.
func (j *joint) use(i int, places []*place, n func(*place) int, used []protocol.Milli, sign protocol.Milli) {
	for _, pl := range places {
		if k := j.room[i][pl.at]; k >= 0 {
			used[k] += sign * protocol.Milli(max(n(pl)-pl.Held, 0)) * pl.Takes
		}
	}
}

// isContested reports whether the services want more of a room than there is, each divided as if
// there were no other.
func (j *joint) isContested() bool {
	left := slices.Clone(j.free)
	for i, p := range j.alone {
		j.use(i, p.places, gotOf, left, -1)
	}
	return slices.ContainsFunc(left, func(of protocol.Milli) bool { return of < 0 })
}

// inTurn divides one service after the other, at prices of rooms.
func (j *joint) inTurn(prices []int64) []*problem {
	left, out := slices.Clone(j.free), make([]*problem, len(j.requests))
	for i := range j.requests {
		out[i] = j.solve(i, left, prices)
		j.use(i, out[i].places, gotOf, left, -1)
	}
	return out
}

// settle divides each service once more, without prices, within what the others leave. No service
// gets less: it could stay as it is.
func (j *joint) settle(all []*problem) []*problem {
	left, none := slices.Clone(j.free), make([]int64, len(j.free))
	for i, p := range all {
		j.use(i, p.places, gotOf, left, -1)
	}
	for i, p := range all {
		j.use(i, p.places, gotOf, left, 1)
		all[i] = j.solve(i, left, none)
		j.use(i, all[i].places, gotOf, left, -1)
	}
	return all
}

// result reports the divisions of all services.
func (j *joint) result(best []*problem, prices []int64) (out Joint) {
	none := make([]int64, len(prices))
	bound, _ := j.bound(best, prices)
	for i, p := range best {
		j.setPrices(i, p, none)
		out.Divisions = append(out.Divisions, p.division())
	}
	for _, price := range prices {
		out.Prices = append(out.Prices, protocol.Microdollars(price))
	}
	out.Cost, out.LowerBound = protocol.Microdollars(costOfAll(best)), protocol.Microdollars(bound)
	return out
}

// pending returns how many of the wanted replicas have no place.
func (p *problem) pending() int { return max(p.wanted()-sum(p.places, gotOf), 0) }
