package capacity

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/power"

	"github.com/gridbid/gridbid/protocol"
)

func TestKeepTakesTheNodeThatIsBusyLongestAndStillInTime(t *testing.T) {
	f := must(t, box("a", "V100", 2), box("b", "V100", 2), box("c", "V100", 2))
	start(t, f, noon, job("long", 2), 5*time.Hour)
	start(t, f, noon, job("short", 2), time.Hour)
	start(t, f, noon, job("middle", 2), 2*time.Hour)
	for _, c := range []struct {
		name string
		at   protocol.Time
		want protocol.Time
		node string
	}{
		{"no node is free at once", noon, noon.Add(time.Hour), "b"},
		{"two are free by three o'clock", noon.Add(3 * time.Hour), noon.Add(3 * time.Hour), "c"},
	} {
		from, ok := f.ReserveNode(noon, job("gang", 2), "", c.at, time.Hour)
		if at := f.nodes[f.reservedOn["gang"]].Name; !ok || from != c.want || at != c.node {
			t.Errorf("%s: kept %s from %v, %v; want %s from %v", c.name, at, from, ok, c.node, c.want)
		}
	}
	if _, ok := f.ReserveNode(noon, job("impossible", 3), "", noon, time.Hour); ok {
		t.Error("a node is kept for a job that no node holds")
	}
}

func TestJobsThatEndInTimeMayUseAKeptNode(t *testing.T) {
	f := must(t, box("a", "V100", 2))
	if from, ok := f.ReserveNode(noon, job("gang", 2), "V100", noon.Add(time.Hour), time.Hour); !ok || from != noon.Add(time.Hour) {
		t.Fatalf("kept from %v, %v", from, ok)
	}
	small := job("small", 1)
	if _, ok := f.QuotePlacement(noon, small, "V100", time.Hour); !ok {
		t.Error("a job that is done by then finds no room")
	}
	if _, ok := f.QuotePlacement(noon, small, "V100", time.Hour+time.Second); ok {
		t.Error("a job that takes longer is let in")
	}
	if at, ok := f.EarliestStart(noon, small, "V100", noon, 2*time.Hour); !ok || at != noon.Add(2*time.Hour) {
		t.Errorf("the longer job fits at %v, %v; want when the gang has run", at, ok)
	}
	if free := f.CapacityProfiles(noon, time.Hour, 3)[0].Free; free[0] != 2000 || free[1] != 0 || free[2] != 2000 {
		t.Errorf("room %v, want none in the second hour", free)
	}
	again := f.CancelReservation("gang")
	if _, kept := f.ReservedFrom("gang"); kept {
		t.Error("a node is still kept")
	}
	if _, ok := f.QuotePlacement(noon, small, "V100", 9*time.Hour); !ok {
		t.Error("the node is still closed")
	}
	again()
	if from, ok := f.ReservedFrom("gang"); !ok || from != noon.Add(time.Hour) {
		t.Errorf("set aside again from %v, %v", from, ok)
	}
}

func TestSeveralPlacesAreKeptOnOneNodeWhereThereIsRoom(t *testing.T) {
	f := must(t, box("a", "V100", 4))
	two := noon.Add(2 * time.Hour)
	for _, c := range []struct {
		job  protocol.JobID
		gpus int
		want protocol.Time
	}{{"half", 2, two}, {"other-half", 2, two}, {"third", 1, two.Add(time.Hour)}, {"before", 4, noon.Add(time.Hour)}} {
		at := two
		if c.job == "before" {
			at = noon.Add(time.Hour)
		}
		if from, ok := f.ReserveNode(noon, job(c.job, c.gpus), "V100", at, time.Hour); !ok || from != c.want {
			t.Errorf("%s: kept from %v, %v; want %v", c.job, from, ok, c.want)
		}
	}
}

func TestWhoHasNoTimeTakesWhatIsKeptForThoseWhoHave(t *testing.T) {
	f, err := New(Config{Nodes: []Node{box("a", "V100", 2)}, Power: power.DefaultTable(), HeadroomOneIn: 6})
	if err != nil {
		t.Fatal(err)
	}
	patient := job("patient", 2)
	patient.Urgency, patient.Arrival, patient.Deadline = protocol.UrgencyStandard, noon, noon.Add(24*time.Hour)
	f.ReserveNode(noon, patient, "V100", noon.Add(time.Hour), 8*time.Hour)
	pressed := job("pressed", 2)
	pressed.Arrival, pressed.Deadline = noon, noon.Add(4*time.Hour)
	if _, ok := f.StartRun(noon, pressed, RunConfig{Model: "V100", Run: 2 * time.Hour}, 0); !ok {
		t.Error("a job that cannot wait finds no room, for one that can")
	}
	if _, ok := f.ReservedFrom("patient"); ok {
		t.Error("the node is promised to two")
	}
	due := job("due", 2) // resident, say: it can wait, but not until the patient has run
	due.Urgency, due.Arrival, due.Deadline = protocol.UrgencyStandard, noon, noon.Add(6*time.Hour)
	f.ReserveNode(noon, patient, "V100", noon.Add(2*time.Hour), 8*time.Hour)
	if at, ok := f.ReserveNode(noon, due, "V100", noon, 2*time.Hour); !ok || at != noon.Add(2*time.Hour) {
		t.Errorf("kept from %v, %v; want when the node is free", at, ok)
	}
	if _, ok := f.ReservedFrom("patient"); ok {
		t.Error("the node is promised to two")
	}
}

