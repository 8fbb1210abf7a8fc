package main

import (
	"context"
	"net/http"

	"github.com/gridbid/gridbid/coordinator/chat"
	"github.com/gridbid/gridbid/coordinator/diary"
	"github.com/gridbid/gridbid/coordinator/follow"
	"github.com/gridbid/gridbid/coordinator/mcp"
	"github.com/gridbid/gridbid/coordinator/notebook"
	"github.com/gridbid/gridbid/coordinator/web"
)

// page shows what is in a notebook, until the page is closed.
func (s setup) page(ctx context.Context, n *notebook.Notebook) (http.Handler, func()) {
	ctx, stop := context.WithCancel(ctx)
	run := follow.Start(ctx, n.Read, nil)
	rules := s.config.market()
	rules.Advice = s.advice
	_ = run.Look(ctx, func(d *diary.Diary) {
		d.Set(chat.Stage{Market: rules, Why: "a live federation is no replay of a scenario"})
	})
	go func() {
		<-run.Over()
		if err := run.Err(); err != nil {
			s.log.Error("the page stands still", "err", err)
		}
	}()
	h := web.New(run, web.Options{Title: "live federation", Policy: "auction", Live: true, MCP: mcp.HTTP(mcp.New(run, "live"))})
	return h, func() {
		stop()
		if err := n.Close(); err != nil {
			s.log.Error("the notebook has no end", "err", err)
		}
	}
}
