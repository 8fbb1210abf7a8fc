package faults

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A submitter submits each job when it arrives, and again until it is told that
// it was taken; then now and then, until it is told how it ended.
type submitter struct {
	mouth protocol.Mouth
	jobs  []protocol.Job
	next  []protocol.Time // of each job; 0: it has ended
}

func newSubmitter(jobs []protocol.Job, life uint32) *submitter {
	s := &submitter{mouth: protocol.Mouth{Who: protocol.Submitter, Life: life}, jobs: jobs}
	for _, j := range jobs {
		s.next = append(s.next, j.Arrival)
	}
	return s
}

// How long an answer is waited for, at first, and once the job is taken.
const (
	unheard = 5 * time.Second
	unended = time.Minute
)

// Due implements bus.Machine.
func (s *submitter) Due() (due protocol.Time) {
	for _, t := range s.next {
		if t != 0 && (due == 0 || t < due) {
			due = t
		}
	}
	return due
}

// Tick implements bus.Machine.
func (s *submitter) Tick(now protocol.Time) (said []protocol.Message) {
	for i, t := range s.next {
		if t != 0 && t <= now {
			s.next[i] = now.Add(unheard)
			said = append(said, s.mouth.Say(now, protocol.Coordinator, protocol.Submit{Job: s.jobs[i]}))
		}
	}
	return said
}

// Step implements bus.Machine.
func (s *submitter) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	switch b := m.Body.(type) {
	case protocol.Confirm:
		if b.Code == protocol.Closed {
			s.ended(b.Job)
		} else {
			s.put(b.Job, now.Add(unended))
		}
	case protocol.Settled:
		s.ended(b.Job)
	case protocol.Refuse:
		if b.Why.Code != protocol.Duplicate {
			s.ended(b.Job)
		}
	}
	return nil
}

func (s *submitter) ended(id protocol.JobID) { s.put(id, 0) }

func (s *submitter) put(id protocol.JobID, t protocol.Time) {
	for i, j := range s.jobs {
		if j.ID == id && s.next[i] != 0 {
			s.next[i] = t
		}
	}
}

// over reports whether all jobs have ended, as far as it knows.
func (s *submitter) over() bool { return s.Due() == 0 }