// A job that could wait and has waited for as long as it could has no more time
// than one that never could: its place is not taken.
func TestJobOutOfTimeKeepsItsReservation(t *testing.T) {
	f, err := New(Config{Nodes: []Node{box("a", "V100", 2)}, Power: power.DefaultTable(), HeadroomOneIn: 6})
	if err != nil {
		t.Fatal(err)
	}
	waited := job("waited", 2)
	waited.Urgency, waited.Arrival, waited.Deadline = protocol.UrgencyStandard, noon.Add(-20*time.Hour), noon.Add(time.Hour)
	f.ReserveNode(noon, waited, "V100", noon.Add(time.Hour), 8*time.Hour)
	pressed := job("pressed", 2)
	pressed.Arrival, pressed.Deadline = noon, noon.Add(4*time.Hour)
	if _, ok := f.StartRun(noon, pressed, RunConfig{Model: "V100", Run: 2 * time.Hour}, 0); ok {
		t.Error("a job that cannot wait took the place of one that has no time left")
	}
	if _, ok := f.ReservedFrom("waited"); !ok {
		t.Error("its place is gone")
	}
}

// drawDue draws a job that comes now, and has up to ten hours to spare.
func drawDue(t *rapid.T, i int, now protocol.Time) protocol.Job {
	j := drawJob(t, i)
	j.Urgency, j.Arrival = protocol.StandardOrNow(rapid.Bool().Draw(t, "deferrable")), now
	j.Deadline = now.Add(j.Run + time.Duration(rapid.IntRange(0, 600).Draw(t, "slack"))*time.Minute)
	return j
}

// Whatever is kept, started and ended: what is kept on a node has room there at
// any time, beside all that runs and all else that is kept.
func TestReservationsAlwaysFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(Config{Nodes: drawNodes(t), Power: power.DefaultTable(), HeadroomOneIn: rapid.IntRange(0, 4).Draw(t, "standby")})
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			j := drawDue(t, i, now)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				at := now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "later")) * time.Minute)
				want, wantOK := f.EarliestStart(now, j, "", at, j.Run)
				from, ok := f.ReserveNode(now, j, "", at, j.Run)
				if ok != wantOK || from != want || ok && from < at {
					t.Fatalf("kept from %v, %v; the opening is %v, %v", from, ok, want, wantOK)
				}
			case 1:
				f.CancelReservation(protocol.JobID(fmt.Sprint("job-", rapid.IntRange(0, i).Draw(t, "freed"))))
			default:
				f.StartRun(now, j, RunConfig{Run: j.Run}, 0)
			}
			for n := range f.nodes {
				for _, k := range f.nodes[n].reservations {
					if k.from <= now.Add(time.Second) {
						continue // it is due, and who is there should have ended
					}
					if f.reservedOn[k.job.ID] != n || !f.hasRoomThroughout(now, n, &k.job, k.from, k.until.Sub(k.from), nil) {
						t.Fatalf("there is no room on %s for what is kept for %s", f.nodes[n].Name, k.job.ID)
					}
				}
			}
		}
	})
}

// Jobs that are short of time take the places of those that have more, and never
// in a circle: if each that has lost its place looks for another, all have one
// before long.
func TestReservationsAreNotDisplacedInCircles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(Config{Nodes: []Node{box("a", "V100", 4), box("b", "V100", 2)}, Power: power.DefaultTable()})
		if err != nil {
			t.Fatal(err)
		}
		jobs := make([]protocol.Job, rapid.IntRange(2, 12).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i] = waiting(protocol.JobID(fmt.Sprint("job-", i)), rapid.IntRange(1, 2).Draw(t, "gpus"), time.Duration(rapid.IntRange(0, 8).Draw(t, "slack"))*time.Hour)
			jobs[i].Urgency = protocol.StandardOrNow(rapid.IntRange(0, 3).Draw(t, "kind") > 0)
		}
		for range len(jobs) + 1 {
			lost := 0
			for _, j := range jobs {
				if _, kept := f.ReservedFrom(j.ID); kept {
					continue
				}
				lost++
				if _, ok := f.ReserveNode(noon, j, "", noon.Add(time.Hour), 90*time.Minute); !ok {
					t.Fatalf("no place at all for %s", j.ID)
				}
			}
			if lost == 0 {
				return
			}
		}
		t.Fatal("some job loses its place in every round")
	})
}
