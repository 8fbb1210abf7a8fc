package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A run of two GPUs ends at oslo: of the jobs that lack room on these GPUs the two that go first are
// called at once, others wait for the full round, and a gang, for which a node may be free now, is
// called too, but not at each end.
func TestARunThatEndsCallsTheJobsThatLackItsRoom(t *testing.T) {
	here, elsewhere := auction.Pool{Site: "oslo", Model: "V100"}, auction.Pool{Site: "oslo", Model: "A100"}
	k := New(Config{}, &soonest{})
	full := noon.Add(9 * time.Minute)
	hold := func(id protocol.JobID, gpus, priority int, after time.Duration, by auction.Pool) *lot {
		l := &lot{job: protocol.Job{ID: id, GPUs: gpus, Share: 1000, Priority: priority, Arrival: noon.Add(after)}}
		k.lots[id], k.replan = l, full
		k.deferLot(noon, l, auction.Decision{Site: "oslo", Until: full, HeldBy: by, Option: protocol.BidOption{Start: full}})
		return l
	}
	second := hold("second", 1, 0, time.Second, here)
	third := hold("third", 1, 0, 2*time.Second, here)
	urgent := hold("urgent", 1, 5, 3*time.Second, here)
	gang := hold("gang", 8, 0, 0, here)
	other := hold("other", 1, 0, 0, elsewhere)
	cheaper := hold("cheaper", 1, 0, 0, auction.Pool{})
	soon := noon.Add(k.cfg.Gather)
	check := func(when string, l *lot, called bool) {
		t.Helper()
		if got := l.due == soon; got != called {
			t.Errorf("%s, %s is due at %v; called at once: want %v", when, l.job.ID, l.due, called)
		}
	}
	k.wakeForRoom(noon, here, 2000)
	for l, called := range map[*lot]bool{urgent: true, second: true, third: false, gang: true, other: false, cheaper: false} {
		check("after a run of two GPUs", l, called)
	}
	gang.due = full // it was called, and found no node
	k.wakeForRoom(noon, here, 1000)
	check("after a second run", gang, false)
	k.wakeWaiting(noon) // an operator ended a drain
	for _, l := range []*lot{third, gang, other} {
		check("after a drain", l, true)
	}
	check("after a drain", cheaper, false)
	if k.timers.nextDue(k.lots) != soon {
		t.Errorf("the market is due at %v; want %v", k.timers.nextDue(k.lots), soon)
	}
}
