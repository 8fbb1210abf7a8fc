package natsbus

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An operator hears that the disk is full, and a site that is refused each of its words
// fills no log.
func TestWhatAServerSaysOfItsStoreIsLogged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := Host(file, Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var log strings.Builder
	over, end := context.WithCancel(t.Context())
	end()
	h.Watch(over, time.Hour, slog.New(slog.NewTextHandler(&log, nil)), file)
	for i := range 100 {
		h.nats.Errorf("127.0.0.1:5000 - cid:7 - Publish Violation - Subject %d", i)
		h.nats.Errorf("JetStream failed to store message %d: no space left on device", i)
	}
	if n := strings.Count(log.String(), "no space left"); n != 7 || strings.Contains(log.String(), "Violation") {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}
