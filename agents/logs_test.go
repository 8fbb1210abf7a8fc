package agents

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
)

// A site shows what jobs write only if its owner says so; nobody but the coordinator asks, and nobody but the
// executor answers.
func TestLogsOfJobsAreShownIfTheOwnerSaysSo(t *testing.T) {
	q := protocol.LogRequest{Number: 7, Job: "a", Epoch: 2}
	for _, logs := range []bool{false, true} {
		a := New(Config{Site: "oslo", Strategy: DefaultStrategy(), Terms: terms.Terms{Logs: logs}}, nil, nil)
		for _, again := range []bool{false, true} { // it stands outside the sequence, as a heartbeat does
			out := a.Step(noon, protocol.Message{Version: protocol.Current, From: protocol.Coordinator, Seq: 1, To: "agent/oslo", Body: q})
			if len(out) != 1 {
				t.Fatalf("logs %t, again %t: %+v", logs, again, out)
			}
			no, isLog := out[0].Body.(protocol.JobLog)
			if logs && (out[0].To != "hands/oslo" || out[0].Body != protocol.Body(q)) || !logs && (out[0].To != protocol.Coordinator || !isLog || no.Number != 7 || !strings.Contains(no.Why, "logs: true")) {
				t.Errorf("logs %t: %+v", logs, out)
			}
		}
	}
	if out := New(Config{Site: "oslo", Strategy: DefaultStrategy(), Terms: terms.Terms{Logs: true}}, nil, nil).Step(noon, protocol.Message{Version: protocol.Current, From: "queue/oslo", Seq: 1, To: "agent/oslo", Body: q}); len(out) > 0 {
		t.Errorf("its queue asks, and is answered: %+v", out)
	}
}
