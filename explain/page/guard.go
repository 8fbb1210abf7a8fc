package page

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/internal/loopback"
)

// guardAccess lets pass who may read. A page elsewhere whose name was pointed to this
// machine (DNS rebinding) is known by the host that it asks for; nothing here
// tells browsers that other origins may read.
func (s *pageServer) guardAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := s.opts.Token == "" || s.signedIn(r)
		if !in { // who sends what he asks for slowly holds a connection
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(answerTimeout))
		}
		switch {
		case !s.knowsHost(r.Host):
			http.Error(w, "web: this page is not served under that name; start it with --host NAME", http.StatusMisdirectedRequest)
		case s.opts.Token == "" && !loopback.IsLoopbackAddr(r.RemoteAddr):
			http.Error(w, "web: only this machine is served without a token", http.StatusForbidden)
		case s.opts.Token != "" && r.URL.Path == "/login":
			s.serveLogin(w, r)
		case in:
			next.ServeHTTP(w, r)
		case r.Method == http.MethodGet && r.URL.Path == "/":
			redirectKeepingQuery(w, r, "login")
		case strings.HasPrefix(r.URL.Path, "/static/"):
			r.SetPathValue("name", strings.TrimPrefix(r.URL.Path, "/static/"))
			s.serveStatic(w, r) // the looks of the page that asks for the token
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="gridbid"`)
			http.Error(w, "web: sign in, or send the token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		}
	})
}

// knowsHost reports whether the page may be asked for under a host's name.
func (s *pageServer) knowsHost(hostport string) bool {
	host, own := loopback.ParseHost(hostport)
	if own {
		return true
	}
	return slices.Contains(s.opts.Hosts, host) || s.opts.Token != "" && len(s.opts.Hosts) == 0
}

// redirectKeepingQuery sends a browser to another page of ours with what its address asks for: a
// decision and an instant that were sent to somebody are there when he has
// signed in.
func redirectKeepingQuery(w http.ResponseWriter, r *http.Request, to string) {
	http.Redirect(w, r, (&url.URL{Path: to, RawQuery: r.URL.RawQuery}).String(), http.StatusSeeOther)
}

// sessionCookie keeps a browser signed in: its name, and a sign of the token, not the
// token. Browsers keep cookies by host and not by port, so pages of other tokens
// on a machine have other names.
func (s *pageServer) sessionCookie() (name, sign string) {
	mac := hmac.New(sha256.New, []byte(s.opts.Token))
	mac.Write([]byte("gridbid page"))
	sign = hex.EncodeToString(mac.Sum(nil))
	return "gridbid-" + sign[:8], sign[8:]
}

func constantTimeEqual(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func (s *pageServer) signedIn(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return constantTimeEqual(token, s.opts.Token)
	}
	name, sign := s.sessionCookie()
	c, err := r.Cookie(name)
	return err == nil && constantTimeEqual(c.Value, sign)
}

// serveLogin asks for the token, and keeps the browser signed in that knows it.
func (s *pageServer) serveLogin(w http.ResponseWriter, r *http.Request) {
	wrong := false
	switch {
	case r.Method == http.MethodPost:
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
			http.Error(w, "web: sign in on the page itself", http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 4096)
		if constantTimeEqual(r.PostFormValue("token"), s.opts.Token) {
			name, sign := s.sessionCookie()
			http.SetCookie(w, &http.Cookie{Name: name, Value: sign, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
			redirectKeepingQuery(w, r, "./")
			return
		}
		wrong = true
		w.WriteHeader(http.StatusUnauthorized)
	case s.signedIn(r): // in another tab
		redirectKeepingQuery(w, r, "./")
		return
	}
	s.renderTemplate(w, "login", map[string]any{"Tag": s.tag, "Wrong": wrong})
}
