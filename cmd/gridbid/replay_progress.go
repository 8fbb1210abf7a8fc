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

// replayProgress shows how far a replay is: a bar per policy on a terminal, a line
// per policy elsewhere, and on one that moves no cursor.
type replayProgress struct {
	diagnostics io.Writer
	bars        *mpb.Progress // nil: not on a terminal that can draw them
	bar         *mpb.Bar
}

func newReplayProgress(talk io.Writer) *replayProgress {
	p := &replayProgress{diagnostics: talk}
	if _, ok := terminalOf(talk); ok {
		p.bars = mpb.New(mpb.WithOutput(talk), mpb.WithWidth(48), mpb.WithRefreshRate(120*time.Millisecond))
	}
	return p
}

// trackPolicy returns what the replay of a policy calls after each instant.
func (p *replayProgress) trackPolicy(policy string, jobs int) func(now protocol.Time, ended int) {
	if p.bars == nil {
		fmt.Fprintf(p.diagnostics, "replaying %s\n", policy)
		return nil
	}
	p.endCurrentBar()
	var at atomic.Pointer[string] // the bars are drawn by themselves
	at.Store(new(string))
	p.bar = p.bars.AddBar(int64(max(jobs, 1)),
		mpb.PrependDecorators(decor.Name(policy, decor.WC{W: 20, C: decor.DindentRight})),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d jobs", decor.WCSyncSpace), decor.Any(func(decor.Statistics) string { return "  " + *at.Load() })))
	return func(now protocol.Time, ended int) {
		text := now.StdTime().Format("Mon 15:04")
		at.Store(&text)
		p.bar.SetCurrent(int64(ended))
	}
}

// stopBars leaves the bars as they are, so that what follows stands below them.
func (p *replayProgress) stopBars() {
	if p.bars == nil {
		return
	}
	p.endCurrentBar()
	p.bars.Wait()
}

// endCurrentBar ends the last bar, whose jobs may not all have ended.
func (p *replayProgress) endCurrentBar() {
	if p.bar != nil {
		p.bar.Abort(false)
	}
}
