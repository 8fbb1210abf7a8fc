package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/bus/wal"
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

// jobs returns how the jobs of all stand, as far as others could change that.
func (s *liveStage) jobs() string {
	s.Helper()
	code, text := s.as("auditor", "GET", "/v1/jobs", "", "")
	var all []struct {
		ID, Tenant, State string
		GPUs              float64
		Stopping          bool
	}
	if err := json.Unmarshal([]byte(text), &all); code != 200 || err != nil {
		s.Fatalf("%d %s", code, text)
	}
	out := ""
	for _, j := range all {
		if j.Tenant != "rogue" {
			out += fmt.Sprintf("%+v\n", j)
		}
	}
	return out
}

// jobOf is a submission of the job of an id.
func jobOf(id, tenant string) protocol.Submit {
	now := protocol.FromStdTime(time.Now())
	return protocol.Submit{Job: protocol.Job{ID: protocol.JobID(id), Tenant: tenant, GPUs: 1, Share: 1000, CPU: 1000, Run: time.Hour, Urgency: protocol.UrgencyFlexible, Arrival: now, Deadline: now.Add(24 * time.Hour)}}
}

// send sends a message of a tenant over NATS, and returns what the coordinator answers about a job.
func (s *liveStage) send(conn bus.Conn, tenant string, b protocol.Body, id protocol.JobID) (answers []protocol.Body) {
	s.Helper()
	m := protocol.Message{Version: protocol.Current, At: protocol.FromStdTime(time.Now()), From: protocol.TenantParty(tenant), Seq: protocol.SequenceAt(time.Now()), To: protocol.Coordinator, Body: b}
	s.must(conn.Send(s.Context(), m))
	for id != "" {
		select {
		case m, ok := <-conn.Messages():
			if !ok {
				s.Fatalf("the connection ended: %v", conn.Close())
			}
			answers = append(answers, m.Body)
			if c, ok := m.Body.(protocol.Confirm); ok && c.Job == id {
				return answers
			}
		case <-time.After(patience):
			s.Fatalf("no answer about %s", id)
		}
	}
	return nil
}

// A tenant with credentials of its own sees and changes nothing of another, over the API and over
// NATS, whatever it sends; and the coordinator goes on.
func TestAHostileTenantSeesAndChangesNothingOfOthers(t *testing.T) {
	s := newLiveStage(t)
	victim := s.join("vision")
	s.send(victim, "vision", jobOf("vision/secret-2", "vision"), "vision/secret-2")
	if code, text := s.as("vision", "POST", "/v1/jobs", "application/yaml", "id: secret-1\ngpus: 1\nrun: 1h\nwithin: 24h\n"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	before := s.jobs()
	if strings.Count(before, "secret") != 2 {
		t.Fatalf("the victim has\n%s", before)
	}
	// sees fails if an answer tells of the victim; asked is what the request named itself.
	sees := func(what, text string, asked ...string) {
		t.Helper()
		for _, a := range asked {
			text = strings.ReplaceAll(text, a, "")
		}
		if strings.Contains(text, "secret") || strings.Contains(text, "vision") {
			t.Errorf("%s tells of another: %.300s", what, text)
		}
	}
	ids := []string{"secret-1", url.PathEscape("vision/secret-2")}
	for _, id := range ids {
		plain, _ := url.PathUnescape(id)
		for _, at := range []string{"GET /v1/jobs/" + id, "POST /v1/jobs/" + id + "/cancel"} {
			method, path, _ := strings.Cut(at, " ")
			code, text := s.as("rogue", method, path, "", "")
			if sees(at, text, plain); code != 404 {
				t.Errorf("%s: %d %s; want 404", at, code, text)
			}
		}
		none, was := s.as("rogue", "GET", "/v1/jobs/no-such-job", "", "")
		code, text := s.as("rogue", "GET", "/v1/jobs/"+id, "", "")
		if code != none || strings.ReplaceAll(text, plain, "X") != strings.ReplaceAll(was, "no-such-job", "X") {
			t.Errorf("a job of another is answered %q, one that is not there %q", text, was)
		}
	}
	for _, path := range []string{"/v1/jobs", "/v1/jobs?tenant=vision", "/v1/jobs?tenant=*", "/v1/jobs?state=pending", "/v1/jobs/secret", "/v1/whoami", "/v1/sites", "/v1/events", "/v1/auctions", "/v1/policy", "/v1/policy/waiting", "/metrics", "/", "/mcp", "/jobs", "/at", "/feed?before=100", "/ask?q=jobs+by+tenant", "/ask?q=why+secret-1", "/chart/queue.txt", "/act?job=secret-1"} {
		code, text := s.as("rogue", "GET", path, "", "")
		if sees("GET "+path, text, "tenant vision", `\"secret\"`, "secret-1"); code >= 500 {
			t.Errorf("GET %s: %d %s", path, code, text)
		}
	}
	s.until("the victim's page has its jobs", func() bool {
		code, text := s.as("vision", "GET", "/jobs?t=end", "", "")
		return code == 200 && strings.Contains(text, "secret-1") && strings.Contains(text, "vision/secret-2")
	})
	if code, text := s.as("rogue", "POST", "/v1/jobs", "application/yaml", "id: mine\ntenant: vision\ngpus: 1\nrun: 1h\n"); code != 403 {
		t.Errorf("submitted for another: %d %s", code, text)
	}
	if code, text := s.as("rogue", "POST", "/v1/jobs", "application/yaml", "id: secret-1\ngpus: 1\nrun: 1h\n"); code != 409 {
		t.Errorf("took the id of another: %d %s", code, text)
	} else {
		sees("a submission of an id that is taken", text, "secret-1")
	}
	slowIsEnded := s.slowClient()
	s.overNATS(sees)
	s.recordsTellNothing(sees)
	s.fuzzAPI(sees)
	slowIsEnded()
	if after := s.jobs(); after != before {
		t.Errorf("the jobs of others were\n%s, and are\n%s", before, after)
	}
	for _, want := range []string{"a submission is refused", "sender=tenant/rogue tenant=vision", "request refused", "principal=rogue"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, s.log.String())
		}
	}
	if strings.Contains(s.log.String(), "panic") {
		t.Errorf("something panicked:\n%s", s.log.String())
	}
	// The victim's connection and the market go on, and the rogue's ends when it is revoked.
	s.send(victim, "vision", jobOf("vision/secret-3", "vision"), "vision/secret-3")
	conn := s.join("rogue")
	revoked := time.Now()
	s.must(s.fed.RevokeTenant("rogue", time.Now()))
	select {
	case <-drained(conn):
		t.Logf("the connection was cut after %v", time.Since(revoked).Round(10*time.Millisecond))
	case <-time.After(patience):
		t.Error("the connection of a revoked tenant stays open")
	}
	s.send(victim, "vision", protocol.Cancel{Job: "vision/secret-3"}, "vision/secret-3")
}

