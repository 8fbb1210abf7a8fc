package scenarios

import (
	"slices"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A silentAgent is an agent that is cut off from the federation at times: no message reaches it or
// leaves it then but those of its own site, whose jobs run on. The agent does not know, and repeats
// what is not answered.
type silentAgent struct {
	bus.Machine
	site     string
	silences []spec.Event
}

// withSilences cuts an agent off in the silences of its site.
func withSilences(agent bus.Machine, s spec.Scenario, site string) bus.Machine {
	silences := slices.DeleteFunc(s.EventsOf(spec.SiteSilent), func(e spec.Event) bool { return e.Name != site })
	if len(silences) == 0 {
		return agent
	}
	return silentAgent{agent, site, silences}
}

// isCutOff reports whether the agent exchanges no message with a party now.
func (a silentAgent) isCutOff(now protocol.Time, other protocol.Party) bool {
	return other.SiteName() != a.site && slices.ContainsFunc(a.silences, func(e spec.Event) bool { return e.Includes(now) })
}

// Step implements bus.Machine.
func (a silentAgent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if a.isCutOff(now, m.From) {
		return nil
	}
	return a.withoutLost(now, a.Machine.Step(now, m))
}

// Tick implements bus.Machine.
func (a silentAgent) Tick(now protocol.Time) []protocol.Message {
	return a.withoutLost(now, a.Machine.Tick(now))
}

// withoutLost returns the messages that reach their receivers.
func (a silentAgent) withoutLost(now protocol.Time, sent []protocol.Message) []protocol.Message {
	return slices.DeleteFunc(slices.Clone(sent), func(m protocol.Message) bool { return a.isCutOff(now, m.To) })
}
