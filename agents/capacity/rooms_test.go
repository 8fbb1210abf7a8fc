package capacity

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A plainFleet answers as a Fleet does, by a look at each node each time.
type plainFleet struct{ *Fleet }

// readyTime is Fleet.readyTime by a look at each planned end.
func (f plainFleet) readyTime(i int, j *protocol.Job, model string) (at protocol.Time, serves bool) {
	n := f.nodes[i] // a copy
	n.reservations = nil
	if n.removed || n.unschedulable || !n.canServe(j, model) {
		return 0, false
	}
	was := f.nodes[i].reservations
	f.nodes[i].reservations = nil
	defer func() { f.nodes[i].reservations = was }()
	if f.fitsAt(0, i, j, math.MinInt64, nil) {
		return readyNow, true
	}
	for _, r := range n.jobs {
		if f.fitsAt(0, i, j, r.End, nil) {
			return r.End, true
		}
	}
	return readyNever, true
}

// place returns what place of a job to quote: tryWithReservations without an index.
func (f plainFleet) place(now protocol.Time, j *protocol.Job, model string, run time.Duration) (q fgd.Quote) {
	own := f.reservedNode(j.ID)
	others := slices.ContainsFunc(f.headroomNodes(), func(i int) bool { return i != own })
	var late func(*node) bool // nodes that are not looked at yet, as they sleep or wake; nil: none
	try := func(counts reservationFilter, aside bool) bool {
		skip := f.withoutRoom(now, j, run, counts, own, aside)
		for i := range f.nodes {
			if late != nil && late(&f.nodes[i]) {
				skip = skip.Add(i)
			}
		}
		if more := f.leaveAsleep(now, j, model, run, skip); more != nil {
			if q = f.cluster.QuoteExcept(fgdRequest(*j, model), more); q.Fits {
				return true
			}
		}
		q = f.cluster.QuoteExcept(fgdRequest(*j, model), skip)
		return q.Fits
	}
	urgent := f.cfg.HeadroomOneIn > 0 && !hasTimeToWait(now, *j, run)
	if urgent && others && f.cfg.PreferAwake && allowsModel(j, model) && now < f.ahead {
		for _, wakes := range []bool{false, true} {
			for _, aside := range []bool{true, false} {
				late = func(n *node) bool { return n.awakeUntil(now) == 0 || !wakes && n.wakeTime(now) > 0 }
				if try(nil, aside) {
					return q
				}
			}
		}
		late = nil
	}
	if !try(nil, true) && urgent && !(others && try(nil, false)) && len(f.reservedOn) > 0 {
		try(atLeastAsUrgent(now, *j, run), false)
	}
	return q
}

func (f plainFleet) withoutRoom(now protocol.Time, j *protocol.Job, run time.Duration, counts reservationFilter, own int, aside bool) (skip fgd.NodeSet) {
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.unschedulable && !n.removed && (aside && n.isHeadroom && i != own || len(n.reservations) > 0 && !f.hasRoomThroughout(now, i, j, now, run, counts)) {
			skip = skip.Add(i)
		}
	}
	return skip
}

func (f plainFleet) leaveAsleep(now protocol.Time, j *protocol.Job, model string, run time.Duration, skip fgd.NodeSet) fgd.NodeSet {
	if !f.cfg.PreferAwake {
		return nil
	}
	least, most := protocol.Millijoules(math.MaxInt64), protocol.Millijoules(0)
	all := make([]protocol.Millijoules, len(f.nodes))
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.removed && !n.unschedulable && !skip.Has(i) && n.canServe(j, model) && f.fitsAt(now, i, j, now, nil) {
			awake := n.addedAwakeTime(now, now, now.Add(n.wakeTime(now)+run), nil)
			all[i] = protocol.Millijoules(int64(n.sleepPower()) * int64(awake/time.Second))
			least, most = min(least, all[i]), max(most, all[i])
		}
	}
	if least >= most {
		return nil
	}
	out := slices.Clone(skip)
	for i, added := range all {
		if added > least+least/awakeTolerance {
			out = out.Add(i)
		}
	}
	return out
}

// drawInventory draws the site's nodes anew: some gone, some cordoned, some shared with others.
func drawInventory(t *rapid.T) (nodes []protocol.Node) {
	for i := range rapid.IntRange(1, 6).Draw(t, "machines") {
		n := machine(fmt.Sprint("m", i))
		n.GPUs = []int{4, 4, 2, 8, 1, 0}[i]
		if i%2 == 1 {
			n.Model, n.GPUMemory = "T4", 0
		}
		if n.GPUs == 0 {
			n.Model = ""
		}
		if rapid.IntRange(0, 7).Draw(t, "closed") == 0 {
			n.Closed = "cordoned"
		}
		if rapid.IntRange(0, 4).Draw(t, "shared") == 0 {
			n.OtherCPU, n.Others = 4000, []protocol.Milli{1000}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// After any history of runs, reservations and inventories the indexes say of each node what a look
// at it says, and a job is quoted and started where a look at all nodes puts it.
func TestIndexesSayWhatALookAtEachNodeSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(Config{Power: power.DefaultTable(), HeadroomOneIn: rapid.IntRange(0, 3).Draw(t, "standby"), PreferAwake: rapid.Bool().Draw(t, "awake"), NodesSleep: true})
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		if rapid.Bool().Draw(t, "burst") {
			f.ahead = now.Add(1000 * time.Hour)
		}
		f.UpdateNodes(now, drawInventory(t))
		var kinds []protocol.Job // few, so that their indexes are used again
		for i := range 3 {
			kinds = append(kinds, drawDue(t, i, now))
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			j := rapid.SampledFrom(kinds).Draw(t, "kind")
			j.ID = protocol.JobID(fmt.Sprint("run-", i))
			j.Urgency, j.Deadline = protocol.StandardOrNow(rapid.Bool().Draw(t, "deferrable")), now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "due"))*time.Minute)
			at := now.Add(time.Duration(rapid.IntRange(-10, 200).Draw(t, "later")) * time.Minute)
			id := protocol.JobID(fmt.Sprint("run-", rapid.IntRange(0, i).Draw(t, "whose")))
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1:
				f.ReserveNode(now, j, "", at, j.Run)
			case 2:
				f.CancelReservation(id)
			case 3, 4:
				f.EndRun(now, id)
			case 5:
				f.UpdateNodes(now, drawInventory(t))
			default:
				want := plainFleet{f}.place(now, &j, "", j.Run)
				r, ok := f.StartRun(now, j, RunConfig{Run: j.Run}, 0)
				if ok != want.Fits || ok && r.placement != want.Placement {
					t.Fatalf("it starts: %v, %+v; by a look at each node %+v", ok, r, want)
				}
			}
			checkIndexes(t, f, now, at, rapid.SampledFrom(kinds).Draw(t, "asked"))
		}
	})
}

