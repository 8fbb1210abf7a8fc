package capacity

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// By hand: a job of eight GPUs takes n2, as n1 is headroom, and n1 is kept for another such job, for four
// hours: with each start at the site, until there is none for as long as it lingers.
func TestAfterALargeJobThatCannotWaitANodeIsKeptAwake(t *testing.T) {
	f := wakingFleet(t, true)
	if woken := f.WakeAhead(noon, startFor(t, f, noon, whole("large", 8))); !slices.Equal(woken, []string{"n1"}) {
		t.Fatalf("%q are woken, want n1", woken)
	}
	for _, c := range []struct {
		after time.Duration
		want  []string
	}{
		{time.Minute, []string{"n1"}},      // it wakes
		{10 * time.Minute, []string{"n1"}}, // it lingers
		{4 * time.Hour, []string{"n1"}},    // it sleeps again
		{4*time.Hour + time.Second, nil},
	} {
		now := noon.Add(c.after)
		r := startFor(t, f, now, patient("patient", 1))
		if kept := f.WakeAhead(now, r); !slices.Equal(kept, c.want) {
			t.Errorf("after %v: %q are kept awake, want %q", c.after, kept, c.want)
		}
		f.EndRun(now, "patient")
	}
}

// It takes the next large job without a wait, and then another node is kept. Jobs that can wait leave it alone.
func TestTheNodeThatIsKeptAwakeTakesTheNextLargeJob(t *testing.T) {
	f := wakingFleet(t, true)
	f.WakeAhead(noon, startFor(t, f, noon, whole("large", 8)))
	now := noon.Add(5 * time.Minute)
	if r := startFor(t, f, now, patient("patient", 8)); r.Node == "n1" {
		t.Error("a job that can wait is on the kept node")
	}
	next := startFor(t, f, now, whole("next", 8))
	if next.Node != "n1" || next.Start != now {
		t.Errorf("the next large job starts at %v on %s, want at once on n1", next.Start, next.Node)
	}
	if kept := f.WakeAhead(now, next); len(kept) != 1 {
		t.Errorf("%q are kept awake, want the last node", kept)
	}
}

func TestNoNodeIsKeptAwakeForOthers(t *testing.T) {
	for _, c := range []struct {
		what       string
		wakesAhead bool
		job        protocol.Job
	}{
		{"a job that can wait", true, patient("first", 8)},
		{"a job of less than eight GPUs", true, whole("first", 7)},
		{"an executor that wakes none", false, whole("first", 8)},
	} {
		f := wakingFleet(t, c.wakesAhead)
		if kept := f.WakeAhead(noon, startFor(t, f, noon, c.job)); len(kept) > 0 {
			t.Errorf("%s: %q are kept awake", c.what, kept)
		}
	}
}
