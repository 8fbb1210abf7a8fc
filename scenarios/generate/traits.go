package generate

import (
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// TraitRates are the distributions of job traits that traces do not record: the home
// site, whether and how long a job may be deferred, whether it may leave home, and
// its input data.
type TraitRates struct {
	Sites      []string       // candidate homes, equally likely; empty: jobs have no home
	Deferrable protocol.Milli // share of all jobs that may wait; the others are wanted now
	Flexible   protocol.Milli // share of the deferrable jobs that are flexible; the others are standard
	Resident   protocol.Milli // share of all jobs that may run at home only
	Input      protocol.Milli // share of all jobs that have input data at home
	Pausable   protocol.Milli // share of the deferrable jobs that can be paused
}

// Defaults of TraitRates. The slack is that of GAIA's two queues: 6 hours for a job under
// 2 hours, 24 hours for a longer one. A job that is not deferrable has a slack of one
// hour or of its own run, whichever is longer: its users expect it within twice its
// time on the reference GPU, because many GPUs are slower.
const (
	DefaultDeferrable protocol.Milli = 800
	DefaultResident   protocol.Milli = 50
	DefaultInput      protocol.Milli = 200

	shortRunLimit = 2 * time.Hour
	shortSlack    = 6 * time.Hour
	longSlack     = 24 * time.Hour
	hardSlack     = time.Hour
)

// Input data is lognormal, so that a few jobs carry most of it.
const (
	medianInput = 1024    // MiB
	maxInput    = 1 << 20 // MiB
)

// Costs of a pause: one minute to save and one to load, and a checkpoint of 8 GiB for
// each GPU, about the optimizer state of a model with some hundred million
// parameters.
const (
	defaultPause     = 2 * time.Minute
	minPausable      = 20 * time.Minute // a pause of a shorter job would save too little
	defaultStateSize = 8192             // MiB for each GPU
)

// PauseOf returns what a pause of a job of some GPUs costs, and the size of its checkpoint.
func PauseOf(gpus int) (pause time.Duration, state protocol.MiB) {
	return defaultPause, defaultStateSize * protocol.MiB(gpus)
}

// Given says which traits that others depend on a job has already.
type Given struct{ Home, Urgency bool }

// AssignTraits returns j with home, deferability, deadline, residency, pausability and input
// set. Each trait depends on the seed, the job's id and what is given alone. The deadline is arrival
// plus run at the reference clock plus slack.
func (h TraitRates) AssignTraits(seed uint64, j protocol.Job, given Given) protocol.Job {
	id := string(j.ID)
	if len(h.Sites) > 0 && !given.Home {
		j.Home = h.Sites[SeededRand(seed, id, "home").IntN(len(h.Sites))]
	}
	if !given.Urgency {
		j.Urgency = protocol.StandardOrNow(drawWithProbability(SeededRand(seed, id, "deferrable"), int64(h.Deferrable)))
		if j.MayWait() && drawWithProbability(SeededRand(seed, id, "flexible"), int64(h.Flexible)) {
			j.Urgency = protocol.UrgencyFlexible
		}
	}
	slack := max(hardSlack, j.Run)
	switch {
	case j.MayWait() && j.Run < shortRunLimit:
		slack = shortSlack
	case j.MayWait():
		slack = longSlack
	}
	j.Deadline = j.Arrival.Add(j.Run + slack)
	if j.Home != "" && drawWithProbability(SeededRand(seed, id, "residency"), int64(h.Resident)) {
		j.Regions = []string{j.Home}
	}
	if j.MayWait() && j.GPUs > 0 && j.Run >= minPausable && drawWithProbability(SeededRand(seed, id, "pause"), int64(h.Pausable)) {
		j.Pause, j.State = PauseOf(j.GPUs)
	}
	if d := SeededRand(seed, id, "input"); j.Home != "" && drawWithProbability(d, int64(h.Input)) {
		j.Input = protocol.MiB(min(maxInput, math.Round(medianInput*math.Exp(drawNormal(d)))))
	}
	return j
}
