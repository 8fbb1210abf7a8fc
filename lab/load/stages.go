package main

import (
	"sync"
	"time"

	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// Stages on the way of a job to its award, each from the end of the one before.
const (
	toMarket = iota // the submission reaches the market
	toBooks         // it is on the books, and that is said
	toCall          // it is called
	toFirst         // the first offer is heard
	toLast          // the last offer is heard
	toAward         // the round is cleared, its awards are on the books, and said
	stageCount
)

var stageNames = [stageCount]string{"heard", "on the books", "called", "first offer", "last offer", "awarded"}

// A stage is how long it took to come there, from the stage before.
type stage struct {
	To string `json:"to"`
	spread
}

// stages is a scribe that notes when a coordinator came to each stage of the job
// that is on its way. One is at a time.
type stages struct {
	mu   sync.Mutex
	job  protocol.JobID
	at   [stageCount + 1]time.Time
	took [stageCount][]time.Duration
}

// begin says that a job is about to be submitted.
func (s *stages) begin(id protocol.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job, s.at = id, [stageCount + 1]time.Time{time.Now()}
}

// end says that its award was heard of.
func (s *stages) end() {
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

func (s *stages) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = [stageCount][]time.Duration{}
}

// spreads returns what each stage took.
func (s *stages) spreads() []stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []stage
	for i, name := range stageNames {
		all = append(all, stage{name, spreadOf(s.took[i])})
	}
	return all
}

func (s *stages) pass(stage int) { s.at[stage+1] = time.Now() }

// observe notes when the market takes a step.
func (s *stages) observe(_ protocol.Time, heard *protocol.Message) {
	if heard == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch b := heard.Body.(type) {
	case protocol.Submit:
		if b.Job.ID == s.job {
			s.pass(toMarket)
		}
	case protocol.Offer:
		if len(b.Jobs) == 0 || b.Jobs[0].Job != s.job {
			return
		}
		if s.at[toFirst+1].IsZero() {
			s.pass(toFirst)
		}
		s.pass(toLast)
	}
}

// Told implements lead.Scribe.
func (s *stages) Told(_, said []protocol.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range said {
		switch b := m.Body.(type) {
		case protocol.Confirm:
			if b.Job == s.job && b.Code == protocol.Taken {
				s.pass(toBooks)
			}
		case protocol.Call:
			if len(b.Jobs) > 0 && b.Jobs[0].ID == s.job {
				s.pass(toCall)
			}
		case protocol.Award:
			if b.Job == s.job {
				s.pass(toAward)
			}
		}
	}
}

// Took implements lead.Scribe.
func (*stages) Took(protocol.Time, *protocol.Message) {}

// Restored implements lead.Scribe.
func (*stages) Restored(protocol.Message) {}

// Begin implements lead.Scribe.
func (*stages) Begin(protocol.Time, uint32, []protocol.Step, market.Config) error { return nil }
