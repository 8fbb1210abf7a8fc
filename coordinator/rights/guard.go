package rights

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gridbid/gridbid/internal/boundedlog"
	"github.com/gridbid/gridbid/internal/loopback"
	"github.com/gridbid/gridbid/internal/plainerror"
)

// A Guard lets requests through to the endpoints that their principals may use. Without an
// authenticator it serves this machine alone, under its own names, and every request may do
// everything.
type Guard struct {
	auth *Authenticator
	log  *slog.Logger

	lines boundedlog.Lines // of refusals
}

// NewGuard returns a guard; a is nil where nobody is authenticated.
func NewGuard(a *Authenticator, log *slog.Logger) *Guard {
	return &Guard{auth: a, log: log}
}

// Authenticates reports whether requests need a credential.
func (g *Guard) Authenticates() bool { return g.auth != nil }

var (
	errNotLocal = errors.New("rights: only requests from this machine, under its own name, are served; beyond it the coordinator needs credentials and TLS: see docs/identity.md")
	errNotRole  = errors.New("rights: no role of this credential may do that")
)

// Protect returns the handler of an endpoint of the table, which next serves.
func (g *Guard) Protect(pattern string, next http.Handler) http.Handler {
	e, ok := endpointOf(pattern)
	if !ok {
		panic("rights: protect: no endpoint " + pattern) // the table is in this package
	}
	if g.auth == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !loopback.IsLocalRequest(r) {
				WriteError(w, http.StatusForbidden, errNotLocal)
				return
			}
			next.ServeHTTP(w, r.WithContext(with(r.Context(), everybody)))
		})
	}
	if len(e.Roles) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := BearerToken(r.Header.Values("Authorization"))
		if err != nil {
			g.refuse(w, r, e, http.StatusUnauthorized, "", err)
			return
		}
		ctx, done, err := g.auth.AdmitRequest(w, r, token)
		if err != nil {
			g.refuse(w, r, e, http.StatusUnauthorized, "", err)
			return
		}
		defer done()
		if p := Of(ctx); !e.Allows(p) {
			g.refuse(w, r, e, http.StatusForbidden, p.Name, fmt.Errorf("%w: %s", errNotRole, e.Pattern))
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// refuse answers a request that is not let through, and logs it.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, e Endpoint, code int, who string, err error) {
	if code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="gridbid"`)
		// A client that is not known must not hold a connection by sending slowly.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(5 * time.Second))
	}
	g.LogRefusal(r, who, err)
	WriteError(w, code, err)
}

// LogRefusal logs that a request of a principal, "" for none, was refused. Invariant: it logs
// nothing of the request but its method, path and sender, as headers may hold a secret.
func (g *Guard) LogRefusal(r *http.Request, who string, why error) {
	leftOut, ok := g.lines.Admit()
	if !ok {
		return
	}
	path := r.URL.Path
	if len(path) > 200 {
		path = path[:200]
	}
	g.log.Warn("request refused", "principal", who, "method", r.Method, "path", path, "from", r.RemoteAddr, "why", plainerror.Text(why), "refused_without_a_line", leftOut)
}

// WriteError answers with an error as JSON: {"error": "..."}, without names of packages.
func WriteError(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(struct {
		Error string `json:"error"`
	}{plainerror.Text(err)}) // fails if the client has gone
}
