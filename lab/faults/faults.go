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

// A Bug is a fault of our own, planted to see that it is found.
type Bug string

// Bugs.
const (
	None        Bug = ""
	NoFencing   Bug = "no-fencing"           // hands run what they are told, whatever the epoch
	SayFirst    Bug = "say-before-writing"   // facts are written after what followed from them was sent
	ForgetIDs   Bug = "no-dedupe"            // the market forgets a job as soon as it has ended
	Unconfirmed Bug = "start-before-confirm" // a site starts what it accepted, heard or not
)

// A Plan is how bad things get. Rates are in thousandths.
type Plan struct {
	Sites, Jobs int
	Lose        int           // of messages
	Repeat      int           // of messages
	Slow        time.Duration // the longest that a message takes, as a rule
	Crash       int           // of steps
	Skew        time.Duration // the farthest that a clock is off
	Trouble     time.Duration // for how long: then faults stop, and everybody is up
	Cancel      int           // of jobs
	Bug         Bug
}

// Draw returns a plan by a seed. Some are calm in one respect, so that one kind
// of fault does not hide another.
func Draw(seed uint64) Plan {
	dice := rand.New(rand.NewPCG(seed, 1))
	rate := func(most int) int {
		if dice.IntN(3) == 0 {
			return 0
		}
		return dice.IntN(most + 1)
	}
	return Plan{
		Sites: 1 + dice.IntN(3), Jobs: 1 + dice.IntN(8),
		Lose: rate(300), Repeat: rate(300), Slow: time.Duration(1+rate(3000)) * time.Millisecond, Crash: rate(40),
		Skew: time.Duration(rate(4000)) * time.Millisecond, Trouble: time.Duration(30+dice.IntN(120)) * time.Second, Cancel: rate(300),
	}
}

// calm is how long after the end of all trouble everything has to be over. A
// word is said again after a minute at most, a job that nobody had room for is
// called again with all others each hour, and what nobody can run is refused some
// time after its deadline.
const calm = 3 * time.Hour

// start is when plays begin.
const start protocol.Time = 1_773_187_200_000 // 2026-03-11T00:00:00Z

// A Wrong is a broken promise: what was broken, when, and the story that led to
// it.
type Wrong struct {
	Seed  uint64
	Bug   Bug
	At    protocol.Time
	What  string
	Story []string
}

// Error tells how to see it again.
func (w *Wrong) Error() string {
	s := fmt.Sprintf("faults: seed %d: at %s: %s\n  see it again: go test ./lab/faults -run TestSeed -seed %d", w.Seed, since(w.At), w.What, w.Seed)
	if w.Bug != None {
		s += fmt.Sprintf(" -bug %s", w.Bug)
	}
	for _, line := range w.Story {
		s += "\n    " + line
	}
	return s
}

func since(t protocol.Time) string { return fmt.Sprintf("%8.3fs", t.Sub(start).Seconds()) }

// Play plays one seed. A broken promise is a *Wrong, with its story.
func Play(seed uint64, plan Plan) (Sum, error) {
	p, err := newPlay(seed, plan, false)
	if err != nil {
		return Sum{}, err
	}
	if wrong := p.run(); wrong != nil {
		again, err := newPlay(seed, plan, true)
		if err != nil {
			return p.sum, err
		}
		if told := again.run(); told != nil {
			wrong = told
		}
		wrong.Seed, wrong.Bug = seed, plan.Bug
		return p.sum, wrong
	}
	return p.sum, nil
}

// A Sum counts what happened in plays.
type Sum struct {
	Steps, Messages, Lost, Repeated, Crashes, Pauses, Cuts, Takeovers, Jobs, Ran, Refused int
}

// Add adds what happened in another play.
func (s *Sum) Add(t Sum) {
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
