package scenarios

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/protocol"
)

// runTimeError is how far, in thousandths, a stated run time may differ from the real one with
// SignalWrongRunTimes: 30 per cent either way, depending on seed and job id.
const runTimeError = 300

// statedRunTime returns the run time that the submitter states for a job. Runs of seconds are
// stated as they are: the protocol knows none below a second.
func statedRunTime(seed uint64, j protocol.Job) time.Duration {
	if j.Run < 10*time.Second {
		return j.Run
	}
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64([]byte("run time\x00"+j.ID), seed)) // hash.Hash never returns an error
	factor := 1000 - runTimeError + int64(h.Sum64()%(2*runTimeError+1))
	return (j.Run * time.Duration(factor) / 1000).Round(time.Millisecond)
}

// A runTimePair is the stated and the real run time of a job, at the reference clock.
type runTimePair struct{ stated, real time.Duration }

// misstateRunTimes returns jobs with wrong run times, and for each job both times. Arrivals and
// deadlines stay: users know when they need a result, and not how long it takes.
func misstateRunTimes(seed uint64, jobs []protocol.Job) ([]protocol.Job, map[protocol.JobID]runTimePair) {
	stated, pairs := slices.Clone(jobs), make(map[protocol.JobID]runTimePair, len(jobs))
	for i, j := range jobs {
		stated[i].Run = statedRunTime(seed, j)
		pairs[j.ID] = runTimePair{stated[i].Run, j.Run}
	}
	return stated, pairs
}

// realRunTime returns how long launches at a site really take: the move of the input as planned,
// and the run in the ratio of the real run time to the stated one.
func realRunTime(site string, pairs map[protocol.JobID]runTimePair) func(protocol.Launch) time.Duration {
	return func(l protocol.Launch) time.Duration {
		p, ok := pairs[l.Job.ID]
		if !ok || p.stated <= 0 {
			return l.Run
		}
		move, _, _ := agents.DefaultNetwork().TransferNeeds(l.Job, site)
		work := float64(l.Run-move) * float64(p.real) / float64(p.stated)
		return move + time.Duration(work).Round(time.Second) // plans are whole seconds, too
	}
}

// realRunTimes returns the real run times of all jobs, for the totals of a run; nil if the stated
// ones are real.
func realRunTimes(pairs map[protocol.JobID]runTimePair) map[protocol.JobID]time.Duration {
	if pairs == nil {
		return nil
	}
	out := make(map[protocol.JobID]time.Duration, len(pairs))
	for id, p := range pairs {
		out[id] = p.real
	}
	return out
}