// drained returns a channel that is closed when a connection is.
func drained(conn bus.Conn) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range conn.Messages() {
		}
	}()
	return done
}

// overNATS sends what a tenant may not, and its own messages once more.
func (s *liveStage) overNATS(sees func(what, text string, asked ...string)) {
	s.Helper()
	rogue := s.join("rogue")
	own := jobOf("rogue/1", "rogue")
	s.send(rogue, "rogue", own, "rogue/1")
	for _, foreign := range []protocol.Submit{jobOf("vision/secret-2", "vision"), jobOf("vision/secret-2", "rogue"), jobOf("rogue/2", "vision"), jobOf("secret-1", "rogue"), jobOf("", "rogue")} {
		s.send(rogue, "rogue", foreign, "")
	}
	huge := own
	huge.Job.ID, huge.Task = "rogue/huge", protocol.Task(strings.Repeat("x", 60<<10))
	s.send(rogue, "rogue", huge, "rogue/huge")
	for _, id := range []protocol.JobID{"secret-1", "vision/secret-2"} {
		answers := slices.DeleteFunc(s.send(rogue, "rogue", protocol.Cancel{Job: id}, id), func(b protocol.Body) bool {
			_, ok := b.(protocol.Receipt) // says that it was heard, and nothing of the job
			return ok
		})
		if len(answers) != 1 || answers[0] != (protocol.Confirm{Job: id, Code: protocol.JobClosed}) {
			s.Errorf("a cancellation of another's job is answered %+v", answers)
		}
	}
	// Replayed: the same bytes, a thousand times. The answer to the last message follows.
	m := protocol.Message{Version: protocol.Current, At: 1, From: protocol.TenantParty("rogue"), Seq: protocol.SequenceAt(time.Now()), To: protocol.Coordinator, Body: own}
	for range 1000 {
		s.must(rogue.Send(s.Context(), m))
	}
	text := fmt.Sprintf("%+v", s.send(rogue, "rogue", protocol.Cancel{Job: "rogue/none"}, "rogue/none"))
	if sees("NATS", text); strings.Count(text, "rogue/1") > 2 {
		s.Errorf("replayed messages are answered: %s", text)
	}
	// Other kinds, and the names of others: the server refuses them, and the connection ends.
	for _, b := range []protocol.Body{protocol.Policy{}, protocol.DecommissionSite{Site: "oslo"}, protocol.QuoteRequest{}} {
		conn := s.join("rogue")
		s.must(conn.Send(s.Context(), protocol.Message{Version: protocol.Current, At: 1, From: protocol.TenantParty("rogue"), Seq: 1 << 52, To: protocol.Coordinator, Body: b}))
		select {
		case <-drained(conn):
		case <-time.After(patience):
			s.Errorf("a tenant may send %T", b)
		}
	}
}

