// Package executor is a cluster that is played, for sites that have none: to try a
// federation, and to test one. Its jobs run by the clock and draw what
// scenarios/sim says; nothing else is run. Hands of a real cluster are
// parties of the same messages.
package executor

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
)

// Simulated are the hands of a played cluster. They are a bus.Keeper: what they
// were told to run is a fact, and a cluster that is restored from its facts has
// run on meanwhile, as a real one does when its agent is down.
//
// They act at whole seconds, whenever they are woken, so that meters are exact.
type Simulated struct {
	world *sim.Hands
	agent protocol.Party
	ears  protocol.Ears
	facts []protocol.Message
	at    protocol.Time // of the last thing that happened
	asked map[protocol.JobID]protocol.Job
}

// Simulate plays the cluster of a site.
func Simulate(site string, w *sim.Hands) *Simulated {
	return &Simulated{world: w, agent: protocol.Agent(site), asked: make(map[protocol.JobID]protocol.Job)}
}

// Due implements bus.Machine.
func (s *Simulated) Due() protocol.Time { return s.world.Due() }

// Tick implements bus.Machine. What was due before now happens when it was due, and
// an end says when that was.
func (s *Simulated) Tick(now protocol.Time) (said []protocol.Message) {
	s.facts = s.facts[:0]
	return s.until(now)
}

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

// used says of each run that it made full use of what it had asked for: a job that
// is played does no other.
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
		fact := m
		fact.At = now // when it was heard: the cluster is played from that
		s.facts = append(s.facts, fact)
	}
	return append(said, s.used(s.world.Step(now, m))...)
}

// Facts implements bus.Keeper.
func (s *Simulated) Facts() []protocol.Message { return s.facts }

// Begin begins a life.
func (s *Simulated) Begin(life uint32) { s.world.Begin(life) }

// Restore plays a fact again. What was said then is not said again; whoever needs
// it asks.
func (s *Simulated) Restore(m protocol.Message) error {
	s.Step(m.At, m)
	return nil
}

// Needs keeps all facts: the meters are played from the first.
func (s *Simulated) Needs(protocol.Message) bool { return true }
