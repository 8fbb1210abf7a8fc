package api

import (
	"net/http"
	"strings"
	"testing"
)

// Services are seen and changed by their own tenant; what is another's is not there.
func TestServicesAreThoseOfTheirTenant(t *testing.T) {
	g := newGuarded(t)
	chat := "id: chat\nreplicas: 2\nmax: 4\ngpus: 1\nmodels: [H100]\ntiers: [[oslo], [lyon]]\n"
	for _, c := range []struct {
		who, method, path, body string
		code                    int
		answer                  string
	}{
		{"a", "POST", "/v1/services", chat, 200, `"tenant":"team-a"`},
		{"a", "POST", "/v1/services", chat, 200, `"wanted":2`},
		{"a", "GET", "/v1/services/chat", "", 200, `"service":"chat"`},
		{"auditor", "GET", "/v1/services", "", 200, `"service":"chat"`},
		{"b", "GET", "/v1/services", "", 200, "[]"},
		{"b", "GET", "/v1/services/chat", "", 404, "unknown service"},
		{"b", "POST", "/v1/services", chat, 409, "taken"},
		{"b", "POST", "/v1/services", "tenant: team-a\n" + chat, 403, "the file names"},
		{"b", "POST", "/v1/services/chat/scale?replicas=1", "", 404, "unknown service"},
		{"b", "DELETE", "/v1/services/chat", "", 404, "unknown service"},
		{"oslo", "GET", "/v1/services", "", 403, ""},
		{"auditor", "DELETE", "/v1/services/chat", "", 403, ""},
		{"a", "GET", "/v1/services/chta", "", 404, "did you mean"},
		{"a", "POST", "/v1/services/chat/scale?replicas=5", "", 422, "outside of its min 0 and max 4"},
		{"a", "POST", "/v1/services/chat/scale?replicas=many", "", 400, "want a number"},
		{"a", "POST", "/v1/services/chat/scale?replicas=4", "", 200, `"service":"chat"`},
		{"a", "POST", "/v1/services/chat/rebalance", "", 200, `"service":"chat"`},
		{"a", "POST", "/v1/services", "id: x\nreplicas: 1\ncpu: 1\nsites: [olso]\n", 422, `did you mean`},
		{"a", "POST", "/v1/services", "id: x\nreplicas: 1\ngpus: 1\nmodels: [H10]\n", 422, "no site has a GPU of model"},
		{"a", "POST", "/v1/services", "id: x\nreplicas: x\n", 400, "service:2"},
		{"admin", "DELETE", "/v1/services/chat", "", 200, `"service":"chat"`},
	} {
		code, answer := g.as(c.who, c.method, c.path, c.body)
		if code != c.code || !strings.Contains(answer, c.answer) {
			t.Errorf("%s: %s %s: %d %s; want %d %s", c.who, c.method, c.path, code, answer, c.code, c.answer)
		}
	}
	if code, answer := g.as("a", http.MethodPost, "/v1/services", strings.Repeat("#", 2<<20)); code != http.StatusBadRequest {
		t.Errorf("two MiB: %d %s", code, answer)
	}
}