// recordsTellNothing reads the record as the hostile tenant and as the victim.
func (s *liveStage) recordsTellNothing(sees func(what, text string, asked ...string)) {
	s.Helper()
	read := func(who string) string {
		r, err := http.NewRequest("GET", "http://"+s.api+"/v1/record", nil)
		s.must(err)
		r.Header.Set("Authorization", "Bearer "+s.tokens[who])
		answer, err := http.DefaultClient.Do(r)
		s.must(err)
		defer answer.Body.Close()
		ledger, err := wal.NewReader(answer.Body, who)
		s.must(err)
		text := ""
		for {
			m, err := ledger.ReadMessage()
			if err != nil {
				break
			}
			line, err := json.Marshal(m)
			s.must(err)
			text += string(line) + "\n"
		}
		return text
	}
	if text := read("rogue"); !strings.Contains(text, "rogue/1") {
		s.Errorf("the record of rogue has not its job:\n%s", text)
	} else {
		sees("the record", text)
	}
	if text := read("vision"); !strings.Contains(text, "secret-1") || !strings.Contains(text, "vision/secret-2") || strings.Contains(text, "rogue") {
		s.Errorf("the record of vision:\n%s", text)
	}
	if text := read("auditor"); !strings.Contains(text, "secret-1") || !strings.Contains(text, "rogue/1") {
		s.Errorf("the record of the auditor:\n%s", text)
	}
}

// fuzzAPI sends requests that are drawn, by a fixed seed.
func (s *liveStage) fuzzAPI(sees func(what, text string, asked ...string)) {
	s.Helper()
	rng := rand.New(rand.NewPCG(29, 1))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.IntN(256))
		}
		return string(b)
	}
	for range 400 {
		method := pick("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")
		path := pick("/v1/jobs", "/v1/jobs/", "/v1/quotes", "/v1/jobs/x/cancel", "/v1/sites/oslo/drain", "/v1/policy", "/v1/record", "/v1/events", "/v1/auctions", "/v1/whoami", "/v1/", "//v1//jobs", "/v1/jobs/../policy", "/v1/jobs/%2e%2e%2fpolicy", "/v1/jobs/%00", "/v1/jobs/*", "/v1/jobs/"+url.PathEscape(noise(rng.IntN(40))))
		if rng.IntN(2) == 0 {
			path += "?" + pick("id", "tenant", "state", "limit", "since", "site", "by", "why", "until") + "=" + url.QueryEscape(pick("*", "%", "-1", "9999999999999999999", "..", "\x00", noise(rng.IntN(30))))
		}
		body := pick("", "{}", "[]", "null", "id: x", "id: *a", "a: &a [*a]", "{\"id\":1e999}", strings.Repeat("[", 10_000), "gpus: -1\nid: y\n", "id: y\ngpus: 1\nrun: 1h\ntenant: rogue\n", strings.Repeat("x", 2<<20), noise(rng.IntN(2000)))
		kind := pick("application/yaml", "application/json", "text/html", "", "multipart/form-data; boundary=x", noise(3))
		if strings.ContainsFunc(kind, func(r rune) bool { return r < ' ' || r > '~' }) {
			kind = "x/" + url.QueryEscape(kind)
		}
		code, text := s.as("rogue", method, path, kind, body)
		if sees(method+" "+path, text); code >= 500 {
			s.Errorf("%s %s with %.60q as %s: %d %.200s", method, path, body, kind, code, text)
		}
	}
}

// slowClient sends the beginning of a body and no more. What it returns waits for the server to end
// the connection.
func (s *liveStage) slowClient() (isEnded func()) {
	s.Helper()
	conn, err := net.Dial("tcp", s.api)
	s.must(err)
	s.Cleanup(func() { _ = conn.Close() })
	fmt.Fprintf(conn, "POST /v1/jobs HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/yaml\r\nContent-Length: 1000\r\n\r\nid: slow", s.api, s.tokens["rogue"])
	return func() {
		s.Helper()
		s.must(conn.SetReadDeadline(time.Now().Add(patience)))
		if _, err := io.ReadAll(conn); err != nil {
			s.Errorf("a client that sends slowly keeps its connection: %v", err)
		}
	}
}
