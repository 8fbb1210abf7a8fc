package main

import (
	"sync"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Phases between a job's submission and its award; each begins where the one before ends.
const (
	atMarket   = iota // the market receives the submission
	atEventLog        // the submission is durable and acknowledged
	atCall            // the market calls for bids
	atFirstBid        // the first bids arrive
	atLastBid         // the last bids arrive
	atAward           // the round is cleared, its awards are durable and sent
	phaseCount
)

var phaseNames = [phaseCount]string{"received", "stored", "called", "first bids", "last bids", "awarded"}

// A phaseLatency is the time from the end of the previous phase to the end of this one.
type phaseLatency struct {
	To string `json:"to"`
	latencySpread
}

// phaseTimer notes when the coordinator finishes each phase of the current job. One job is
// measured at a time.
type phaseTimer struct {
	mu        sync.Mutex
	job       protocol.JobID
	at        [phaseCount + 1]time.Time
	durations [phaseCount][]time.Duration
}

// beginJob starts the measurement of a job, just before its submission.
func (s *phaseTimer) beginJob(id protocol.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job, s.at = id, [phaseCount + 1]time.Time{time.Now()}
}

// endJob finishes the measurement after the job's award.
func (s *phaseTimer) endJob() {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.at[0]
	for i := range s.durations {
		at := s.at[i+1]
		if at.Before(last) { // the phase did not happen, such as bids in a round that closed without them
			at = last
		}
		s.durations[i] = append(s.durations[i], at.Sub(last))
		last = at
	}
}

// clearTimes drops the measurements, such as those of the warm-up.
func (s *phaseTimer) clearTimes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.durations = [phaseCount][]time.Duration{}
}

// phaseLatencies returns the summary of each phase.
func (s *phaseTimer) phaseLatencies() []phaseLatency {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []phaseLatency
	for i, name := range phaseNames {
		all = append(all, phaseLatency{name, latencySpreadOf(s.durations[i])})
	}
	return all
}

// markPhase notes the time at which a phase ends.
func (s *phaseTimer) markPhase(stage int) { s.at[stage+1] = time.Now() }

// observeInput notes when the market takes a step.
func (s *phaseTimer) observeInput(_ protocol.Time, received *protocol.Message) {
	if received == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch b := received.Body.(type) {
	case protocol.Submit:
		if b.Job.ID == s.job {
			s.markPhase(atMarket)
		}
	case protocol.Bids:
		if len(b.Jobs) == 0 || b.Jobs[0].Job != s.job {
			return
		}
		if s.at[atFirstBid+1].IsZero() {
			s.markPhase(atFirstBid)
		}
		s.markPhase(atLastBid)
	}
}

// observeSent notes when messages of the current job are sent.
func (s *phaseTimer) observeSent(sent []protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range sent {
		switch b := m.Body.(type) {
		case protocol.Confirm:
			if b.Job == s.job && b.Code == protocol.Acknowledged {
				s.markPhase(atEventLog)
			}
		case protocol.CallForBids:
			if len(b.Jobs) > 0 && b.Jobs[0].ID == s.job {
				s.markPhase(atCall)
			}
		case protocol.Award:
			if b.Job == s.job {
				s.markPhase(atAward)
			}
		}
	}
}
