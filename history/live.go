package history

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// Bounds of what a live view (Config.Live) keeps of what is over. With them its memory
// does not grow with the age of the market; jobs that are open are all there.
const (
	KeptEnded  = 10_000 // jobs, the newest to end
	KeptRounds = 1_000  // rounds, the newest
	keptAwards = 4      // awards of one job, the newest
)

// AddStep reads one step of a live coordinator: the messages that it received, and those that
// it sent because of them. A submission counts only if the coordinator accepted it in this
// step; one with the id of another job, or of a sender that may not submit, begins no job.
func (b *History) AddStep(input, sent []protocol.Message) {
	var accepted map[submission]bool
	for _, m := range input {
		if s, ok := m.Body.(protocol.Submit); ok {
			if accepted == nil {
				accepted = acceptedSubmissions(sent)
			}
			if !accepted[submission{m.From, s.Job.ID}] {
				continue
			}
		}
		b.AddMessage(m)
	}
	for _, m := range sent {
		b.AddMessage(m)
	}
}

// A submission is a job that a party submitted.
type submission struct {
	from protocol.Party
	job  protocol.JobID
}

// acceptedSubmissions returns the jobs of which the coordinator answered that they are on record: it
// acknowledged them, or rejected them as impossible to run. A duplicate is on record already.
func acceptedSubmissions(sent []protocol.Message) map[submission]bool {
	all := make(map[submission]bool)
	for _, m := range sent {
		switch body := m.Body.(type) {
		case protocol.Confirm:
			if body.Code == protocol.Acknowledged {
				all[submission{m.To, body.Job}] = true
			}
		case protocol.Reject:
			if body.Why.Code != protocol.Duplicate {
				all[submission{m.To, body.Job}] = true
			}
		}
	}
	return all
}

// foldLiveSubmit begins a job at once, as the coordinator accepted it (AddStep). It may take
// the id of a job that is over, which is forgotten.
func (b *History) foldLiveSubmit(from MessageRef, s protocol.Submit) {
	id := s.Job.ID
	if was := b.jobs[id]; was != nil {
		if !was.rec.IsOver() {
			b.repeats++
			return
		}
		b.ended = slices.DeleteFunc(b.ended, func(x protocol.JobID) bool { return x == id })
	}
	e := &jobEntry{rec: newJobRecord(from, s.Job)}
	e.rec.Digest, e.rec.live = s.Digest(), true
	b.beginJob(id, e)
}

// forgetJobs notes that a job is over, drops what a live view does not show of it, and
// forgets the job that has been over for longest if more than KeptEnded are.
func (b *History) forgetJobs(id protocol.JobID) {
	if !b.cfg.Live {
		return
	}
	r := &b.jobs[id].rec // which keeps what is shown of it
	if n := len(r.Awards); n > 1 {
		r.Awards = slices.Clone(r.Awards[n-1:])
	}
	r.Lost, r.Parts = nil, nil
	b.ended = append(b.ended, b.endedWith(r)...)
	for len(b.ended) > KeptEnded {
		b.forgetEnded(b.ended[0])
		b.ended = b.ended[1:]
	}
}

// forgetRounds drops the oldest tenth of the rounds once there are more than KeptRounds: a
// tenth at a time, so that the rest is not moved at every call.
func (b *History) forgetRounds() {
	if !b.cfg.Live || len(b.rounds) <= KeptRounds {
		return
	}
	for _, c := range b.rounds[:KeptRounds/10] {
		delete(b.calls, c.round)
	}
	b.rounds = append(b.rounds[:0], b.rounds[KeptRounds/10:]...)
}
