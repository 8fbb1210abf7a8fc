package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/gridbid/gridbid/protocol"
)

// progress shows how far a replay is: a bar per policy on a terminal, a line
// per policy elsewhere, and on one that moves no cursor.
type progress struct {
	talk io.Writer
	bars *mpb.Progress // nil: not on a terminal that can draw them
	bar  *mpb.Bar
}

func newProgress(talk io.Writer) *progress {
	p := &progress{talk: talk}
	if _, ok := screenOf(talk); ok {
		p.bars = mpb.New(mpb.WithOutput(talk), mpb.WithWidth(48), mpb.WithRefreshRate(120*time.Millisecond))
	}
	return p
}

// of returns what the replay of a policy calls after each instant.
func (p *progress) of(policy string, jobs int) func(now protocol.Time, ended int) {
	if p.bars == nil {
		fmt.Fprintf(p.talk, "replaying %s\n", policy)
		return nil
	}
	p.end()
	var at atomic.Pointer[string] // the bars are drawn by themselves
	at.Store(new(string))
	p.bar = p.bars.AddBar(int64(max(jobs, 1)),
		mpb.PrependDecorators(decor.Name(policy, decor.WC{W: 20, C: decor.DindentRight})),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d jobs", decor.WCSyncSpace), decor.Any(func(decor.Statistics) string { return "  " + *at.Load() })))
	return func(now protocol.Time, ended int) {
		text := now.Go().Format("Mon 15:04")
		at.Store(&text)
		p.bar.SetCurrent(int64(ended))
	}
}

// stop leaves the bars as they are, so that what follows stands below them.
func (p *progress) stop() {
	if p.bars == nil {
		return
	}
	p.end()
	p.bars.Wait()
}

// end ends the last bar, whose jobs may not all have ended.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(false)
	}
}
