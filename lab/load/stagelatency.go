package main

import (
	"sync"
	"time"

	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// Stages on the way of a job to its award, each from the end of the one before.
const (
	atMarket   = iota // the submission reaches the market
	atEventLog        // it is on the books, and that is said
	atCall            // it is called
	atFirstBid        // the first offer is heard
	atLastBid         // the last offer is heard
	atAward           // the round is cleared, its awards are on the books, and said
	stageCount
)

var stageNames = [stageCount]string{"heard", "on the books", "called", "first offer", "last offer", "awarded"}

// A stageLatency is how long it took to come there, from the stage before.
type stageLatency struct {
	To string `json:"to"`
	latencySpread
}

// stageTimer is a scribe that notes when a coordinator came to each stage of the job
// that is on its way. One is at a time.
type stageTimer struct {
	mu   sync.Mutex
	job  protocol.JobID
	at   [stageCount + 1]time.Time
	took [stageCount][]time.Duration
}

// beginJob says that a job is about to be submitted.
func (s *stageTimer) beginJob(id protocol.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job, s.at = id, [stageCount + 1]time.Time{time.Now()}
}

// endJob says that its award was heard of.
func (s *stageTimer) endJob() {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.at[0]
	for i := range s.took {
		at := s.at[i+1]
		if at.Before(last) { // it was not passed: such as an offer, when a round closes without
			at = last
		}
		s.took[i] = append(s.took[i], at.Sub(last))
		last = at
	}
}

func (s *stageTimer) clearTimes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = [stageCount][]time.Duration{}
}

// stageLatencies returns what each stage took.
func (s *stageTimer) stageLatencies() []stageLatency {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []stageLatency
	for i, name := range stageNames {
		all = append(all, stageLatency{name, latencySpreadOf(s.took[i])})
	}
	return all
}

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

// RecordSent implements lead.Scribe.
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

// BeginIncarnation implements lead.Scribe.
func (*stageTimer) BeginIncarnation(protocol.Time, uint32, []protocol.Input, market.Config) error {
	return nil
}
