package faults

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
)

var (
	seed       = flag.Uint64("seed", 0, "play this seed alone")
	bug        = flag.String("bug", "", "with a bug of this name planted")
	seeds      = flag.Int("seeds", 400, "how many seeds to play")
	preempting = flag.Int("preempting", 60, "how many seeds of plans with preemption to play")
	outages    = flag.Int("outages", 40, "how many seeds of plans with an outage to play")
	dividing   = flag.Int("dividing", 60, "how many seeds of plans with jobs in parts to play")
	serving    = flag.Int("serving", 60, "how many seeds of plans with services to play")
	first      = flag.Uint64("first", 1, "the first of them")
	until      = flag.Duration("for", 0, "stop after so long, however many there are")
)

// Whatever happens to network, disks and processes, nothing is lost and nothing
// runs twice.
func TestNothingIsLostAndNothingTwice(t *testing.T) {
	began := time.Now()
	var sum FaultCounts
	n := 0
	for ; n < *seeds && (*until == 0 || time.Since(began) < *until); n++ {
		s := *first + uint64(n)
		one, err := RunSeed(s, DrawPlan(s))
		if err != nil {
			t.Fatal(err)
		}
		sum.AddCounts(one)
	}
	t.Logf("%d seeds in %v: %+v", n, time.Since(began).Round(time.Millisecond), sum)
	if n >= 100 && (sum.Crashes == 0 || sum.Pauses == 0 || sum.Cuts == 0 || sum.Takeovers <= n || sum.Lost == 0 || sum.Repeated == 0 || sum.Ran < n || sum.Refused == 0 || sum.Preempted == 0) {
		t.Errorf("some faults never happened: %+v", sum)
	}
}

// Nor is anything lost or run twice where jobs have others stopped, and these start anew.
func TestRoomIsMadeUnderFaults(t *testing.T) {
	var sum FaultCounts
	for n := range *preempting {
		s := *first + uint64(n)
		one, err := RunSeed(s, DrawPlanWith(s, Crowded))
		if err != nil {
			t.Fatal(err)
		}
		sum.AddCounts(one)
	}
	t.Logf("%d seeds: %+v", *preempting, sum)
	if *preempting >= 60 && sum.Preempted < *preempting/2 {
		t.Errorf("few runs were stopped to make room: %+v", sum)
	}
}

// A site that hears no coordinator starts its own jobs; nothing of them is lost, none runs twice, and it lends
// no more than its terms say.
func TestOwnJobsRunInAnOutage(t *testing.T) {
	var sum FaultCounts
	for n := range *outages {
		s := *first + uint64(n)
		one, err := RunSeed(s, DrawPlanWith(s, Outage))
		if err != nil {
			t.Fatal(err)
		}
		sum.AddCounts(one)
	}
	t.Logf("%d seeds: %+v", *outages, sum)
	if *outages >= 40 && sum.Alone < *outages {
		t.Errorf("few jobs were started without a coordinator: %+v", sum)
	}
}

// Nor does half of a job run, or any part twice, where jobs have parts at several sites.
func TestPartsStandTogetherUnderFaults(t *testing.T) {
	began := time.Now()
	var sum FaultCounts
	n := 0
	for ; n < *dividing && (*until == 0 || time.Since(began) < *until); n++ {
		s := *first + uint64(n)
		one, err := RunSeed(s, DrawPlanWith(s, Divide))
		if err != nil {
			t.Fatal(err)
		}
		sum.AddCounts(one)
	}
	t.Logf("%d seeds in %v: %+v", n, time.Since(began).Round(time.Millisecond), sum)
	if n >= 60 && (sum.Committed < n || sum.Voided < n/4 || sum.Ran < 2*n) {
		t.Errorf("few jobs stood in parts, or few did not: %+v", sum)
	}
}

// Nor does a part run on alone, or room stay kept, where jobs in parts are stopped for jobs of a higher class.
func TestPartsMakeRoomTogetherUnderFaults(t *testing.T) {
	var sum FaultCounts
	n := (*dividing + 2) / 3
	for i := range n {
		s := *first + uint64(i)
		plan := DrawPlanWith(s, Divide)
		plan.Jobs, plan.Preempting = 10, 400
		one, err := RunSeed(s, plan)
		if err != nil {
			t.Fatal(err)
		}
		sum.AddCounts(one)
	}
	t.Logf("%d seeds: %+v", n, sum)
	if n >= 20 && (sum.Committed < n || sum.Preempted == 0) {
		t.Errorf("few jobs stood in parts, or none made room: %+v", sum)
	}
}

// Nor has a service fewer replicas than its least, or for long more than are wanted, whatever happens in the middle
// of a move; sites that lie about their room change none of that.
func TestServicesStandUnderFaults(t *testing.T) {
	began := time.Now()
	var sum FaultCounts
	n := 0
	for ; n < *serving && (*until == 0 || time.Since(began) < *until); n++ {
		s := *first + uint64(n)
		one, err := RunSeed(s, DrawPlanWith(s, Serve))
		if err != nil {
			t.Fatal(err)
		}
		sum.AddCounts(one)
	}
	t.Logf("%d seeds in %v: %+v", n, time.Since(began).Round(time.Millisecond), sum)
	if n >= 60 && (sum.Services < n || sum.Moves < n/2 || sum.MovesCut < n/10) {
		t.Errorf("few services, or few moves: %+v", sum)
	}
}

// A seed that went wrong, again, with its story.
func TestSeed(t *testing.T) {
	if *seed == 0 {
		t.Skip("no -seed")
	}
	plan := DrawPlanWith(*seed, PlantedBug(*bug))
	sum, err := RunSeed(*seed, plan)
	t.Logf("%+v\n%+v", plan, sum)
	if err != nil {
		t.Error(err)
	}
}

// The oracle finds each planted bug, and the error says how to reproduce it.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, b := range []PlantedBug{NoFencing, SendBeforePersist, ForgetEndedIDs, RunUnconfirmed, ForgetTerms, HalfGang, GangsForgotten, StopAll, PreemptForgotten, AloneUnsaid, OwnForgotten, CommitEarly, ReadyTooSoon, ReplicasForgotten, MovesForgotten, NeverStopped} {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			for s := uint64(1); s <= 2000; s++ {
				_, err := RunSeed(s, DrawPlanWith(s, b))
				var wrong *Violation
				if errors.As(err, &wrong) {
					if len(wrong.Story) < 5 || !strings.Contains(err.Error(), "-seed") {
						t.Errorf("no story: %v", err)
					}
					t.Logf("found by seed %d: %s", s, wrong.What)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			t.Error("not found")
		})
	}
}

func TestASeedIsAlwaysTheSamePlay(t *testing.T) {
	for s := uint64(1); s <= 5; s++ {
		x, err1 := RunSeed(s, DrawPlan(s))
		y, err2 := RunSeed(s, DrawPlan(s))
		if x != y || (err1 == nil) != (err2 == nil) {
			t.Errorf("seed %d: %+v, then %+v", s, x, y)
		}
	}
}
