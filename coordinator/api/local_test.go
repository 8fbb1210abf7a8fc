package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOnlyThisMachineIsServedUnderItsOwnName(t *testing.T) {
	h := New().HTTPHandler()
	for _, c := range []struct {
		host, from string
		want       int
	}{
		{"127.0.0.1:7480", "127.0.0.1:5000", http.StatusOK}, {"localhost:7480", "[::1]:5000", http.StatusOK},
		{"evil.example", "127.0.0.1:5000", http.StatusForbidden}, {"127.0.0.1:7480", "10.0.0.7:5000", http.StatusForbidden},
	} {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Host, r.RemoteAddr = c.host, c.from
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("%s asks %s: %d, want %d", c.from, c.host, w.Code, c.want)
		}
	}
	// A page elsewhere cannot have a browser submit.
	r := httptest.NewRequest(http.MethodPost, "/v1/jobs", strings.NewReader("x"))
	r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:5000"
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("another origin: %d", w.Code)
	}
}
