// Package faults tests a federation under faults of networks, disks and machines.
//
// It runs the real state machines (market, agents, executors) in simulated time over
// a network that loses, delays, repeats and reorders messages, with disks that keep
// only what was written. Processes are killed at any step, also between writing an
// event and sending the messages that follow from it; they are paused, disconnected
// and given wrong clocks. Two coordinators share one stream and one lease. Everything
// follows from a seed, so a failing run can be repeated.
//
// A [faultOracle] checks the run independently. It does not know how the machines work,
// only what must hold at each step.
package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A PlantedBug is a planted defect, which the oracle must find.
type PlantedBug string

// Planted bugs.
const (
	NoBug             PlantedBug = ""
	NoFencing         PlantedBug = "no-fencing"           // executors run every launch, whatever its epoch
	SendBeforePersist PlantedBug = "say-before-writing"   // events are written after the messages that follow from them were sent
	ForgetEndedIDs    PlantedBug = "no-dedupe"            // the market forgets a job as soon as it has ended
	RunUnconfirmed    PlantedBug = "start-before-confirm" // a site starts a job before its Accept is confirmed
	ForgetTerms       PlantedBug = "terms-forgotten"      // a restarted agent has no terms
	HalfGang          PlantedBug = "half-a-gang"          // executors start the pods of a gang on its first node alone
	StopAll           PlantedBug = "stops-all"            // a site would stop all runs that it may, and not only those in the way
	PreemptForgotten  PlantedBug = "preempt-forgotten"    // a restarted agent takes a run that it was to stop for one that ended
	GangsForgotten    PlantedBug = "gangs-forgotten"      // a restarted agent does not know on which nodes a gang runs
	CommitEarly       PlantedBug = "commit-early"         // the market takes all parts of a job as accepted once one is
)

// A FaultPlan sets the intensity of faults. Rates are in thousandths.
type FaultPlan struct {
	Sites, Jobs       int
	LossRate          int           // of messages
	DuplicateRate     int           // of messages
	MaxDelay          time.Duration // the longest normal delay of a message
	Slow              time.Duration // messages within a site take at least half of that and at most that, others half as long, also after the faults; 0: milliseconds
	CrashRate         int           // rate of process crashes, of steps
	Skew              time.Duration // the largest clock error
	FaultPeriod       time.Duration // duration of faults; afterwards all processes are up
	Cancel            int           // rate of cancelled jobs
	Gangs             int           // rate of jobs of several pods
	Divided           int           // rate of jobs in parts, which may go to different sites
	Nodes             int           // of each site; 0: as drawn
	Sleep             bool          // nodes sleep when they are empty for ten minutes, and take 200 s to wake
	Preempting        int           // rate of jobs of a class that may preempt; others run for long then
	Quotas            bool          // of a plan with preemption: one tenant is guaranteed GPUs
	MostGPUsForOthers int           // GPUs that a site lends to jobs that are not of its own tenant; 0: all
	Own               int           // jobs that the queue of each site submits; with any, sites start them by themselves when they hear no coordinator
	Outage            time.Duration // of a plan with such jobs: how long none is heard
	CutOff            bool          // one site is cut off then; else the coordinators are off
	MostSites         int           // sites that are asked for one job; 0: all
	Services          int           // beside jobs
	FirstLoad         int           // of the services, counted from 0, every third from this one on has a load
	Lie               bool          // sites bid for more replicas than they have room for, and twice
	Bug               PlantedBug
}

// DrawPlan returns a plan for a seed. Some kinds of faults are left out at random, so
// that one kind does not hide another.
func DrawPlan(seed uint64) FaultPlan {
	dice := rand.New(rand.NewPCG(seed, 1))
	rate := func(most int) int {
		if dice.IntN(3) == 0 {
			return 0
		}
		return dice.IntN(most + 1)
	}
	plan := FaultPlan{
		Sites: 1 + dice.IntN(3), Jobs: 1 + dice.IntN(8),
		LossRate: rate(300), DuplicateRate: rate(300), MaxDelay: time.Duration(1+rate(3000)) * time.Millisecond, CrashRate: rate(40),
		Skew: time.Duration(rate(4000)) * time.Millisecond, FaultPeriod: time.Duration(30+dice.IntN(120)) * time.Second, Cancel: rate(300),
		MostGPUsForOthers: rate(3), Gangs: rate(600), Preempting: rate(600), Quotas: dice.IntN(2) == 0,
	}
	if dice.IntN(4) == 0 {
		plan.MostSites = 1
	}
	return plan
}

