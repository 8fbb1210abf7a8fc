package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// byHand is first by a look at each node, and at each time at which one may have room.
func (f *Fleet) byHand(now protocol.Time, j protocol.Job, at protocol.Time, run time.Duration, counts reservationFilter) (start protocol.Time, best int) {
	best = -1
	var busy protocol.Time
	for i := range f.nodes {
		n, from := &f.nodes[i], max(at, now)
		if n.removed || n.unschedulable || !n.canServe(&j, "") {
			continue
		}
		if canWait(j) && f.reservedNode(j.ID) != i && slices.Contains(f.headroomNodes(), i) {
			from = max(from, LatestStart(j, run))
		}
		times := []protocol.Time{from}
		for _, r := range n.jobs {
			times = append(times, max(r.End, now.Add(time.Second)))
		}
		for _, k := range n.reservations {
			times = append(times, k.until)
		}
		slices.Sort(times)
		for _, t := range times {
			if t < from || !f.hasRoomThroughout(now, i, &j, t, run, counts) {
				continue
			}
			if best < 0 || t < start || t == start && n.busyUntil() > busy {
				start, best, busy = t, i, n.busyUntil()
			}
			break
		}
	}
	return start, best
}

func TestAnOpeningIsThatOfALookAtEachNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(Config{Nodes: drawNodes(t), Power: power.DefaultTable(), HeadroomOneIn: rapid.IntRange(0, 4).Draw(t, "standby")})
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			j := drawDue(t, i, now)
			at := now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "later")) * time.Minute)
			for _, counts := range []reservationFilter{nil, atLeastAsUrgent(now, j, j.Run)} {
				want, node := f.byHand(now, j, at, j.Run, counts)
				if got, best := f.findEarliestNode(now, &j, "", at, j.Run, true, counts); got != want || best != node {
					t.Fatalf("it opens at %v on node %d; want %v on node %d", got, best, want, node)
				}
				if got, best := f.findEarliestNode(now, &j, "", at, j.Run, false, counts); got != want || best < 0 != (node < 0) {
					t.Fatalf("it opens at %v; want %v", got, want)
				}
			}
			if rapid.Bool().Draw(t, "keep") {
				f.ReserveNode(now, j, "", at, j.Run)
			} else {
				f.StartRun(now, j, RunConfig{Run: j.Run}, 0)
			}
		}
	})
}

// A site that is full is asked for each of hundreds of jobs, on each model and under each
// cap, when one has room. A look at all that runs takes longer than a round is open.
func TestEarliestStartIsSublinearInNodes(t *testing.T) {
	for _, waits := range []bool{false, true} {
		takes := func(nodes int) float64 {
			var boxes []Node
			for i := range nodes {
				boxes = append(boxes, box(fmt.Sprint("n", i), "V100", 4))
			}
			f, err := New(Config{Nodes: boxes, Power: power.DefaultTable(), HeadroomOneIn: DefaultHeadroomOneIn})
			if err != nil {
				t.Fatal(err)
			}
			for i := range nodes {
				start(t, f, noon, job(protocol.JobID(fmt.Sprint("job-", i)), 4), time.Hour+time.Duration(i)*time.Minute)
			}
			j := job("gang", 4)
			j.Urgency, j.Arrival, j.Deadline = protocol.StandardOrNow(waits), noon, noon.Add(20*time.Hour)
			if at, ok := f.EarliestStart(noon, j, "V100", noon, time.Hour); !ok || at >= noon.Add(2*time.Hour) {
				t.Fatalf("it opens at %v, %v", at, ok)
			}
			return testing.AllocsPerRun(5, func() { f.EarliestStart(noon, j, "V100", noon, time.Hour) })
		}
		if few, many := takes(6), takes(60); many > few+12 {
			t.Errorf("waits %v: beside 6 nodes it takes %g allocations, and beside 60 it takes %g", waits, few, many)
		}
	}
}
