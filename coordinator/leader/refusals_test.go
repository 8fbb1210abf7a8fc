package leader

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

func TestARefusedSubmissionIsLoggedAndAFloodIsNot(t *testing.T) {
	var out bytes.Buffer
	l := newRefusalLog(slog.New(slog.NewTextHandler(&out, nil)))
	vision := protocol.TenantParty("vision")
	own := protocol.Submit{Job: protocol.Job{ID: "vision/1", Tenant: "vision"}}
	l.observe(protocol.Message{From: vision, Body: own})
	l.observe(protocol.Message{From: vision, Body: protocol.Cancel{Job: "speech/1"}})
	if out.Len() > 0 {
		t.Errorf("logged what is not refused: %s", out.String())
	}
	other := own
	other.Job.Tenant = "speech" + strings.Repeat("x", 1000)
	for range 1000 {
		l.observe(protocol.Message{From: vision, Body: other})
	}
	if lines := strings.Count(out.String(), "\n"); lines != 10 || !strings.Contains(out.String(), "sender=tenant/vision tenant=speech") || out.Len() > 10*600 {
		t.Errorf("%d lines, %d bytes: %s", lines, out.Len(), out.String())
	}
}
