package bound

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// A schedule never exceeds a node's capacity, has the cost that it states, and is not
// cheaper than the bound.
func TestASchedulesRoomAndCostAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := random(t)
		bound := p.subgradientSearch(40)
		s := newSchedule(p)
		for i := range p.jobs {
			s.placeJob(i, rapid.Bool().Draw(t, "pay"))
		}
		if online := p.onlineCost(rapid.Bool().Draw(t, "online")); online < bound-1e-6 {
			t.Fatalf("jobs placed as they arrive cost %v; the bound is %v", online, bound)
		}
		s.reinsertJobs([]int{rapid.IntRange(0, len(p.jobs)-1).Draw(t, "again")}, false)
		want, sum := 0.0, p.constant
		for i, x := range s.placements {
			if x.config < 0 {
				sum += p.jobs[i].neverRunCost
				continue
			}
			w := &p.jobs[i].configs[x.config]
			sum += p.costWithoutRoom(&p.jobs[i], w, x.start)
			first, last := cellsOfRun(x.start, w.length)
			want += float64(last-first) * p.jobs[i].gpus
			if x.start < p.jobs[i].arrival {
				t.Fatalf("job %d starts at %v, before it arrives at %v", i, x.start, p.jobs[i].arrival)
			}
		}
		held := 0.0
		for k, nodes := range s.nodes {
			for _, n := range nodes {
				for _, h := range n.held {
					if h < 0 || h > int32(p.pools[k].Size)*1000 {
						t.Fatalf("a node of %d GPUs gives %d thousandths", p.pools[k].Size, h)
					}
					held += float64(h) / 1000
				}
			}
		}
		if math.Abs(held-want) > 1e-6 {
			t.Fatalf("nodes give %v GPU-cells; jobs hold %v", held, want)
		}
		total, _ := s.totalCost()
		if math.Abs(total-sum) > 1e-6 || total < bound-1e-6 {
			t.Fatalf("the schedule says it costs %v; its jobs cost %v; the bound is %v", total, sum, bound)
		}
	})
}

// A week of jobs is planned to its end, though room has a price on the first days
// alone.
func TestAWeekIsPlannedToItsEnd(t *testing.T) {
	s := calm(day(80))
	s.End = s.Start.Add(7 * 24 * time.Hour)
	for i := range s.Jobs {
		by := time.Duration(i%7) * 24 * time.Hour
		s.Jobs[i].Arrival, s.Jobs[i].Deadline = s.Jobs[i].Arrival.Add(by), s.Jobs[i].Deadline.Add(by)
	}
	s.Jobs = slices.DeleteFunc(s.Jobs, func(j protocol.Job) bool { return j.GPUs == 6 }) // fits nowhere
	slices.SortFunc(s.Jobs, func(x, y protocol.Job) int { return cmp.Compare(x.Arrival, y.Arrival) })
	p, err := modelScenario(s, false)
	if err != nil {
		t.Fatal(err)
	}
	bound := p.subgradientSearch(40)
	known, out := p.bestKnownSchedule(8)
	if online := p.onlineCost(true); out > 0 || online > 3*bound || known > 3*bound {
		t.Errorf("%d jobs find no place; all known they cost %.0f, as they arrive %.0f; the bound is %.0f", out, known, online, bound)
	}
}

// No job starts before now, even when replanned.
func TestAPlanAnewStartsNothingInThePast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := random(t)
		p.subgradientSearch(40)
		s := newSchedule(p)
		s.now = rapid.Float64Range(0, float64(p.slots)).Draw(t, "now")
		for i := range p.jobs {
			if s.placeJob(i, false) && s.placements[i].start < max(s.now, p.jobs[i].arrival) {
				t.Fatalf("job %d starts at %v; it arrives at %v and it is %v", i, s.placements[i].start, p.jobs[i].arrival, s.now)
			}
		}
	})
}
