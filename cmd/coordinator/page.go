package main

import (
	"context"
	"net/http"

	"github.com/gridbid/gridbid/coordinator/archive"
	"github.com/gridbid/gridbid/explain/mcp"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
)

// newPageHandler returns the handler of the page and of the MCP server, which follow
// the archive, the run that they show, and a function that stops following and closes the archive.
func (s checkedSetup) newPageHandler(ctx context.Context, n *archive.Archive) (http.Handler, *tail.Run, func()) {
	ctx, stop := context.WithCancel(ctx)
	run := tail.StartReading(ctx, n.Read, nil)
	rules := s.config.marketRules()
	rules.Advice = s.advice
	_ = run.ViewTimeline(ctx, func(d *timeline.Timeline) {
		d.SetReplay(query.ReplaySetup{Market: rules, Unavailable: "a live federation is no replay of a scenario"})
	})
	go func() {
		<-run.ReadingDone()
		if err := run.Err(); err != nil {
			s.Log.Error("the page stopped following the archive", "err", err)
		}
	}()
	h := page.NewPageHandler(run, page.Options{Title: "live federation", Policy: "auction", Live: true, Readers: s.auth, MCP: mcp.HTTPHandler(mcp.New(run, "live", nil))})
	return h, run, func() {
		stop()
		if err := n.Close(); err != nil {
			s.Log.Error("the archive could not be closed properly", "err", err)
		}
	}
}
