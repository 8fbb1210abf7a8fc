package main

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/archive"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/explain/mcp"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history/tenantview"
	"github.com/gridbid/gridbid/protocol"
)

// newPageHandler returns the handler of the page and of the MCP server, which follow
// the archive, the run that they show, and a function that stops following and closes the archive.
// Tenants read and act on their own part of it.
func (s checkedSetup) newPageHandler(ctx context.Context, n *archive.Archive, d *api.Server, guard *rights.Guard) (http.Handler, *tail.Run, func()) {
	ctx, stop := context.WithCancel(ctx)
	run := tail.StartReading(ctx, n.Read, nil)
	rules := s.config.marketRules()
	rules.Advice = s.advice
	setup := query.ReplaySetup{Market: rules, Unavailable: "a live federation is no replay of a scenario"}
	_ = run.ViewTimeline(ctx, func(d *timeline.Timeline) { d.SetReplay(setup) })
	go func() {
		<-run.ReadingDone()
		if err := run.Err(); err != nil {
			s.Log.Error("the page stopped following the archive", "err", err)
		}
	}()
	own := &ownRuns{ctx: ctx, whole: run, tenants: d.TenantsOf, setup: setup}
	h := page.NewPageHandler(run, page.Options{
		Title: "live federation", Policy: "auction", Live: true, Readers: s.auth, MCP: mcp.HTTPHandler(mcp.New(run, "live", nil)),
		OwnRun: own.of, Acts: page.Acts{Cancel: d.CancelJob, Quote: d.QuoteJob, Log: d.LogOfJob, Refused: guard.LogRefusal},
	})
	return h, run, func() {
		stop()
		if err := n.Close(); err != nil {
			s.Log.Error("the archive could not be closed properly", "err", err)
		}
	}
}

// ownRuns are the parts of a run that tenants may read, each followed from its first visitor on.
type ownRuns struct {
	ctx     context.Context // of the run
	whole   *tail.Run
	tenants func(context.Context) map[string]bool
	setup   query.ReplaySetup

	mu  sync.Mutex
	all map[string]*ownRun // by the names of the tenants
	old []string           // of all, the one first that was made first
}

type ownRun struct {
	run  *tail.Run
	stop context.CancelFunc
}

// maxOwnRuns bounds the parts that are followed at a time, as each is in memory.
const maxOwnRuns = 64

// of returns the part of the principal of ctx.
func (o *ownRuns) of(ctx context.Context) (*tail.Run, error) {
	tenants := o.tenants(ctx)
	key := strings.Join(slices.Sorted(maps.Keys(tenants)), "\x00")
	o.mu.Lock()
	defer o.mu.Unlock()
	if x := o.all[key]; x != nil {
		return x.run, nil
	}
	if o.all == nil {
		o.all = make(map[string]*ownRun)
	}
	if len(o.old) == maxOwnRuns {
		o.all[o.old[0]].stop()
		delete(o.all, o.old[0])
		o.old = o.old[1:]
	}
	follow, stop := context.WithCancel(o.ctx)
	run := tail.StartReading(follow, o.follow(tenants), nil)
	_ = run.ViewTimeline(ctx, func(d *timeline.Timeline) { d.SetReplay(o.setup) })
	o.all[key], o.old = &ownRun{run, stop}, append(o.old, key)
	return run, nil
}

// follow returns a source of what tenants may read of the whole run.
func (o *ownRuns) follow(tenants map[string]bool) tail.Source {
	return func(ctx context.Context, _ uint64, each func(protocol.Message) error) error {
		view := tenantview.New(func(tenant string) bool { return tenants[tenant] })
		for read := 0; ; {
			var all []protocol.Message
			over := o.whole.HasEnded() // before looking, so that the last messages are not missed
			more, err := o.whole.ViewAndWatch(ctx, func(d *timeline.Timeline) { all = d.MarketMessages() })
			if err != nil {
				return err
			}
			for ; read < len(all); read++ {
				for _, m := range view.Show(all[read]) {
					if err := each(m); err != nil {
						return err
					}
				}
			}
			if over {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-more:
			}
		}
	}
}
