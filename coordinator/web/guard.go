package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/internal/local"
)

// cookie keeps a browser signed in. It holds a sign of the token, not the token.
const cookie = "gridbid"

// guard lets pass who may read. A page elsewhere whose name was pointed to this
// machine (DNS rebinding) is known by the host that it asks for; nothing here
// tells browsers that other origins may read.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !s.knows(r.Host):
			http.Error(w, "web: this page is not served under that name; start it with --host NAME", http.StatusMisdirectedRequest)
		case s.opts.Token == "" && !local.From(r.RemoteAddr):
			http.Error(w, "web: only this machine is served without a token", http.StatusForbidden)
		case s.opts.Token == "" || s.signedIn(r):
			next.ServeHTTP(w, r)
		case r.URL.Path == "/login":
			s.login(w, r)
		case r.Method == http.MethodGet && r.URL.Path == "/":
			http.Redirect(w, r, "login", http.StatusSeeOther)
		case strings.HasPrefix(r.URL.Path, "/static/"):
			r.SetPathValue("name", strings.TrimPrefix(r.URL.Path, "/static/"))
			s.static(w, r) // the looks of the page that asks for the token
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="gridbid"`)
			http.Error(w, "web: sign in, or send the token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		}
	})
}

// knows reports whether the page may be asked for under a host's name.
func (s *server) knows(hostport string) bool {
	host, own := local.Host(hostport)
	if own {
		return true
	}
	return slices.Contains(s.opts.Hosts, host) || s.opts.Token != "" && len(s.opts.Hosts) == 0
}

func (s *server) sign() string {
	mac := hmac.New(sha256.New, []byte(s.opts.Token))
	mac.Write([]byte("gridbid page"))
	return hex.EncodeToString(mac.Sum(nil))
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func (s *server) signedIn(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(token, s.opts.Token)
	}
	c, err := r.Cookie(cookie)
	return err == nil && same(c.Value, s.sign())
}

// login asks for the token, and keeps the browser signed in that knows it.
func (s *server) login(w http.ResponseWriter, r *http.Request) {
	wrong := false
	if r.Method == http.MethodPost {
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
			http.Error(w, "web: sign in on the page itself", http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 4096)
		if same(r.PostFormValue("token"), s.opts.Token) {
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.sign(), Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "./", http.StatusSeeOther)
			return
		}
		wrong = true
		w.WriteHeader(http.StatusUnauthorized)
	}
	s.render(w, "login", map[string]any{"Tag": s.tag, "Wrong": wrong})
}
