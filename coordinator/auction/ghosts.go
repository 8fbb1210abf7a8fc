package auction

import (
	"maps"
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A ghost is a job that is expected and not here. Clearing only what is here
// would spend cheap slots on jobs that could wait, so ghosts take part in the
// search for prices, never in the awards (METHOD, section 4.4).
type ghost struct {
	arrival protocol.Time
	slack   time.Duration
	run     time.Duration // at the reference clock
	gpu     protocol.Milli
	weight  float64 // arrivals that it stands for
}

// arrivals remembers the jobs of the last day.
type arrivals struct {
	first protocol.Time
	seen  []ghost // by time of being seen
	known map[protocol.JobID]protocol.Time
}

const day = 24 * time.Hour

// see takes in a job, once.
func (a *arrivals) see(j protocol.Job) {
	if _, ok := a.known[j.ID]; ok || j.GPUs == 0 {
		return
	}
	if a.known == nil {
		a.known = make(map[protocol.JobID]protocol.Time)
		a.first = j.Arrival
	}
	a.known[j.ID] = j.Arrival
	a.seen = append(a.seen, ghost{
		arrival: j.Arrival, run: j.Run, gpu: j.GPU(), weight: 1,
		slack: max(j.Deadline.Sub(j.Arrival)-j.Run, 0),
	})
}

// expect says what is likely to arrive within a day: what arrived in the last
// day, again; or, while less than a day is known, what arrived since the first
// job, again and again. With more than most ghosts every n-th stands for n.
func (a *arrivals) expect(now protocol.Time, most int) []ghost {
	a.forget(now.Add(-day))
	span := min(now.Sub(a.first), day).Truncate(slot)
	if most <= 0 || len(a.seen) == 0 || span < time.Hour {
		return nil
	}
	rounds := int(math.Ceil(float64(day) / float64(span)))
	every := max(1, len(a.seen)*rounds/most)
	var out []ghost
	n := 0
	for k := 1; k <= rounds; k++ {
		for _, g := range a.seen {
			g.arrival = g.arrival.Add(time.Duration(k) * span)
			if g.arrival <= now || g.arrival > now.Add(day) {
				continue
			}
			if n++; n%every == 0 {
				g.weight = float64(every)
				out = append(out, g)
			}
		}
	}
	return out
}

func (a *arrivals) forget(before protocol.Time) {
	i := 0
	for i < len(a.seen) && a.seen[i].arrival < before {
		i++
	}
	a.seen = a.seen[i:]
	if len(a.known) > 4*len(a.seen)+1024 {
		maps.DeleteFunc(a.known, func(_ protocol.JobID, at protocol.Time) bool { return at < before })
	}
}

// ghostStep is how finely a ghost looks for its hour.
const ghostStep = 2 // slots

// haunt lets a ghost choose its cheapest pool and start, adds the room that it
// takes to use, and returns what it pays.
func (p *problem) haunt(g ghost, use []line) float64 {
	best, value, start, end := -1, math.Inf(1), 0.0, 0.0
	gpus := float64(g.gpu) / 1000
	first := position(g.arrival, p.from)
	for i := range p.pools {
		q := &p.pools[i]
		if q.speed <= 0 || q.total < gpus {
			continue
		}
		run := g.run.Hours() * 1000 / float64(q.speed) / slotHours
		last := first + g.slack.Hours()/slotHours + max(g.run.Hours()/slotHours-run, 0)
		for a := first; a <= last && a < horizon; a += ghostStep {
			b := min(a+run, horizon)
			if v := q.rate.over(a, b) + q.sum.over(a, b); v < value {
				best, value, start, end = i, v, a, b
			}
		}
	}
	if best < 0 {
		return 0
	}
	at := func(pos float64) protocol.Time { return p.from.Add(time.Duration(pos * float64(slot))) }
	use[best].spread(p.from, at(start), at(end), gpus*g.weight)
	return value * gpus * g.weight
}