// Crowded plants no bug, but in its plans many jobs need room.
const Crowded PlantedBug = "crowded"

// DrawPlanWith returns a plan for a seed with a bug planted. One that shows only where many jobs need room and
// nothing hides what runs gets such plans.
func DrawPlanWith(seed uint64, b PlantedBug) FaultPlan {
	plan := DrawPlan(seed)
	plan.Bug = b
	if b == Crowded || b == StopAll {
		plan.Sites, plan.Jobs, plan.Preempting = min(plan.Sites, 2), 12, 400
	}
	if b == Outage || b == AloneUnsaid || b == OwnForgotten {
		plan.drawOutage(seed)
	}
	if b == Divide || b == CommitEarly {
		plan.divideJobs(seed)
	}
	if slices.Contains([]PlantedBug{Serve, ReadyTooSoon, ReplicasForgotten, MovesForgotten, NeverStopped}, b) {
		plan.serveReplicas(seed)
	}
	if b == StopAll || b == Crowded && seed%3 == 0 {
		plan.LossRate, plan.CrashRate, plan.Skew, plan.Gangs = 0, 0, 0, 0
	}
	return plan
}

// calmPeriod is the time after the end of faults within which all jobs must have ended.
// Messages are retransmitted after a minute at most, a job without a place is called
// again each hour, and a job that no site can run is rejected some time after its
// deadline.
const calmPeriod = 3 * time.Hour

// startTime is the simulated time at which runs begin.
const startTime protocol.Time = 1_773_187_200_000 // 2026-03-11T00:00:00Z

// A Violation is a violated invariant: what was violated, when, and the events that led
// to it.
type Violation struct {
	Seed  uint64
	Bug   PlantedBug
	At    protocol.Time
	What  string
	Story []string
}

// Error describes the violation and how to reproduce it.
func (w *Violation) Error() string {
	s := fmt.Sprintf("faults: seed %d: at %s: %s\n  reproduce: go test ./lab/faults -run TestSeed -seed %d", w.Seed, sinceStart(w.At), w.What, w.Seed)
	if w.Bug != NoBug {
		s += fmt.Sprintf(" -bug %s", w.Bug)
	}
	for _, line := range w.Story {
		s += "\n    " + line
	}
	return s
}

// sinceStart formats a time relative to the start of the run.
func sinceStart(t protocol.Time) string { return fmt.Sprintf("%8.3fs", t.Sub(startTime).Seconds()) }

// RunSeed runs one seed. A violated invariant is returned as a *Violation. The run is
// repeated with recording on to get its events.
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

// A FaultCounts counts what happened in runs.
type FaultCounts struct {
	Steps, Messages, Lost, Repeated, Crashes, Pauses, Cuts, Takeovers, Jobs, Ran, Refused, Preempted, Alone, Committed, Voided, Services, Moves, MovesCut, Missed, Silent int
}

// AddCounts adds the counts of another run.
func (s *FaultCounts) AddCounts(t FaultCounts) {
	for _, v := range []struct {
		to *int
		n  int
	}{
		{&s.Steps, t.Steps}, {&s.Messages, t.Messages}, {&s.Lost, t.Lost}, {&s.Repeated, t.Repeated}, {&s.Crashes, t.Crashes},
		{&s.Pauses, t.Pauses}, {&s.Cuts, t.Cuts}, {&s.Takeovers, t.Takeovers}, {&s.Jobs, t.Jobs}, {&s.Ran, t.Ran}, {&s.Refused, t.Refused}, {&s.Preempted, t.Preempted}, {&s.Alone, t.Alone},
		{&s.Committed, t.Committed}, {&s.Voided, t.Voided}, {&s.Services, t.Services}, {&s.Moves, t.Moves}, {&s.MovesCut, t.MovesCut}, {&s.Missed, t.Missed}, {&s.Silent, t.Silent},
	} {
		*v.to += v.n
	}
}
