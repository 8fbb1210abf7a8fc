package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A kubelet learns by the exit code whether the agent answers, and whether it is ready.
func TestHealthIsTheAgents(t *testing.T) {
	ready := true
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready {
			http.Error(w, "not connected to the hub", http.StatusServiceUnavailable)
		}
	})
	agent := httptest.NewServer(mux)
	listen := strings.TrimPrefix(agent.URL, "http://")
	probe := func(args ...string) (int, string) {
		var out strings.Builder
		code := runCommand(append([]string{"health", "--listen", listen}, args...), &out)
		return code, out.String()
	}
	for _, args := range [][]string{nil, {"--ready"}} {
		if code, says := probe(args...); code != 0 {
			t.Errorf("health %v = %d, %s", args, code, says)
		}
	}
	ready = false
	if code, says := probe("--ready"); code != 1 || !strings.Contains(says, "not connected to the hub") {
		t.Errorf("not ready: %d, %s", code, says)
	}
	if code, says := probe(); code != 0 {
		t.Errorf("an agent without its hub is alive: %d, %s", code, says)
	}
	agent.Close()
	if code, says := probe(); code != 1 || !strings.Contains(says, "no answer") {
		t.Errorf("after its end: %d, %s", code, says)
	}
	if code, says := probe("--listen", "192.0.2.1:9464"); code != 1 || !strings.Contains(says, "loopback") {
		t.Errorf("elsewhere: %d, %s", code, says)
	}
}

// A daemon that hangs touches its file no more.
func TestHealthIsTheDaemonsHeartbeat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "heartbeat")
	probe := func() (int, string) {
		var out strings.Builder
		code := runCommand([]string{"health", "--heartbeat", file, "--period", "20s"}, &out)
		return code, out.String()
	}
	if code, says := probe(); code != 1 || !strings.Contains(says, "no heartbeat yet") {
		t.Errorf("before the first: %d, %s", code, says)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, says := probe(); code != 0 {
		t.Errorf("just after one: %d, %s", code, says)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	if code, says := probe(); code != 1 || !strings.Contains(says, "1m0s old") {
		t.Errorf("a minute later: %d, %s", code, says)
	}
}
