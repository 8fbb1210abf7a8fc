package loopback

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOnlyThisMachineIsLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:7480": true, "LOCALHOST.:1": true, "127.0.0.1": true, "127.9.9.9:80": true, "[::1]:80": true, "[::1]": true, "::1": true,
		"": false, "evil.example": false, "evil.example:7480": false, "127.0.0.1.evil.example": false, "10.0.0.7": false, "localhost.evil.example": false, "[::]:80": false,
	} {
		if name, own := ParseHost(host); own != want {
			t.Errorf("%q is %q, own %v; want %v", host, name, own, want)
		}
	}
	for from, want := range map[string]bool{
		"127.0.0.1:5000": true, "[::1]:5000": true, "[::ffff:127.0.0.1]:5000": true, "10.0.0.7:5000": false, "": false, "localhost:5000": false, "127.0.0.1": false,
	} {
		if got := IsLoopbackAddr(from); got != want {
			t.Errorf("from %q: %v; want %v", from, got, want)
		}
	}
}

func TestAllowLocalOnly(t *testing.T) {
	h := AllowLocalOnly(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		host, from string
		want       int
	}{{"127.0.0.1:7480", "127.0.0.1:5000", 200}, {"evil.example", "127.0.0.1:5000", 403}, {"localhost", "10.0.0.7:5000", 403}} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host, r.RemoteAddr = c.host, c.from
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("%s asks %s: %d; want %d", c.from, c.host, w.Code, c.want)
		}
	}
}
