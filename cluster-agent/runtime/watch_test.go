package runtime

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
)

// A watched agent has a state, which no step of the agent changes while it is read.
type watched struct {
	greeter
	runs int
}

func (w *watched) Tick(now protocol.Time) []protocol.Message {
	w.runs++
	defer func() { w.runs-- }()
	return w.greeter.Tick(now)
}

func (w *watched) StateAt(protocol.Time) capacity.State { return capacity.State{Runs: w.runs} }

// Metrics read an agent's state while it works, and never in the middle of a step.
func TestAnAgentsStateIsReadBetweenItsSteps(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	states := make(chan func(protocol.Time) capacity.State, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- RunSite(ctx, Config{
			Site: "oslo", DataDir: filepath.Join(t.TempDir(), "oslo"), FederationBus: new(membus.Bus), Log: slog.New(slog.DiscardHandler),
			Agent: &watched{greeter: greeter{sender: protocol.Sender{Party: protocol.AgentParty("oslo")}}},
			Watch: func(state func(protocol.Time) capacity.State) { states <- state },
		})
	}()
	state := <-states
	for range 1000 {
		if s := state(1); s.Runs != 0 {
			t.Fatal("it was read in the middle of a step")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
