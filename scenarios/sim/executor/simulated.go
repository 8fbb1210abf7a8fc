// Package executor provides a simulated cluster for sites that have none: to try and to test a federation. Jobs run
// by the clock and draw the power that scenarios/sim computes; no process is started. Executors of real clusters
// exchange the same messages.
package executor

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
)

// Simulated is the durable executor of a simulated cluster. It is a bus.Keeper: each launch and cancellation is an
// event, and a cluster restored from its events has run on meanwhile, as a real one does while its agent is down.
//
// It acts at whole seconds, whenever it is woken, so that the meters are exact.
type Simulated struct {
	world *sim.Hands
	agent protocol.Party
	ears  protocol.Ears
	facts []protocol.Message
	at    protocol.Time // time of the last processed input; time never goes back
	// asked holds the requests of launched jobs, for the usage report at their end.
	asked map[protocol.JobID]protocol.Job
}

// Simulate returns the durable executor of a site on top of the simulation w.
func Simulate(site string, w *sim.Hands) *Simulated {
	return &Simulated{world: w, agent: protocol.Agent(site), asked: make(map[protocol.JobID]protocol.Job)}
}

// Due implements bus.Machine.
func (s *Simulated) Due() protocol.Time { return s.world.Due() }

// Tick implements bus.Machine. It processes everything that was due before now at its own time, and ends carry that
// time.
func (s *Simulated) Tick(now protocol.Time) (said []protocol.Message) {
	s.facts = s.facts[:0]
	return s.until(now)
}

// until advances the simulation to now.
func (s *Simulated) until(now protocol.Time) (said []protocol.Message) {
	for d := s.world.Due(); d != 0 && d <= now; d = s.world.Due() {
		s.at = d
		said = append(said, s.world.Tick(d)...)
	}
	for i, m := range said {
		if x, ok := m.Body.(protocol.Exited); ok {
			x.Ended = m.At
			said[i].Body = x
		}
	}
	return s.used(said)
}

// used adds full use of the requested resources to each end: a simulated job has no other usage.
func (s *Simulated) used(said []protocol.Message) []protocol.Message {
	for i, m := range said {
		x, ok := m.Body.(protocol.Exited)
		j, known := s.asked[x.Job]
		if !ok || !known {
			continue
		}
		x.Use = protocol.Use{GPUMemory: j.GPUMemory, CPU: j.CPU, Memory: j.Memory}
		if j.GPUs > 0 {
			x.Use.GPU = 1000
		}
		said[i].Body = x
		delete(s.asked, x.Job)
	}
	return said
}

// Step implements bus.Machine.
func (s *Simulated) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	s.facts = s.facts[:0]
	if m.From != s.agent || !s.ears.New(m) {
		return nil
	}
	now = max(now.Floor(time.Second), s.at)
	s.at = now
	said := s.until(now)
	switch b := m.Body.(type) {
	case protocol.Launch, protocol.Cancel:
		if l, ok := b.(protocol.Launch); ok {
			s.asked[l.Job.ID] = l.Job
		}
		// Restore replays the event at the time of receipt, not at the time at which the agent sent it.
		fact := m     // time of receipt
		fact.At = now // when it was heard: the cluster is played from that
		s.facts = append(s.facts, fact)
	}
	return append(said, s.used(s.world.Step(now, m))...)
}

// Facts implements bus.Keeper.
func (s *Simulated) Facts() []protocol.Message { return s.facts }

// Begin sets the incarnation number.
func (s *Simulated) Begin(life uint32) { s.world.Begin(life) }

// Restore replays an event. Its messages are not sent again: the agent asks for what it missed.
func (s *Simulated) Restore(m protocol.Message) error {
	s.Step(m.At, m)
	return nil
}

// Needs keeps all events: the meters are recomputed from the first one on.
func (s *Simulated) Needs(protocol.Message) bool { return true }
