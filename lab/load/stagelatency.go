package main

import (
	"sync"
	"time"

	"github.com/gridbid/gridbid/coordinator/market"
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
	stageCount
)

var stageNames = [stageCount]string{"received", "stored", "called", "first bids", "last bids", "awarded"}

// A stageLatency is the time from the end of the previous phase to the end of this one.
type stageLatency struct {
	To string `json:"to"`
	latencySpread
}

// stageTimer is an input recorder that notes when the coordinator finishes each phase of
// the current job. One job is measured at a time.
type stageTimer struct {
	mu   sync.Mutex
	job  protocol.JobID
	at   [stageCount + 1]time.Time
	took [stageCount][]time.Duration
}

// beginJob starts the measurement of a job, just before its submission.
func (s *stageTimer) beginJob(id protocol.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job, s.at = id, [stageCount + 1]time.Time{time.Now()}
}

// endJob finishes the measurement after the job's award.
func (s *stageTimer) endJob() {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.at[0]
	for i := range s.took {
		at := s.at[i+1]
		if at.Before(last) { // the phase did not happen, such as bids in a round that closed without them
			at = last
		}
		s.took[i] = append(s.took[i], at.Sub(last))
		last = at
	}
}

// clearTimes drops the measurements, such as those of the warm-up.
func (s *stageTimer) clearTimes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = [stageCount][]time.Duration{}
}

// stageLatencies returns the summary of each phase.
func (s *stageTimer) stageLatencies() []stageLatency {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []stageLatency
	for i, name := range stageNames {
		all = append(all, stageLatency{name, latencySpreadOf(s.took[i])})
	}
	return all
}

// markStage notes the time at which a phase ends.
func (s *stageTimer) markStage(stage int) { s.at[stage+1] = time.Now() }

// observe notes when the market takes a step.
func (s *stageTimer) observe(_ protocol.Time, heard *protocol.Message) {
	if heard == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch b := heard.Body.(type) {
	case protocol.Submit:
		if b.Job.ID == s.job {
			s.markStage(atMarket)
		}
	case protocol.Bids:
		if len(b.Jobs) == 0 || b.Jobs[0].Job != s.job {
			return
		}
		if s.at[atFirstBid+1].IsZero() {
			s.markStage(atFirstBid)
		}
		s.markStage(atLastBid)
	}
}

// RecordSent implements leader.Scribe.
func (s *stageTimer) RecordSent(_, said []protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range said {
		switch b := m.Body.(type) {
		case protocol.Confirm:
			if b.Job == s.job && b.Code == protocol.Acknowledged {
				s.markStage(atEventLog)
			}
		case protocol.CallForBids:
			if len(b.Jobs) > 0 && b.Jobs[0].ID == s.job {
				s.markStage(atCall)
			}
		case protocol.Award:
			if b.Job == s.job {
				s.markStage(atAward)
			}
		}
	}
}

// RecordInput implements lead.Scribe.
func (*stageTimer) RecordInput(protocol.Time, *protocol.Message) {}

// RecordRestored implements lead.Scribe.
func (*stageTimer) RecordRestored(protocol.Message) {}

// BeginIncarnation implements leader.Scribe.
func (*stageTimer) BeginIncarnation(protocol.Time, uint32, []protocol.Input, market.Config) error {
	return nil
}
