// Package executor provides a simulated cluster for sites that have none: to try and
// to test a federation. Jobs run by the clock and draw the power that scenarios/sim
// computes; no process is started. Executors of real clusters exchange the same
// messages.
package executor

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
)

// DurableSimExecutor is the durable executor of a simulated cluster. It is a bus.EventSourced machine: each
// launch, cancellation and list of replicas is an event, and a cluster restored from its events has run
// on meanwhile, as a real one does while its agent is down.
//
// It acts at whole seconds, whenever it is woken, so that the meters are exact.
type DurableSimExecutor struct {
	simulator *sim.SimExecutor
	agent     protocol.Party
	dedup     protocol.Deduplicator
	events    []protocol.Message
	lastEvent protocol.Time // time of the last processed input; time never goes back
	// requestedJobs holds the requests of launched jobs, for the usage report at their end.
	requestedJobs map[protocol.JobID]protocol.Job
}

// NewDurableSimExecutor returns the durable executor of a site on top of the simulation w.
func NewDurableSimExecutor(site string, w *sim.SimExecutor) *DurableSimExecutor {
	return &DurableSimExecutor{simulator: w, agent: protocol.AgentParty(site), requestedJobs: make(map[protocol.JobID]protocol.Job)}
}

// Due implements bus.Machine.
func (s *DurableSimExecutor) Due() protocol.Time { return s.simulator.Due() }

// Tick implements bus.Machine. It processes everything that was due before now at its
// own time, and ends carry that time.
func (s *DurableSimExecutor) Tick(now protocol.Time) (said []protocol.Message) {
	s.events = s.events[:0]
	return s.simulateUntil(now)
}

// simulateUntil advances the simulation to now.
func (s *DurableSimExecutor) simulateUntil(now protocol.Time) (said []protocol.Message) {
	for d := s.simulator.Due(); d != 0 && d <= now; d = s.simulator.Due() {
		s.lastEvent = d
		said = append(said, s.simulator.Tick(d)...)
	}
	for i, m := range said {
		if x, ok := m.Body.(protocol.Finished); ok {
			x.Ended = m.At
			said[i].Body = x
		}
	}
	return s.reportFullUse(said)
}

// reportFullUse adds full use of the requested resources to each end: a simulated job has no
// other usage.
func (s *DurableSimExecutor) reportFullUse(said []protocol.Message) []protocol.Message {
	for i, m := range said {
		x, ok := m.Body.(protocol.Finished)
		j, known := s.requestedJobs[x.Job]
		if !ok || !known {
			continue
		}
		x.Use = protocol.Utilization{GPUMemory: j.GPUMemory, CPU: j.CPU, Memory: j.Memory}
		if j.GPUs > 0 {
			x.Use.GPU = 1000
		}
		said[i].Body = x
		delete(s.requestedJobs, x.Job)
	}
	return said
}

// Step implements bus.Machine.
func (s *DurableSimExecutor) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	s.events = s.events[:0]
	if m.From != s.agent || !s.dedup.AdmitOnce(m) {
		return nil
	}
	now = max(now.Floor(time.Second), s.lastEvent)
	s.lastEvent = now
	said := s.simulateUntil(now)
	switch b := m.Body.(type) {
	case protocol.Launch, protocol.Cancel, protocol.RunReplicas:
		if l, ok := b.(protocol.Launch); ok {
			s.requestedJobs[l.Job.ID] = l.Job
		}
		// Restore replays the event at the time of receipt, not at the time at which
		// the agent sent it.
		fact := m
		fact.At = now
		s.events = append(s.events, fact)
	}
	return append(said, s.reportFullUse(s.simulator.Step(now, m))...)
}

// Events implements bus.EventSourced.
func (s *DurableSimExecutor) Events() []protocol.Message { return s.events }

// BeginIncarnation sets the incarnation number.
func (s *DurableSimExecutor) BeginIncarnation(life uint32) { s.simulator.BeginIncarnation(life) }

// Restore replays an event. Its messages are not sent again: the agent asks for what
// it missed.
func (s *DurableSimExecutor) Restore(m protocol.Message) error {
	s.Step(m.At, m)
	return nil
}

// NeedsEvent keeps all events: the meters are recomputed from the first one on.
func (s *DurableSimExecutor) NeedsEvent(protocol.Message) bool { return true }
