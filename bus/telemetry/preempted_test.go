package telemetry_test

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/protocol"
)

// Preemptions are counted by the kind of their message.
func TestPreemptionsAreCounted(t *testing.T) {
	tele, err := telemetry.New(t.Context(), telemetry.Config{Who: protocol.Coordinator})
	if err != nil {
		t.Fatal(err)
	}
	m := protocol.Sender{Party: protocol.AgentParty("oslo")}
	tele.CountMessages([]protocol.Message{m.NewMessage(1, protocol.Coordinator, protocol.Preempted{Job: "a", Epoch: 1})}, nil)
	if want := `gridbid_messages_total{kind="preempted",way="heard"} 1`; !strings.Contains(get(t, tele, "/metrics"), want) {
		t.Errorf("metrics lack %s", want)
	}
}
