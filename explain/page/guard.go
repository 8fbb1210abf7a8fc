package page

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/explain/timeline/tail"
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
	token := s.sessions.TokenOf(r)
	if headers := r.Header.Values("Authorization"); len(headers) > 0 {
		var err error
		if token, err = rights.BearerToken(headers); err != nil {
			return r.Context(), none, false
		}
	}
	if token == "" {
		return r.Context(), none, false
	}
	ctx, done, err := s.opts.Readers.AdmitRequest(w, r, token)
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
			http.SetCookie(w, s.sessions.Begin(token, r.TLS != nil))
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

// An OwnRun returns what the principal of a context may read of a run: the same one each time, as
// long as that is the same.
type OwnRun func(ctx context.Context) (*tail.Run, error)

// ownPages are the pages of tenants, each of its own run.
type ownPages struct {
	mu  sync.Mutex
	all map[*tail.Run]http.Handler
}

// maxOwnPages bounds them; they are made anew when there are more.
const maxOwnPages = 256

// mayRead reports whether a principal may read this page.
func (s *pageServer) mayRead(p rights.Principal) bool {
	return rights.Page.Allows(p) && (p.SeesAllJobs() || s.opts.OwnRun != nil)
}

// handlerFor returns what serves the principal of a context: all, the page of the whole run, or to a
// tenant that of its own part.
func (s *pageServer) handlerFor(ctx context.Context, all http.Handler) http.Handler {
	if s.opts.Readers == nil || rights.Of(ctx).SeesAllJobs() {
		return all
	}
	run, err := s.opts.OwnRun(ctx)
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "page: "+err.Error(), http.StatusServiceUnavailable)
		})
	}
	s.own.mu.Lock()
	defer s.own.mu.Unlock()
	if h := s.own.all[run]; h != nil {
		return h
	}
	if s.own.all == nil || len(s.own.all) >= maxOwnPages {
		s.own.all = make(map[*tail.Run]http.Handler)
	}
	opts := s.opts
	opts.MCP, opts.Rivals = nil, Rivals{} // they read the whole run
	own := &pageServer{run: run, opts: opts, sessions: s.sessions, css: s.css, tag: s.tag}
	h := http.NewCrossOriginProtection().Handler(own.routes())
	s.own.all[run] = h
	return h
}
