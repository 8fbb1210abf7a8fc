package executor

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Nobody else tells an operator why a node is not offered.
func TestReasonForClosedNodeIsLogged(t *testing.T) {
	now := noon
	var log strings.Builder
	h := bare(Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, &now)
	logged := func(last, now []protocol.Node) (n int) {
		log.Reset()
		h.logInventoryChanges(last, now)
		return strings.Count(log.String(), "\n")
	}
	a := []protocol.Node{{Name: "n1", GPUs: 8, Model: "Quantum-9"}, {Name: "n2", Closed: "cordoned"}, {Name: "n3", Closed: h.inv.ForeignNodeReason(), GPUs: 1, Model: "X"}, {Name: "n4", GPUs: 8, Model: "H100"}}
	if n := logged(nil, a); n != 2 || !strings.Contains(log.String(), "Quantum-9") || !strings.Contains(log.String(), "cordoned") {
		t.Errorf("at first: %s", &log)
	}
	b := slices.Clone(a)
	b[1].Closed, b[3].Closed = "", "not ready: KubeletNotReady"
	if n := logged(a, b); n != 2 || !strings.Contains(log.String(), "again") || !strings.Contains(log.String(), "KubeletNotReady") {
		t.Errorf("then: %s", &log)
	}
	if n := logged(b, b); n != 0 {
		t.Errorf("logged twice: %s", &log)
	}
}
