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

// page shows what is in a notebook, until the page is closed.
func (s setup) page(ctx context.Context, n *archive.Notebook) (http.Handler, func()) {
	ctx, stop := context.WithCancel(ctx)
	run := tail.Start(ctx, n.Read, nil)
	rules := s.config.market()
	rules.Advice = s.advice
	_ = run.Look(ctx, func(d *timeline.Diary) {
		d.Set(query.Stage{Market: rules, Why: "a live federation is no replay of a scenario"})
	})
	go func() {
		<-run.Over()
		if err := run.Err(); err != nil {
			s.Log.Error("the page stands still", "err", err)
		}
	}()
	h := page.New(run, page.Options{Title: "live federation", Policy: "auction", Live: true, MCP: mcp.HTTP(mcp.New(run, "live"))})
	return h, func() {
		stop()
		if err := n.Close(); err != nil {
			s.Log.Error("the notebook has no end", "err", err)
		}
	}
}
