package division

import (
	"math/bits"
	"sort"
)

// A stretch is replicas of a site in a row that cost and serve the same.
type stretch struct {
	to           int   // the number of its last replica
	cost, serves int64 // of each: µ$ an hour, thousandths of a request a second
	allCost      int64 // of all replicas up to its last
	allServes    int64
}

// A supply is what the replicas of a site cost and serve, in the order in which it fills.
type supply struct {
	low, high int // it is to have at least and at most so many
	order     int // place in the order of ties
	all       []stretch
}

// append adds replicas to a supply.
func (s *supply) append(count int, cost, serves int64) {
	if count <= 0 {
		return
	}
	var before stretch
	if last := len(s.all) - 1; last >= 0 {
		before = s.all[last]
	}
	s.all = append(s.all, stretch{
		to: before.to + count, cost: cost, serves: serves,
		allCost: before.allCost + int64(count)*cost, allServes: before.allServes + int64(count)*serves,
	})
}

// upTo returns what the first n replicas cost and serve.
func (s *supply) upTo(n int) (cost, serves int64) {
	i := sort.Search(len(s.all), func(i int) bool { return n <= s.all[i].to })
	if i == len(s.all) || n <= 0 {
		return 0, 0
	}
	x := &s.all[i]
	return x.allCost - int64(x.to-n)*x.cost, x.allServes - int64(x.to-n)*x.serves
}

// atLeast returns how many replicas serve so much; the high, if those do not.
func (s *supply) atLeast(serves int64) int {
	if serves <= 0 {
		return 0
	}
	i := sort.Search(len(s.all), func(i int) bool { return s.all[i].allServes >= serves })
	if i == len(s.all) {
		return s.high
	}
	x := &s.all[i] // which serves something, or the one before would suffice
	return min(x.to-int((x.allServes-serves)/x.serves), s.high)
}

// atMost returns how many replicas, of those up to the high, serve no more than so much.
func (s *supply) atMost(serves int64) int {
	if _, all := s.upTo(s.high); all <= serves {
		return s.high
	}
	return s.atLeast(serves+1) - 1
}

// An arc is a part of the lower convex envelope of a supply, between two numbers of replicas.
type arc struct {
	supply, from, to int
	cost, serves     int64 // of all its replicas
}

// envelope appends the arcs of a supply's lower convex envelope between its bounds: what costs least for
// what it serves first. Replicas at its end that serve nothing are left out.
func (s *supply) envelope(arcs []arc, index int) []arc {
	first := len(arcs)
	for i := range s.all {
		x := &s.all[i]
		from, to := s.low, min(x.to, s.high)
		if i > 0 {
			from = max(from, s.all[i-1].to)
		}
		if from >= to {
			continue
		}
		next := arc{supply: index, from: from, to: to, cost: int64(to-from) * x.cost, serves: int64(to-from) * x.serves}
		for len(arcs) > first && compareArcs(arcs[len(arcs)-1], next) > 0 {
			last := arcs[len(arcs)-1]
			next.from, next.cost, next.serves = last.from, next.cost+last.cost, next.serves+last.serves
			arcs = arcs[:len(arcs)-1]
		}
		arcs = append(arcs, next)
	}
	for len(arcs) > first && arcs[len(arcs)-1].serves == 0 {
		arcs = arcs[:len(arcs)-1]
	}
	return arcs
}

// compareArcs compares what two arcs cost for what they serve; serving nothing is the dearest.
func compareArcs(a, b arc) int {
	return compareRatios(uint64(a.cost), uint64(a.serves), uint64(b.cost), uint64(b.serves))
}

// partly returns what so much of what an arc serves costs, rounded up: real costs are whole.
func (a arc) partly(serves int64) int64 {
	high, low := bits.Mul64(uint64(a.cost), uint64(serves))
	low, carry := bits.Add64(low, uint64(a.serves-1), 0)
	part, _ := bits.Div64(high+carry, low, uint64(a.serves))
	return int64(part)
}
