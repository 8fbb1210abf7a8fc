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

// guardAccess admits requests that may read. It checks the Host header, because a foreign
// page can point its own name at this machine (DNS rebinding); no response allows
// other origins to read (no CORS headers).
func (s *pageServer) guardAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := s.opts.Token == "" || s.signedIn(r)
		if !in { // an unauthenticated client must not hold a connection by sending slowly
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(answerTimeout))
		}
		switch {
		case !s.servesHost(r.Host):
			http.Error(w, "page: unknown host name: start the page with --host NAME", http.StatusMisdirectedRequest)
		case s.opts.Token == "" && !loopback.IsLoopbackAddr(r.RemoteAddr):
			http.Error(w, "page: without a token only this machine is served: set a token", http.StatusForbidden)
		case s.opts.Token != "" && r.URL.Path == "/login":
			s.serveLogin(w, r)
		case in:
			next.ServeHTTP(w, r)
		case r.Method == http.MethodGet && r.URL.Path == "/":
			redirectKeepingQuery(w, r, "login")
		case strings.HasPrefix(r.URL.Path, "/static/"):
			r.SetPathValue("name", strings.TrimPrefix(r.URL.Path, "/static/"))
			s.serveStatic(w, r) // the style of the login page
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="gridbid"`)
			http.Error(w, "page: sign in, or send the header Authorization: Bearer TOKEN", http.StatusUnauthorized)
		}
	})
}

// servesHost reports whether the page is served under a host name: those of this machine always,
// and the configured ones. With a token and no configured name any will do.
func (s *pageServer) servesHost(hostport string) bool {
	host, own := loopback.ParseHost(hostport)
	if own {
		return true
	}
	return slices.Contains(s.opts.Hosts, host) || s.opts.Token != "" && len(s.opts.Hosts) == 0
}

// redirectKeepingQuery redirects to another path and keeps the query, so that a shared link to a
// decision and an instant works after signing in.
func redirectKeepingQuery(w http.ResponseWriter, r *http.Request, to string) {
	http.Redirect(w, r, (&url.URL{Path: to, RawQuery: r.URL.RawQuery}).String(), http.StatusSeeOther)
}

// sessionCookie returns name and value of the login cookie. The value is an HMAC of the
// token, not the token. Browsers share cookies between ports of a host, so the name
// depends on the token, too.
func (s *pageServer) sessionCookie() (name, sign string) {
	mac := hmac.New(sha256.New, []byte(s.opts.Token))
	mac.Write([]byte("gridbid page"))
	sign = hex.EncodeToString(mac.Sum(nil))
	return "gridbid-" + sign[:8], sign[8:]
}

// constantTimeEqual compares in constant time, and independent of length.
func constantTimeEqual(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// signedIn reports whether a request has the token or a valid login cookie.
func (s *pageServer) signedIn(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return constantTimeEqual(token, s.opts.Token)
	}
	name, sign := s.sessionCookie()
	c, err := r.Cookie(name)
	return err == nil && constantTimeEqual(c.Value, sign)
}

// serveLogin serves the login form, and sets the cookie if the token is right.
func (s *pageServer) serveLogin(w http.ResponseWriter, r *http.Request) {
	wrong := false
	switch {
	case r.Method == http.MethodPost:
		// Only the page itself may post to its form.
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
			http.Error(w, "page: cross-site login is not allowed: sign in on the page itself", http.StatusForbidden)
			return
		}
		// A client that is not signed in must not make the server read much.
		r.Body = http.MaxBytesReader(w, r.Body, 4096)
		if constantTimeEqual(r.PostFormValue("token"), s.opts.Token) {
			name, sign := s.sessionCookie()
			http.SetCookie(w, &http.Cookie{Name: name, Value: sign, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
			redirectKeepingQuery(w, r, "./")
			return
		}
		wrong = true
		w.WriteHeader(http.StatusUnauthorized)
	case s.signedIn(r): // signed in in another tab
		redirectKeepingQuery(w, r, "./")
		return
	}
	s.renderTemplate(w, "login", map[string]any{"Tag": s.tag, "Wrong": wrong})
}
