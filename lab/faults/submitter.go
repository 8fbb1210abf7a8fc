package faults

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A retryingSubmitter submits each job when it arrives, and again until it is told that
// it was taken; then now and then, until it is told how it ended.
type retryingSubmitter struct {
	sender protocol.Sender
	jobs   []protocol.Job
	next   []protocol.Time // of each job; 0: it has ended
}

func newRetryingSubmitter(jobs []protocol.Job, life uint32) *retryingSubmitter {
	s := &retryingSubmitter{sender: protocol.Sender{Party: protocol.Submitter, Incarnation: life}, jobs: jobs}
	for _, j := range jobs {
		s.next = append(s.next, j.Arrival)
	}
	return s
}

// How long an answer is waited for, at first, and once the job is taken.
const (
	resubmitInterval = 5 * time.Second
	statusInterval   = time.Minute
)

// Due implements bus.Machine.
func (s *retryingSubmitter) Due() (due protocol.Time) {
	for _, t := range s.next {
		if t != 0 && (due == 0 || t < due) {
			due = t
		}
	}
	return due
}

// Tick implements bus.Machine.
func (s *retryingSubmitter) Tick(now protocol.Time) (said []protocol.Message) {
	for i, t := range s.next {
		if t != 0 && t <= now {
			s.next[i] = now.Add(resubmitInterval)
			said = append(said, s.sender.NewMessage(now, protocol.Coordinator, protocol.Submit{Job: s.jobs[i]}))
		}
	}
	return said
}

// Step implements bus.Machine.
func (s *retryingSubmitter) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	switch b := m.Body.(type) {
	case protocol.Confirm:
		if b.Code == protocol.JobClosed {
			s.markEnded(b.Job)
		} else {
			s.scheduleNext(b.Job, now.Add(statusInterval))
		}
	case protocol.Settlement:
		s.markEnded(b.Job)
	case protocol.Reject:
		if b.Why.Code != protocol.Duplicate {
			s.markEnded(b.Job)
		}
	}
	return nil
}

func (s *retryingSubmitter) markEnded(id protocol.JobID) { s.scheduleNext(id, 0) }

func (s *retryingSubmitter) scheduleNext(id protocol.JobID, t protocol.Time) {
	for i, j := range s.jobs {
		if j.ID == id && s.next[i] != 0 {
			s.next[i] = t
		}
	}
}

// allEnded reports whether all jobs have ended, as far as it knows.
func (s *retryingSubmitter) allEnded() bool { return s.Due() == 0 }
