package capacity

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// wakingFleet has four nodes of eight V100, of which one is headroom.
func wakingFleet(t *testing.T, wakesAhead bool) *Fleet {
	var nodes []Node
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		nodes = append(nodes, sleeper(name, 8))
	}
	f, err := New(Config{Nodes: nodes, Power: power.DefaultTable(), PreferAwake: true, WakesAhead: wakesAhead, HeadroomOneIn: 4})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// patient returns a job of whole GPUs that may wait for a day.
func patient(id string, gpus int) protocol.Job {
	j := whole(id, gpus)
	j.Urgency, j.Arrival, j.Deadline = protocol.UrgencyStandard, noon, noon.Add(24*time.Hour)
	return j
}

// startFor starts a job for an hour, and fails if it does not start.
func startFor(t *testing.T, f *Fleet, now protocol.Time, j protocol.Job) *Run {
	t.Helper()
	r, ok := f.StartRun(now, j, RunConfig{Model: "V100", Run: time.Hour}, 0)
	if !ok {
		t.Fatalf("%s does not start", j.ID)
	}
	return r
}

// startBurst starts four jobs, the last one at an instant, and returns the nodes that are woken with it.
func startBurst(t *testing.T, f *Fleet, last protocol.Time, job func(string, int) protocol.Job, gpus int) []string {
	t.Helper()
	for _, id := range []string{"a", "b", "c"} {
		if woken := f.WakeAhead(noon, startFor(t, f, noon, job(id, gpus))); len(woken) > 0 {
			t.Errorf("%s wakes %q", id, woken)
		}
	}
	return f.WakeAhead(last, startFor(t, f, last, job("d", gpus)))
}

// By hand: four starts take four GPUs, so eight are to be free; the node that wakes for them has four more,
// and a node of eight is woken.
func TestABurstOfJobsThatCannotWaitWakesNodesAhead(t *testing.T) {
	for _, c := range []struct {
		what       string
		wakesAhead bool
		job        func(string, int) protocol.Job
		gpus       int
		apart      time.Duration
		want       int // nodes woken with the last start
	}{
		{"four within the time of waking", true, whole, 1, 3 * time.Minute, 1},
		{"further apart", true, whole, 1, 4 * time.Minute, 0},
		{"deferrable", true, patient, 1, 3 * time.Minute, 0},
		{"an executor that wakes none", false, whole, 1, 3 * time.Minute, 0},
	} {
		if woken := startBurst(t, wakingFleet(t, c.wakesAhead), noon.Add(c.apart), c.job, c.gpus); len(woken) != c.want {
			t.Errorf("%s: %q are woken, want %d nodes", c.what, woken, c.want)
		}
	}
}

// A node of the headroom is woken first. It takes jobs that cannot wait before another node is woken, without a
// wait once it has woken, until it has lingered. Jobs that can wait leave it alone.
func TestJobsThatCannotWaitUseWhatWasWokenAhead(t *testing.T) {
	for _, c := range []struct {
		after time.Duration // the last start
		job   protocol.Job
		wait  time.Duration
		on    []string
	}{
		{200 * time.Second, whole("next", 6), 0, []string{"n1"}},
		{100 * time.Second, whole("next", 6), 100 * time.Second, []string{"n1"}},
		{200*time.Second + 11*time.Minute, whole("next", 6), 200 * time.Second, []string{"n1", "n3", "n4"}},
		{200 * time.Second, patient("next", 6), 200 * time.Second, []string{"n3", "n4"}},
	} {
		f := wakingFleet(t, true)
		if woken := startBurst(t, f, noon, whole, 1); !slices.Equal(woken, []string{"n1"}) || !f.nodes[0].isHeadroom {
			t.Fatalf("woken: %q, want n1, the headroom", woken)
		}
		now := noon.Add(c.after)
		if r := startFor(t, f, now, c.job); r.Start.Sub(now) != c.wait || !slices.Contains(c.on, r.Node) {
			t.Errorf("%v after: %+v waits %v on %s, want %v on one of %q", c.after, c.job.Urgency, r.Start.Sub(now), r.Node, c.wait, c.on)
		}
	}
}

// In a burst a job that cannot wait prefers an awake node of the headroom to one that sleeps, else it leaves the
// headroom alone.
func TestOnlyInABurstIsTheHeadroomPreferredToANodeThatSleeps(t *testing.T) {
	for _, burst := range []bool{true, false} {
		f := wakingFleet(t, true)
		startFor(t, f, noon, whole("all", 8)) // n2
		f.nodes[0].emptySince = noon
		if burst {
			f.ahead = noon.Add(time.Hour)
		}
		if r := startFor(t, f, noon, whole("next", 1)); (r.Node == "n1") != burst {
			t.Errorf("in a burst %v: it is on %s", burst, r.Node)
		}
	}
}

// By hand: n1, of the headroom, is kept awake for three hours, and n2 lingers. A run of an hour adds nothing to
// n1, but n2 is not of the headroom.
func TestInABurstTheHeadroomIsUsedLast(t *testing.T) {
	f := wakingFleet(t, true)
	all := startFor(t, f, noon, whole("all", 8)) // n2
	f.nodes[0].emptySince, f.ahead = noon, noon.Add(4*time.Hour)
	if r, ok := f.StartRun(noon, whole("long", 1), RunConfig{Model: "V100", Run: 3 * time.Hour}, 0); !ok || r.Node != "n1" {
		t.Fatalf("the long job starts: %v, on %+v", ok, r)
	}
	f.EndRun(all.End, "all")
	if r := startFor(t, f, all.End, whole("next", 1)); r.Node != "n2" {
		t.Errorf("it is on %s, want n2", r.Node)
	}
}
