package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// A tenant with a good credential sends what it likes: it learns and changes nothing of the jobs
// of others, and nothing panics.
func FuzzHostileTenant(f *testing.F) {
	for _, c := range []struct{ method, path, query, body string }{
		{"GET", "/v1/jobs", "tenant=team-b", ""}, {"GET", "/v1/jobs/secret-of-b", "", ""}, {"GET", "/v1/jobs/secret-of-", "", ""},
		{"POST", "/v1/jobs/secret-of-b/cancel", "", ""}, {"POST", "/v1/jobs", "id=secret-of-b", "id: x\ncpu: 1\nrun: 1h\n"},
		{"POST", "/v1/jobs", "", "id: secret-of-b\ntenant: team-b\ncpu: 1\nrun: 1h\n"}, {"POST", "/v1/jobs", "tenant=team-b", "id: y\ncpu: 1\nrun: 1h\n"},
		{"GET", "/v1/jobs/../record", "", ""}, {"GET", "//v1/record", "", ""}, {"GET", "/v1/jobs/%2e%2e/x", "", ""}, {"HEAD", "/v1/record", "", ""},
		{"GET", "/v1/jobs/secret-of-b/logs", "tail=5", ""}, {"GET", "/v1/jobs/secret-of-b%2flogs", "", ""}, {"HEAD", "/v1/jobs/secret-of-b/logs", "pod=p-0&after=2026-01-01T00:00:00Z", ""},
		{"GET", "/v1/jobs", "limit=9999999999999999999&state=x", ""}, {"POST", "/v1/policy", "", `{"change":{"ops":[]}}`},
	} {
		f.Add(c.method, c.path, c.query, c.body)
	}
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		g := newGuarded(t)
		if code, text := g.as("b", http.MethodPost, "/v1/jobs", "id: secret-of-b\ncpu: 1\nrun: 1h\n"); code != http.StatusOK {
			t.Fatal(text)
		}
		asked := g.run("secret-of-b", func(q protocol.LogRequest) protocol.JobLog { return protocol.JobLog{Number: q.Number} })
		r, err := http.NewRequest(method, "https://hub.example:7480/", strings.NewReader(body))
		if err != nil {
			return // no request that a client can send
		}
		r.URL.Path, r.URL.RawQuery, r.RemoteAddr = path, query, "192.0.2.1:4000"
		if strings.HasPrefix(path, "/v1/quotes") {
			return // waits for sites
		}
		r.Header.Set("Content-Type", "application/yaml")
		r.Header.Set("Authorization", "Bearer "+g.tokens["a"])
		out, done := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(done)
			g.desk.HTTPHandler().ServeHTTP(out, r)
		}()
		for served := false; !served; {
			select {
			case e := <-g.desk.LocalRequests():
				m := e.Deliver(g.now)
				if s, ok := m.Body.(protocol.Submit); !ok || s.Job.Tenant != "team-a" {
					t.Errorf("%s %s?%s %q: the market is told %+v", method, path, query, body, m.Body)
				}
				e.Done(nil)
			case <-done:
				served = true
			}
		}
		// What the request itself says may be repeated, but nothing more of the other's job.
		text := out.Body.String()
		if strings.Contains(text, "team-b") && !strings.Contains(path+query+body, "team-b") || strings.Contains(text, `"id":"secret-of-b"`) {
			t.Errorf("%s %s?%s %q: %d %s", method, path, query, body, out.Code, text)
		}
		if len(*asked) > 0 {
			t.Errorf("%s %s?%s %q: the site is asked for the other's log", method, path, query, body)
		}
		if j, ok := g.desk.findJob("secret-of-b"); !ok || j.Tenant != "team-b" || j.HasEnded() {
			t.Errorf("%s %s?%s %q: the other's job is %+v", method, path, query, body, j)
		}
	})
}
