package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/protocol"
)

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
	for _, tc := range []struct {
		at   string
		want []int
	}{
		{"GET /v1/services", []int{200}}, {"GET /v1/services/secret-s", []int{404}}, {"DELETE /v1/services/secret-s", []int{404}},
		{"POST /v1/services/secret-s/scale", []int{400, 404}}, {"POST /v1/services/secret-s/rebalance", []int{400, 404}},
		{"GET /v1/quotas", []int{200}}, {"POST /v1/quotas/vision", []int{403}}, {"GET /v1/jobs/secret-1/logs", []int{404}},
		{"GET /v1/proof?tenant=vision", []int{403, 404}}, {"GET /v1/proof?party=tenant/vision", []int{403, 404}}, {"GET /v1/proof?site=oslo", []int{403, 404}},
		{"POST /v1/sites/oslo/drain", []int{403}}, {"POST /v1/sites/oslo/gone", []int{403}}, {"POST /v1/policy", []int{403}},
	} {
		method, path, _ := strings.Cut(tc.at, " ")
		code, text := s.as("rogue", method, path, "application/json", "")
		asked := slices.DeleteFunc([]string{"secret-s", "secret-1", "vision"}, func(x string) bool { return !strings.Contains(path, x) })
		if sees(tc.at, text, asked...); !slices.Contains(tc.want, code) {
			t.Errorf("%s: %d %s; want one of %v", tc.at, code, text, tc.want)
		}
	}
	s.onThePage(sees)
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
	feed := s.openFeed("rogue")
	revoked := time.Now()
	s.must(s.fed.RevokeTenant("rogue", time.Now()))
	s.revokeCredential("rogue")
	for what, ended := range map[string]<-chan struct{}{"NATS": drained(conn), "API": feed} {
		select {
		case <-ended:
			took := time.Since(revoked).Round(10 * time.Millisecond)
			if t.Logf("the connection to %s was cut after %v", what, took); took > 10*time.Second {
				t.Errorf("the connection of a revoked tenant to %s was cut after %v; 10 s are promised", what, took)
			}
		case <-time.After(patience):
			t.Errorf("the connection of a revoked tenant to %s stays open", what)
		}
	}
	if code, text := s.as("rogue", "GET", "/v1/jobs", "", ""); code != 401 {
		t.Errorf("a revoked credential is answered %d %s", code, text)
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

// openFeed opens the feed of the page by a credential, and returns a channel that is closed when it ends.
func (s *liveStage) openFeed(who string) <-chan struct{} {
	s.Helper()
	r, err := http.NewRequest("GET", "http://"+s.api+"/events", nil)
	s.must(err)
	r.Header.Set("Authorization", "Bearer "+s.tokens[who])
	answer, err := http.DefaultClient.Do(r)
	s.must(err)
	if answer.StatusCode != http.StatusOK {
		s.Fatalf("the feed answers %s", answer.Status)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}()
	return ended
}

// revokeCredential revokes a credential in the file that the coordinator watches.
func (s *liveStage) revokeCredential(name string) {
	s.Helper()
	file := filepath.Join(s.dir, "coordinator", "credentials.json")
	text, err := os.ReadFile(file)
	s.must(err)
	var f rights.File
	s.must(json.Unmarshal(text, &f))
	for i := range f.Credentials {
		if f.Credentials[i].Name == name {
			f.Credentials[i].Revoked = time.Now()
		}
	}
	text, err = json.Marshal(f)
	s.must(err)
	s.must(os.WriteFile(file+".new", text, 0o600))
	s.must(os.Rename(file+".new", file))
}

// onThePage signs in to the page as the hostile tenant, and tries to cancel the jobs of others by forms of its own
// session, of none and of another site's page.
func (s *liveStage) onThePage(sees func(what, text string, asked ...string)) {
	s.Helper()
	jar, err := cookiejar.New(nil)
	s.must(err)
	browser := &http.Client{Jar: jar, Timeout: patience}
	do := func(method, path string, form url.Values, site string) (int, string) {
		s.Helper()
		r, err := http.NewRequest(method, "http://"+s.api+path, strings.NewReader(form.Encode()))
		s.must(err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		answer, err := browser.Do(r)
		s.must(err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		s.must(err)
		return answer.StatusCode, string(text)
	}
	if code, text := do("POST", "/login", url.Values{"token": {s.tokens["rogue"]}}, ""); code != 200 {
		s.Fatalf("signing in: %d %.200s", code, text)
	}
	_, act := do("GET", "/act?job=x", nil, "")
	found := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(act)
	if found == nil {
		s.Fatalf("no form in\n%s", act)
	}
	for _, id := range []string{"secret-1", "vision/secret-2"} {
		for what, tc := range map[string]struct {
			form, site string
			code       int
		}{"its own form": {found[1], "", 200}, "no form": {"", "", 403}, "another site's page": {found[1], "cross-site", 403}} {
			code, text := do("POST", "/cancel", url.Values{"job": {id}, "form": {tc.form}}, tc.site)
			if sees("cancelling on the page", text, id); code != tc.code || code == 200 && !strings.Contains(text, "unknown job") {
				s.Errorf("%s cancels a job of another: %d %.300s", what, code, text)
			}
		}
		_, text := do("GET", "/log?job="+url.QueryEscape(id), nil, "")
		sees("logs on the page", text, id)
	}
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