// checkIndexes compares what the indexes of f say for a job with a look at each node.
func checkIndexes(t *rapid.T, f *Fleet, now, at protocol.Time, j protocol.Job) {
	j.ID = "asked"
	for _, model := range []string{"", "V100", "T4"} {
		x := f.indexFor(&j, model)
		for i := range f.nodes {
			k, listed := slices.BinarySearch(x.nodes, int32(i))
			if !allowsModel(&j, model) {
				continue // no search looks at it
			}
			want, serves := plainFleet{f}.readyTime(i, &j, model)
			if listed != serves || listed && x.ready[k] != want {
				t.Fatalf("%+v on %q: node %d is listed: %v; want %v, with room from %v", j, model, i, listed, serves, want)
			}
		}
		if got, want := f.quoteOf(now, j, model), (plainFleet{f}).place(now, &j, model, j.Run); got.Fits != want.Fits || want.Fits && got != want {
			t.Fatalf("%+v on %q is quoted %+v; by a look at each node %+v", j, model, got, want)
		}
		if from := f.AlwaysOpenFrom(now, &j, model, j.Run); from != readyNever {
			late := max(at, from)
			if start, ok := f.EarliestStart(now, j, model, late, j.Run); !ok || start != late {
				t.Fatalf("%+v on %q is open for good from %v on, but at %v it opens at %v, %v", j, model, from, late, start, ok)
			}
		}
	}
	headroom := slices.Clone(f.headroomNodes())
	for i := range f.nodes {
		f.nodes[i].summary = nodeSummary{}
	}
	f.headroom = nil // choose it anew
	if want := f.headroomNodes(); !slices.Equal(headroom, want) {
		t.Fatalf("its headroom is %v; chosen anew %v", headroom, want)
	}
	profiled := f.CapacityProfiles(now, 15*time.Minute, 12)
	f.profiles.version = -1 // compute them anew
	if want := f.CapacityProfiles(now, 15*time.Minute, 12); !reflect.DeepEqual(profiled, want) {
		t.Fatalf("its profiles are %+v; computed anew %+v", profiled, want)
	}
	for _, counts := range []reservationFilter{nil, atLeastAsUrgent(now, j, j.Run)} {
		want, node := f.byHand(now, j, at, j.Run, counts)
		if got, best := f.findEarliestNode(now, &j, "", at, j.Run, true, counts); got != want || best != node {
			t.Fatalf("it opens at %v on node %d; want %v on node %d", got, best, want, node)
		}
	}
}

// quoteOf is quoteNode for the job's own run time.
func (f *Fleet) quoteOf(now protocol.Time, j protocol.Job, model string) fgd.Quote {
	q, ok := f.quoteNode(now, j, model, j.Run)
	if !ok {
		return fgd.Quote{}
	}
	return q
}

// An index that missed changes which the log has forgotten is computed as a whole.
func TestAnIndexSurvivesAForgottenChange(t *testing.T) {
	f := must(t, box("a", "V100", 1), box("b", "V100", 1))
	j := job("asked", 1)
	f.indexFor(&j, "V100")
	for i := range maxChanges + 10 {
		start(t, f, noon, job(protocol.JobID(fmt.Sprint("run-", i)), 1), time.Hour)
		f.EndRun(noon, protocol.JobID(fmt.Sprint("run-", i)))
	}
	start(t, f, noon, job("last", 1), time.Hour)
	x := f.indexFor(&j, "V100")
	if !slices.Contains(x.ready, noon.Add(time.Hour)) || !slices.Contains(x.ready, readyNow) {
		t.Errorf("of two nodes with one run there is room from %v", x.ready)
	}
}

// Many shapes do not fill memory: their indexes are dropped, and made again.
func TestIndexesAreBounded(t *testing.T) {
	f := must(t, box("a", "V100", 1))
	for i := range maxIndexed / 8 {
		j := job("asked", 1)
		j.Memory = protocol.MiB(i % 60_000)
		if f.indexFor(&j, "V100"); f.indexed > maxIndexed+17 || len(f.indexes) > maxIndexed/16+1 {
			t.Fatalf("%d indexes of %d nodes are kept after %d shapes", len(f.indexes), f.indexed, i)
		}
	}
}
