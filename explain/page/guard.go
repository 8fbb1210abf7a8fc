package page

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/loopback"
)

// guardAccess admits requests that may read. It checks the Host header, because a foreign
// page can point its own name at this machine (DNS rebinding); no response allows
// other origins to read (no CORS headers). A request that is served ends with its credential.
func (s *pageServer) guardAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		locked := s.opts.Readers != nil
		inside, done, in := r.Context(), func() {}, !locked
		if locked {
			inside, done, in = s.admit(w, r)
		}
		defer done()
		if !in { // an unauthenticated client must not hold a connection by sending slowly
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(answerTimeout))
		}
		switch {
		case !s.servesHost(r.Host):
			http.Error(w, "page: unknown host name: start the page with --host NAME", http.StatusMisdirectedRequest)
		case !locked && !loopback.IsLoopbackAddr(r.RemoteAddr):
			http.Error(w, "page: without credentials only this machine is served", http.StatusForbidden)
		case locked && r.URL.Path == "/login":
			s.serveLogin(w, r, in)
		case in:
			s.handlerFor(inside, next).ServeHTTP(w, r.WithContext(inside))
		case r.Method == http.MethodGet && r.URL.Path == "/":
			redirectKeepingQuery(w, r, "login")
		case strings.HasPrefix(r.URL.Path, "/static/"):
			r.SetPathValue("name", strings.TrimPrefix(r.URL.Path, "/static/"))
			s.serveStatic(w, r) // the style of the login page
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="gridbid"`)
			http.Error(w, "page: sign in, or send the header Authorization: Bearer TOKEN, with a credential that may read this page", http.StatusUnauthorized)
		}
	})
}

// admit authenticates a request by its header or the session of its cookie. The context that it
// returns ends when the credential does; done must be called when the request was served.
func (s *pageServer) admit(w http.ResponseWriter, r *http.Request) (_ context.Context, done func(), ok bool) {
	none := func() {}
	token := s.sessions.tokenOf(r)
	if headers := r.Header.Values("Authorization"); len(headers) > 0 {
		var err error
		if token, err = rights.BearerToken(headers); err != nil {
			return r.Context(), none, false
		}
	}
	if token == "" {
		return r.Context(), none, false
	}
	flow := http.NewResponseController(w)
	ctx, done, err := s.opts.Readers.Admit(r.Context(), token, func() {
		_ = flow.SetReadDeadline(time.Now())
		_ = flow.SetWriteDeadline(time.Now())
	})
	if err != nil {
		return r.Context(), none, false
	}
	if !s.mayRead(rights.Of(ctx)) {
		done()
		return r.Context(), none, false
	}
	return ctx, done, true
}

// servesHost reports whether the page is served under a host name: those of this machine always,
// and the configured ones. With credentials and no configured name any will do.
func (s *pageServer) servesHost(hostport string) bool {
	host, own := loopback.ParseHost(hostport)
	if own {
		return true
	}
	return slices.Contains(s.opts.Hosts, host) || s.opts.Readers != nil && len(s.opts.Hosts) == 0
}

// redirectKeepingQuery redirects to another path and keeps the query, so that a shared link to a
// decision and an instant works after signing in.
func redirectKeepingQuery(w http.ResponseWriter, r *http.Request, to string) {
	http.Redirect(w, r, (&url.URL{Path: to, RawQuery: r.URL.RawQuery}).String(), http.StatusSeeOther)
}

// maxSessions bounds the browsers that are signed in; a further one signs out the first.
const maxSessions = 1024

// sessions are the browsers that are signed in. A cookie has a random text and no credential, as
// browsers send it to every port of a host.
type sessions struct {
	cookie string // its name: another for each server, so that two on one host do not meet

	mu     sync.Mutex
	tokens map[string]string // by the cookie's value
	forms  map[string]string // by the cookie's value: a text that only the page's own forms have
	order  []string          // of signing in
}

func newSessions() *sessions {
	return &sessions{cookie: "gridbid-" + strings.ToLower(rand.Text()[:8]), tokens: make(map[string]string), forms: make(map[string]string)}
}

// begin keeps the credential of a browser that signs in, and returns its cookie.
func (s *sessions) begin(token string, secure bool) *http.Cookie {
	value := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == maxSessions {
		delete(s.tokens, s.order[0])
		delete(s.forms, s.order[0])
		s.order = s.order[1:]
	}
	s.tokens[value], s.forms[value], s.order = token, rand.Text(), append(s.order, value)
	return &http.Cookie{Name: s.cookie, Value: value, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
}

// tokenOf returns the credential of the session that a request belongs to; "" for none.
func (s *sessions) tokenOf(r *http.Request) string {
	c, err := r.Cookie(s.cookie)
	if err != nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[c.Value]
}

// formOf returns the text that a form of the session of a request must have; "" without a session.
func (s *sessions) formOf(r *http.Request) string {
	c, err := r.Cookie(s.cookie)
	if err != nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms[c.Value]
}

// serveLogin serves the login form, and begins a session if the credential may read. in: the
// browser is signed in.
func (s *pageServer) serveLogin(w http.ResponseWriter, r *http.Request, in bool) {
	wrong := false
	switch {
	case r.Method == http.MethodPost:
		// Only the page itself may post to its form.
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
			http.Error(w, "page: cross-site login is not allowed: sign in on the page itself", http.StatusForbidden)
			return
		}
		// A client that is not signed in must not make the server read much.
		r.Body = http.MaxBytesReader(w, r.Body, 32<<10)
		token := strings.TrimSpace(r.PostFormValue("token"))
		p, err := s.opts.Readers.Authenticate(r.Context(), token)
		if err == nil && s.mayRead(p) {
			http.SetCookie(w, s.sessions.begin(token, r.TLS != nil))
			redirectKeepingQuery(w, r, "./")
			return
		}
		wrong = true
		w.WriteHeader(http.StatusUnauthorized)
	case in: // signed in in another tab
		redirectKeepingQuery(w, r, "./")
		return
	}
	s.renderTemplate(w, "login", map[string]any{"Tag": s.tag, "Wrong": wrong})
}
