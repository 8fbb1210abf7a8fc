package faults

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A retryingSubmitter submits each job at its arrival and retransmits it until it is
// acknowledged; then it asks for the outcome from time to time.
type retryingSubmitter struct {
	sender protocol.Sender
	jobs   []protocol.Job
	agent  protocol.Party  // also told; "": none is
	alone  bool            // it may start the jobs by itself
	next   []protocol.Time // next retransmission of each job; 0: it has ended
}

// newRetryingSubmitter starts an incarnation of the submitter, which submits all jobs again:
// the coordinator must recognize known ids.
func newRetryingSubmitter(jobs []protocol.Job, life uint32) *retryingSubmitter {
	s := &retryingSubmitter{sender: protocol.Sender{Party: protocol.Submitter, Incarnation: life}, jobs: jobs}
	for _, j := range jobs {
		s.next = append(s.next, j.Arrival)
	}
	return s
}

// Intervals of retransmission before and after the acknowledgement.
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
			m := s.sender.NewMessage(now, protocol.Coordinator, protocol.Submit{Job: s.jobs[i], Alone: s.alone})
			if said = append(said, m); s.agent != "" {
				m.To = s.agent
				said = append(said, m)
			}
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
		if !b.Part {
			s.markEnded(b.Job)
		}
	case protocol.Reject:
		if b.Why.Code != protocol.Duplicate {
			s.markEnded(b.Job)
		}
	}
	return nil
}

// markEnded stops the retransmission of a job.
func (s *retryingSubmitter) markEnded(id protocol.JobID) { s.scheduleNext(id, 0) }

// scheduleNext sets the next retransmission of a job that has not ended.
func (s *retryingSubmitter) scheduleNext(id protocol.JobID, t protocol.Time) {
	for i, j := range s.jobs {
		if j.ID == id && s.next[i] != 0 {
			s.next[i] = t
		}
	}
}

// allEnded reports whether the submitter knows the outcome of all jobs.
func (s *retryingSubmitter) allEnded() bool { return s.Due() == 0 }
