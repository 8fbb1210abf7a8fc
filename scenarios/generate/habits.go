package generate

import (
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Habits say what traces do not: where a job is at home, whether it may wait
// and for how long, whether it may leave home, and what it would have to carry.
type Habits struct {
	Sites      []string       // homes, all as likely; none: jobs have no home
	Deferrable protocol.Milli // of jobs
	Resident   protocol.Milli // of jobs, may run at home only
	Input      protocol.Milli // of jobs, have input data at home
	Pausable   protocol.Milli // of jobs that can be deferred, can be paused
}

// Usual habits. The slack is that of GAIA's two queues: 6 hours for a job under
// 2 hours, 24 hours for a longer one. A job that may not be deferred has an hour
// or its own run again, whichever is longer: its users expect it done in twice
// the time that it takes on the reference GPU, because many GPUs are slower.
const (
	UsualDeferrable protocol.Milli = 800
	UsualResident   protocol.Milli = 50
	UsualInput      protocol.Milli = 200

	short      = 2 * time.Hour
	shortSlack = 6 * time.Hour
	longSlack  = 24 * time.Hour
	hardSlack  = time.Hour
)

// Input data: lognormal, so that a few jobs carry most.
const (
	medianInput = 1024    // MiB
	mostInput   = 1 << 20 // MiB
)

// What pausing takes: a minute to save and a minute to load again, and a
// checkpoint of 8 GiB for each GPU, as the optimiser's state of a model of some
// hundred million parameters needs.
const (
	usualPause  = 2 * time.Minute
	minPausable = 20 * time.Minute // shorter jobs save nothing
	usualState  = 8192             // MiB for each GPU
)

// Fill returns j with home, deferability, deadline, residency and input set.
// Each trait is drawn from the seed and the job's id alone. The deadline is
// arrival, run at the reference clock, and slack.
func (h Habits) Fill(seed uint64, j protocol.Job) protocol.Job {
	id := string(j.ID)
	if len(h.Sites) > 0 {
		j.Home = h.Sites[Dice(seed, id, "home").IntN(len(h.Sites))]
	}
	j.Deferrable = yes(Dice(seed, id, "deferrable"), int64(h.Deferrable))
	slack := max(hardSlack, j.Run)
	switch {
	case j.Deferrable && j.Run < short:
		slack = shortSlack
	case j.Deferrable:
		slack = longSlack
	}
	j.Deadline = j.Arrival.Add(j.Run + slack)
	if j.Home != "" && yes(Dice(seed, id, "residency"), int64(h.Resident)) {
		j.Regions = []string{j.Home}
	}
	if j.Deferrable && j.GPUs > 0 && j.Run >= minPausable && yes(Dice(seed, id, "pause"), int64(h.Pausable)) {
		j.Pause, j.State = usualPause, protocol.MiB(usualState*j.GPUs)
	}
	if d := Dice(seed, id, "input"); j.Home != "" && yes(d, int64(h.Input)) {
		j.Input = protocol.MiB(min(mostInput, math.Round(medianInput*math.Exp(bell(d)))))
	}
	return j
}
