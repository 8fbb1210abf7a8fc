// Package page is the page: what a run is doing, what was decided last and why,
// and a box to ask about it. It shows a run that goes on as it shows one that
// is over, and can turn either back to any instant.
//
// Promises: the page changes nothing, it only reads; it fetches nothing from
// anywhere else, and its policy forbids it to; names from outside are text
// wherever they appear; whoever is not on the same machine needs the token; it
// can be read without a script, by keyboard alone, and on a phone. A feed that
// was cut off goes on where it was, also after the server was started again.
//
// Everything is drawn here, by templates and by explain/chart; the script
// puts the pieces in place. What is shown comes from explain/timeline.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/chart"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/internal/loopback"
)

//go:embed static
var staticFiles embed.FS

//go:embed *.html.tmpl
var templateFiles embed.FS

var pageTemplates = template.Must(template.New("").Funcs(templateFuncs).ParseFS(templateFiles, "*.html.tmpl"))

// Options say how the page is served. The zero Options serve it to this
// machine alone.
type Options struct {
	Title             string        // of the run: scenario and policy
	Policy            string        // of the run, to find it among those that were replayed
	Live              bool          // the run goes on
	Token             string        // asked of everybody; without one only this machine is served
	Hosts             []string      // names under which the page may be asked for, beside those of this machine; with a token none is any
	MCP               http.Handler  // at /mcp; nil: there is none
	HeartbeatInterval time.Duration // between signs of life on a feed that is silent; 0 is 15 s
}

// A pageServer shows one run.
type pageServer struct {
	run  *tail.Run
	opts Options
	css  []byte
	tag  string // of everything embedded, so that a newer build is not mixed with an older one
}

// contentSecurityPolicy lets the page use what this server sends, and nothing else.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// NewPageHandler returns the page of a run.
func NewPageHandler(run *tail.Run, opts Options) http.Handler {
	if opts.HeartbeatInterval <= 0 {
		opts.HeartbeatInterval = 15 * time.Second
	}
	opts.Hosts = slices.Clone(opts.Hosts)
	for i, h := range opts.Hosts { // as requests are looked at: without a port, in small letters
		opts.Hosts[i], _ = loopback.ParseHost(h)
	}
	s := &pageServer{run: run, opts: opts}
	sheet, err := staticFiles.ReadFile("static/page.css")
	if err != nil {
		panic("web: a file in the binary cannot be read: " + err.Error())
	}
	s.css = []byte(colorVariables() + chart.InlineCSS() + string(sheet))
	s.tag = contentTag(s.css)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /at", s.serveInstant)
	mux.HandleFunc("GET /feed", s.serveFeed)
	mux.HandleFunc("GET /decision", s.serveDecision)
	mux.HandleFunc("GET /ask", s.serveAnswer)
	mux.HandleFunc("GET /events", s.serveEvents)
	mux.HandleFunc("GET /chart/{name}", s.serveChart)
	mux.HandleFunc("GET /static/{name}", s.serveStatic)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "static/icon.svg", http.StatusFound) })
	if opts.MCP != nil {
		mux.Handle("/mcp", opts.MCP)
	}
	return withSecurityHeaders(s.guardAccess(http.NewCrossOriginProtection().Handler(mux)))
}

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

func contentTag(css []byte) string {
	sum := sha256.New()
	sum.Write(css)
	_ = fs.WalkDir(staticFiles, "static", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			raw, _ := staticFiles.ReadFile(path)
			sum.Write(raw)
		}
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// serveStatic serves what is embedded. Its address has the tag, so it never changes.
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
