package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/internal/ports"
	"github.com/gridbid/gridbid/protocol"
)

// patience is far longer than anything takes on a busy machine; only a test that fails waits for it.
const patience = 2 * time.Minute

// A safeBuffer is a log that is read while it is written.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A liveStage is a coordinator as it is started by its configuration file, with the hub in its
// process, and credentials and keys of the tenants vision and rogue.
type liveStage struct {
	*testing.T
	dir, api string
	fed      *federation.Federation
	tokens   map[string]string
	log      safeBuffer
}

func newLiveStage(t *testing.T) *liveStage {
	s := &liveStage{T: t, dir: filepath.Join(t.TempDir(), "fed"), tokens: make(map[string]string)}
	free, err := ports.FreePorts(4)
	s.must(err)
	s.fed, err = federation.InitFederation(s.dir, federation.Setup{Port: free[0], LeafPort: free[1], Route: free[2]}, time.Now())
	s.must(err)
	var f rights.File
	for _, c := range []rights.Credential{{Name: "vision", Role: rights.Tenant, Tenant: "vision"}, {Name: "rogue", Role: rights.Tenant, Tenant: "rogue"}, {Name: "auditor", Role: rights.Auditor}} {
		c.Expires = time.Now().Add(time.Hour)
		token, c, err := rights.NewCredential(c, time.Now())
		s.must(err)
		s.tokens[c.Name], f.Credentials = token, append(f.Credentials, c)
		if c.Tenant != "" {
			_, err = s.fed.AddTenant(federation.TenantSetup{Name: c.Tenant})
			s.must(err)
		}
	}
	text, err := json.Marshal(f)
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.dir, "coordinator", "credentials.json"), text, 0o600))
	c, err := loadConfig(filepath.Join(s.dir, "coordinator", federation.CoordinatorFile))
	s.must(err)
	s.api = fmt.Sprintf("127.0.0.1:%d", free[3])
	c.Listen, c.Credentials = s.api, filepath.Join(s.dir, "coordinator", "credentials.json")
	access, err := natsbus.ReadAccess(c.NATSFile)
	s.must(err)
	setup, err := prepareSetup(c, &daemon.Process{Settings: c.Settings, Access: access, Log: slog.New(slog.NewTextHandler(&s.log, nil))})
	s.must(err)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- setup.serveCoordinator(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Errorf("the coordinator ended with %v", err)
		}
	})
	s.until("the coordinator leads", func() bool {
		answer, err := http.Get("http://" + s.api + "/readyz")
		if err != nil {
			return false
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		return strings.Contains(string(text), "leading")
	})
	return s
}

func (s *liveStage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *liveStage) until(what string, done func() bool) {
	s.Helper()
	for range 12_000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.Fatalf("waited in vain until %s; the log says\n%s", what, s.log.String())
}

// as sends a request by a credential.
func (s *liveStage) as(who, method, path, kind, body string) (code int, text string) {
	s.Helper()
	r, err := http.NewRequest(method, "http://"+s.api, strings.NewReader(body))
	s.must(err)
	if r.URL, err = url.Parse("http://" + s.api + path); err != nil { // a path that no client would send
		r.URL = &url.URL{Scheme: "http", Host: s.api, Opaque: "//" + s.api + path}
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", "Bearer "+s.tokens[who])
	answer, err := (&http.Client{Timeout: patience}).Do(r)
	if err != nil {
		return 0, err.Error() // the server closed the connection
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(all)
}

func (s *liveStage) join(tenant string) bus.Conn {
	s.Helper()
	access, err := natsbus.ReadAccess(filepath.Join(s.dir, "tenants", tenant, federation.TenantFile))
	s.must(err)
	b, err := natsbus.Open(access.Access)
	s.must(err)
	conn, err := b.Connect(s.Context(), protocol.TenantParty(tenant))
	s.must(err)
	s.Cleanup(func() { _ = conn.Close() })
	return conn
}
