package capacity

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// waiting is a job that can wait, with hours of slack.
func waiting(id protocol.JobID, gpus int, slack time.Duration) protocol.Job {
	j := job(id, gpus)
	j.Urgency, j.Arrival, j.Deadline = protocol.UrgencyStandard, noon, noon.Add(j.Run+slack)
	return j
}

func standing(t *testing.T) *Fleet {
	t.Helper()
	f, err := New(Config{Nodes: []Node{box("a", "V100", 4), box("b", "V100", 4), box("c", "V100", 2)}, Power: power.DefaultTable(), HeadroomOneIn: 2})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOneLargeNodeIsForJobsThatCannotWait(t *testing.T) {
	f := standing(t)
	start(t, f, noon, waiting("first", 4, 6*time.Hour), time.Hour)
	if _, ok := f.QuotePlacement(noon, waiting("second", 4, 6*time.Hour), "V100", time.Hour); ok {
		t.Error("the second node is given to a job that can wait")
	}
	if at, ok := f.EarliestStart(noon, waiting("second", 4, 6*time.Hour), "V100", noon, time.Hour); !ok || at != noon.Add(time.Hour) {
		t.Errorf("it is offered room at %v, %v; want when the first has ended", at, ok)
	}
	room := f.CapacityProfiles(noon, time.Hour, 2)[0]
	if room.Free[0] != 6000 || room.ForDeferrable[0] != 2000 {
		t.Errorf("free %v, open to jobs that can wait %v; want 6 and 2 GPUs now", room.Free, room.ForDeferrable)
	}
	if _, ok := f.QuotePlacement(noon, job("gang", 4), "V100", time.Hour); !ok {
		t.Error("a job that cannot wait finds no room")
	}
}

func TestStandbyOpensToAJobThatHasNoTimeLeft(t *testing.T) {
	f := standing(t)
	start(t, f, noon, waiting("first", 4, 40*time.Hour), 40*time.Hour)
	j := waiting("second", 4, 6*time.Hour)
	latest := LatestStart(j, time.Hour)
	if want := noon.Add(6*time.Hour - 90*time.Minute); latest != want {
		t.Fatalf("latest %v, want %v", latest, want)
	}
	if at, ok := f.EarliestStart(noon, j, "V100", noon, time.Hour); !ok || at != latest {
		t.Errorf("it is offered room at %v, %v; want %v", at, ok, latest)
	}
	if _, ok := f.StartRun(latest, j, RunConfig{Model: "V100", Run: time.Hour}, 0); !ok {
		t.Error("it does not start")
	}
}

func TestStandbyIsOnANodeThatIsLeftFirst(t *testing.T) {
	f := standing(t)
	long := start(t, f, noon, waiting("long", 4, 40*time.Hour), 9*time.Hour)
	name := func() string { return f.nodes[f.headroomNodes()[0]].Name }
	if name() == long.Node {
		t.Fatal("the node on standby is given to a job that can wait")
	}
	start(t, f, noon, job("gang", 4), time.Hour) // onto it
	if name() != long.Node {
		t.Errorf("standby is %s, want the next, since a job of several GPUs took the first", name())
	}
}

func TestSmallJobsThatCannotWaitLeaveStandbyToLargeOnes(t *testing.T) {
	f := standing(t)
	for _, id := range []protocol.JobID{"a", "b", "c"} {
		if r := start(t, f, noon, job(id, 1), time.Hour); r.Node == f.nodes[f.headroomNodes()[0]].Name {
			t.Errorf("%s runs on the node on standby", id)
		}
	}
}

// A job of several GPUs that may run here alone has what is on standby, though it
// could wait; one that may go elsewhere has not.
func TestJobTiedToOneSiteMayUseHeadroom(t *testing.T) {
	for _, c := range []struct {
		regions []string
		want    bool
	}{{[]string{"oslo"}, true}, {[]string{"bern", "oslo"}, false}, {nil, false}} {
		f, err := New(Config{Nodes: []Node{box("a", "V100", 8)}, Power: power.DefaultTable(), HeadroomOneIn: 1})
		if err != nil {
			t.Fatal(err)
		}
		j := job("gang", 8)
		j.Urgency, j.Arrival, j.Deadline, j.Regions = protocol.UrgencyStandard, noon, noon.Add(24*time.Hour), c.regions
		if _, ok := f.StartRun(noon, j, RunConfig{Model: "V100", Run: 2 * time.Hour}, 0); ok != c.want {
			t.Errorf("regions %v: started %v", c.regions, ok)
		}
	}
}
