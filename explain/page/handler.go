// Package page serves the web page of a run: its current state, recent decisions with
// their reasons, and a field for questions. It shows live and finished runs in the
// same way, at any instant.
//
// Guarantees: the page changes nothing, but for acts of visitors who are signed in (Acts), by forms
// that no other page can send; it loads nothing from other hosts, and its
// Content-Security-Policy forbids that; external names are escaped wherever they
// appear; clients on other machines need a credential; the page works without a script,
// by keyboard alone, and on a phone. An interrupted event stream continues where it
// was, after a restart of the server, too.
//
// Templates and internal/chart render everything on the server; the script only
// inserts the fragments. The data comes from explain/timeline.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/loopback"
)

//go:embed static
var staticFiles embed.FS

//go:embed *.html.tmpl
var templateFiles embed.FS

var pageTemplates = template.Must(template.New("").Funcs(templateFuncs).ParseFS(templateFiles, "*.html.tmpl"))

// Options configure the page. The zero value serves it to this machine only.
type Options struct {
	Title             string                // of the run: scenario and policy
	Policy            string                // of the run, to find it among those that were replayed
	Live              bool                  // the run goes on
	Readers           *rights.Authenticator // whose credentials may read, by the role auditor or federation-admin, or with OwnRun of a tenant; nil: this machine alone is served
	Hosts             []string              // names under which the page may be asked for, beside those of this machine; with readers none is any
	MCP               http.Handler          // at /mcp; nil: there is none
	Rivals            Rivals                // to compare with; the zero value has none
	Reads             *translate.Translator // turns questions that the grammar does not read into queries; nil: they stay unread
	OwnRun            OwnRun                // of tenants; nil: they do not read the page
	Acts              Acts                  // that visitors who are signed in may do; the zero value has none
	HeartbeatInterval time.Duration         // between signs of life on a feed that is silent; 0 is 15 s
}

// A pageServer serves one run.
type pageServer struct {
	run  *tail.Run
	opts Options

	sessions *rights.Sessions

	css []byte
	tag string // hash of everything embedded, so that caches do not mix builds

	rival rivalCache
	own   ownPages
}

// contentSecurityPolicy allows the page to load from this server only.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// NewPageHandler returns the handler of a run's page.
func NewPageHandler(run *tail.Run, opts Options) http.Handler {
	if opts.HeartbeatInterval <= 0 {
		opts.HeartbeatInterval = 15 * time.Second
	}
	opts.Hosts = slices.Clone(opts.Hosts)
	for i, h := range opts.Hosts { // normalized like requests: lower case, without a port
		opts.Hosts[i], _ = loopback.ParseHost(h)
	}
	s := &pageServer{run: run, opts: opts, sessions: rights.NewSessions()}
	sheet, err := staticFiles.ReadFile("static/page.css")
	if err != nil {
		panic("page: read an embedded file: " + err.Error())
	}
	// Colours of charts are defined in Go, so the style sheet is assembled.
	s.css = []byte(colorVariables() + chart.InlineCSS() + string(sheet))
	s.tag = contentTag(s.css)
	// Every response has the headers, refusals too; cross-origin writes are refused
	// before any handler.
	return withSecurityHeaders(s.guardAccess(http.NewCrossOriginProtection().Handler(s.routes())))
}

// routes returns what serves the paths of the page.
func (s *pageServer) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /at", s.serveInstant)
	mux.HandleFunc("GET /jobs", s.serveJobs)
	mux.HandleFunc("GET /versus", s.serveComparison)
	mux.HandleFunc("GET /feed", s.serveEarlierDecisions)
	mux.HandleFunc("GET /decision", s.serveDecision)
	mux.HandleFunc("GET /ask", s.serveAnswer)
	mux.HandleFunc("GET /events", s.serveEvents)
	mux.HandleFunc("GET /chart/{name}", s.serveChart)
	mux.HandleFunc("GET /static/{name}", s.serveStatic)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "static/icon.svg", http.StatusFound) })
	mux.HandleFunc("GET /act", s.serveActForm)
	mux.HandleFunc("GET /log", s.serveLog)
	mux.HandleFunc("POST /cancel", s.serveCancel)
	mux.HandleFunc("POST /quote", s.serveQuote)
	if s.opts.MCP != nil {
		mux.Handle("/mcp", s.opts.MCP)
	}
	return mux
}

// withSecurityHeaders sets the security headers of every response.
func withSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// contentTag returns a hash of the style sheet and all static files.
func contentTag(css []byte) string {
	sum := sha256.New()
	sum.Write(css)
	files, _ := staticFiles.ReadDir("static") // embedded files can always be read
	for _, f := range files {
		raw, _ := staticFiles.ReadFile("static/" + f.Name())
		sum.Write(raw)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// serveStatic serves embedded files. Addresses contain the tag, so responses never change
// and are cached forever.
func (s *pageServer) serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	raw, err := staticFiles.ReadFile("static/" + name)
	kind, known := map[string]string{"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[name[strings.LastIndex(name, ".")+1:]]
	if err != nil || !known {
		http.NotFound(w, r)
		return
	}
	if name == "page.css" {
		raw = s.css
	}
	if r.URL.RawQuery == s.tag {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write(raw)
}
