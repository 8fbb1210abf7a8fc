package page

import (
	"context"
	"net/http"
	"sync"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/explain/timeline/tail"
)

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
