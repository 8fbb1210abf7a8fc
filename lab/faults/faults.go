// Package faults rehearses what networks, disks and machines do to a federation.
//
// It lets the real machines live (market, agents, hands) in simulated time over
// a network that loses, delays, repeats and reorders, on disks that keep what
// was written and no more. Parties are killed at any step, also between writing
// a fact and saying what followed from it; paused, as a stopped process is; cut
// off; given clocks that go wrong. Two coordinators share one stream and one
// lease. All of it follows from a seed, so a play that goes wrong can be seen
// again.
//
// An [Oracle] watches. It knows nothing of how the machines work, only what
// must be true at each step: see there.
package faults

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A PlantedBug is a fault of our own, planted to see that it is found.
type PlantedBug string

// Bugs.
const (
	NoBug             PlantedBug = ""
	NoFencing         PlantedBug = "no-fencing"           // hands run what they are told, whatever the epoch
	SendBeforePersist PlantedBug = "say-before-writing"   // facts are written after what followed from them was sent
	ForgetEndedIDs    PlantedBug = "no-dedupe"            // the market forgets a job as soon as it has ended
	RunUnconfirmed    PlantedBug = "start-before-confirm" // a site starts what it accepted, heard or not
)

// A FaultPlan is how bad things get. Rates are in thousandths.
type FaultPlan struct {
	Sites, Jobs   int
	LossRate      int           // of messages
	DuplicateRate int           // of messages
	MaxDelay      time.Duration // the longest that a message takes, as a rule
	CrashRate     int           // of steps
	Skew          time.Duration // the farthest that a clock is off
	FaultPeriod   time.Duration // for how long: then faults stop, and everybody is up
	Cancel        int           // of jobs
	Bug           PlantedBug
}

// DrawPlan returns a plan by a seed. Some are calm in one respect, so that one kind
// of fault does not hide another.
func DrawPlan(seed uint64) FaultPlan {
	dice := rand.New(rand.NewPCG(seed, 1))
	rate := func(most int) int {
		if dice.IntN(3) == 0 {
			return 0
		}
		return dice.IntN(most + 1)
	}
	return FaultPlan{
		Sites: 1 + dice.IntN(3), Jobs: 1 + dice.IntN(8),
		LossRate: rate(300), DuplicateRate: rate(300), MaxDelay: time.Duration(1+rate(3000)) * time.Millisecond, CrashRate: rate(40),
		Skew: time.Duration(rate(4000)) * time.Millisecond, FaultPeriod: time.Duration(30+dice.IntN(120)) * time.Second, Cancel: rate(300),
	}
}

// calmPeriod is how long after the end of all trouble everything has to be over. A
// word is said again after a minute at most, a job that nobody had room for is
// called again with all others each hour, and what nobody can run is refused some
// time after its deadline.
const calmPeriod = 3 * time.Hour

// startTime is when plays begin.
const startTime protocol.Time = 1_773_187_200_000 // 2026-03-11T00:00:00Z

// A Violation is a broken promise: what was broken, when, and the story that led to
// it.
type Violation struct {
	Seed  uint64
	Bug   PlantedBug
	At    protocol.Time
	What  string
	Story []string
}

// Error tells how to see it again.
func (w *Violation) Error() string {
	s := fmt.Sprintf("faults: seed %d: at %s: %s\n  see it again: go test ./lab/faults -run TestSeed -seed %d", w.Seed, sinceStart(w.At), w.What, w.Seed)
	if w.Bug != NoBug {
		s += fmt.Sprintf(" -bug %s", w.Bug)
	}
	for _, line := range w.Story {
		s += "\n    " + line
	}
	return s
}

func sinceStart(t protocol.Time) string { return fmt.Sprintf("%8.3fs", t.Sub(startTime).Seconds()) }

// RunSeed plays one seed. A broken promise is a *Wrong, with its story.
func RunSeed(seed uint64, plan FaultPlan) (FaultCounts, error) {
	p, err := newFaultRun(seed, plan, false)
	if err != nil {
		return FaultCounts{}, err
	}
	if wrong := p.runToEnd(); wrong != nil {
		again, err := newFaultRun(seed, plan, true)
		if err != nil {
			return p.sum, err
		}
		if told := again.runToEnd(); told != nil {
			wrong = told
		}
		wrong.Seed, wrong.Bug = seed, plan.Bug
		return p.sum, wrong
	}
	return p.sum, nil
}

// A FaultCounts counts what happened in plays.
type FaultCounts struct {
	Steps, Messages, Lost, Repeated, Crashes, Pauses, Cuts, Takeovers, Jobs, Ran, Refused int
}

// AddCounts adds what happened in another play.
func (s *FaultCounts) AddCounts(t FaultCounts) {
	for _, v := range []struct {
		to *int
		n  int
	}{
		{&s.Steps, t.Steps}, {&s.Messages, t.Messages}, {&s.Lost, t.Lost}, {&s.Repeated, t.Repeated}, {&s.Crashes, t.Crashes},
		{&s.Pauses, t.Pauses}, {&s.Cuts, t.Cuts}, {&s.Takeovers, t.Takeovers}, {&s.Jobs, t.Jobs}, {&s.Ran, t.Ran}, {&s.Refused, t.Refused},
	} {
		*v.to += v.n
	}
}
