package timeline_test

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

// countedOneByOne counts the jobs of a history by state.
func countedOneByOne(h *history.History, at protocol.Time) map[history.State]int {
	counts := make(map[history.State]int)
	for r := range h.AllInstances() {
		counts[h.JobStateAt(r, at).State]++
	}
	return counts
}

// At a hundred instants page and history count the jobs of each state alike, and what the sites
// have adds up to what all have.
func TestStatesAreCountedAlikeAtEachInstant(t *testing.T) {
	day := historytest.GenerateDay(60, 7*time.Minute)
	d, h := read(day), history.New(history.Config{})
	for _, m := range day {
		h.AddMessage(m)
	}
	first, last := d.TimeSpan()
	for i := range protocol.Time(100) {
		at := first + (last-first)*i/99
		now, want := d.InstantAt(at), countedOneByOne(h, at)
		got := map[history.State]int{
			history.Pending: now.Pending, history.Planned: now.Planned, history.Running: now.Running, history.Preempted: now.Preempted,
			history.Done: now.Done, history.Failed: now.Failed, history.Cancelled: now.Cancelled, history.Refused: now.Refused,
		}
		for _, s := range history.AllStates() {
			if got[s] != want[s] {
				t.Fatalf("at %s: %d jobs %s; the history has %d", at, got[s], s, want[s])
			}
		}
		var running, planned, queued int
		for _, s := range now.Sites {
			running, planned = running+s.Running, planned+s.Planned
		}
		for _, q := range h.SiteQueuesAt(at) {
			queued += len(q)
		}
		if running != now.Running || planned != now.Planned || queued < planned || queued > planned+now.Preempted {
			t.Fatalf("at %s: sites have %d running and %d planned, queues %d; all have %d and %d", at, running, planned, queued, now.Running, now.Planned)
		}
	}
}
