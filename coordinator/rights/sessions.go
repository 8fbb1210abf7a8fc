package rights

import (
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
)

// maxSessions bounds the browsers that are signed in; a further one signs out the first.
const maxSessions = 1024

// Sessions are the browsers that are signed in. A cookie has a random text and no credential, as
// browsers send it to every port of a host.
type Sessions struct {
	cookie string // its name: another for each server, so that two on one host do not meet

	mu    sync.Mutex
	all   map[string]session // by the cookie's value
	order []string           // of signing in
}

// A session has the credential of a browser, and a text that only its own forms have.
type session struct{ token, form string }

// NewSessions returns sessions without a browser.
func NewSessions() *Sessions {
	return &Sessions{cookie: "gridbid-" + strings.ToLower(rand.Text()[:8]), all: make(map[string]session)}
}

// Begin keeps the credential of a browser that signs in, and returns its cookie.
func (s *Sessions) Begin(token string, secure bool) *http.Cookie {
	value := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == maxSessions {
		delete(s.all, s.order[0])
		s.order = s.order[1:]
	}
	s.all[value], s.order = session{token, rand.Text()}, append(s.order, value)
	return &http.Cookie{Name: s.cookie, Value: value, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
}

// of returns the session that a request belongs to; the zero session for none.
func (s *Sessions) of(r *http.Request) session {
	c, err := r.Cookie(s.cookie)
	if err != nil {
		return session{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[c.Value]
}

// TokenOf returns the credential of the session that a request belongs to; "" for none.
func (s *Sessions) TokenOf(r *http.Request) string { return s.of(r).token }

// FormOf returns the text that a form of the session of a request must have; "" without a session.
func (s *Sessions) FormOf(r *http.Request) string { return s.of(r).form }
