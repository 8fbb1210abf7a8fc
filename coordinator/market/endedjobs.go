package market

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// MaxWholeEndedJobs is how many ended jobs the market keeps whole, to tell their queues how they
// ended. Of older ones it keeps an endedJob; all else of them is in the event log and the archive.
const MaxWholeEndedJobs = 10_000

// endedLot is the id of an ended lot, and when it ended.
type endedLot struct {
	at protocol.Time
	id protocol.JobID
}

// An endedJob is what is left of a job that ended long ago, so that its id is not run twice: the
// digest of its submission, and its last epoch.
type endedJob struct{ digest, epoch uint64 }

// endLot closes a lot, reduces the oldest whole one to an endedJob, and forgets lots that ended
// long ago.
func (k *Market) endLot(now protocol.Time, l *lot) {
	l.state = ended
	k.endedLots = append(k.endedLots, endedLot{now, l.job.ID})
	if i := len(k.endedLots) - 1 - MaxWholeEndedJobs; i >= 0 {
		id := k.endedLots[i].id
		if l := k.lots[id]; l != nil {
			k.endedJobs[id] = endedJob{protocol.Submit{Job: l.submitted, Task: l.task}.Digest(), l.epoch}
			delete(k.lots, id)
		}
	}
	k.forgetOldLots(now)
}

// knownLot returns the lot of an id, or nil. For a job that ended long ago it is made anew, of what
// is left.
func (k *Market) knownLot(id protocol.JobID) *lot {
	if l := k.lots[id]; l != nil {
		return l
	}
	if e, ok := k.endedJobs[id]; ok {
		return &lot{job: protocol.Job{ID: id}, state: ended, epoch: e.epoch, submissionDigest: e.digest}
	}
	return nil
}

// forgetOldLots forgets lots that ended more than Config.Remember ago. That is safe: a job that
// arrived as long ago is rejected, so no job runs twice because its id was forgotten. A new job
// may use the id. Sites remember the epochs of the former job, so the epochs of the next one start
// above maxForgottenEpoch.
func (k *Market) forgetOldLots(now protocol.Time) {
	if len(k.endedLots) > 0 && k.endedLots[0].at > now { // a former leader's clock was ahead: count from now
		for i := range k.endedLots {
			k.endedLots[i].at = min(k.endedLots[i].at, now)
		}
	}
	for len(k.endedLots) > 0 && k.endedLots[0].at < now.Add(-k.cfg.Remember) {
		id := k.endedLots[0].id
		k.maxForgottenEpoch = max(k.maxForgottenEpoch, k.knownLot(id).epoch)
		delete(k.lots, id)
		delete(k.endedJobs, id)
		k.endedLots = k.endedLots[1:]
	}
}

// forgetLot removes an ended lot whose id a later job uses.
func (k *Market) forgetLot(id protocol.JobID) {
	k.endedLots = slices.DeleteFunc(k.endedLots, func(g endedLot) bool { return g.id == id })
	delete(k.lots, id)
	delete(k.endedJobs, id)
}
