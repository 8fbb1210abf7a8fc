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

// replayProgress shows the progress of replays: on a terminal a bar per policy; elsewhere,
// and on a terminal that cannot move its cursor, a line per policy.
type replayProgress struct {
	diagnostics io.Writer
	bars        *mpb.Progress // nil: not on a terminal that can draw them
	bar         *mpb.Bar
}

// newReplayProgress returns the progress of a command that writes to stderr.
func newReplayProgress(stderr io.Writer) *replayProgress {
	p := &replayProgress{diagnostics: stderr}
	if _, ok := terminalOf(stderr); ok {
		p.bars = mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(48), mpb.WithRefreshRate(120*time.Millisecond))
	}
	return p
}

// trackPolicy returns the function that the replay of a policy calls after each simulated
// instant; nil where no bar is shown.
func (p *replayProgress) trackPolicy(policy string, jobs int) func(now protocol.Time, ended int) {
	if p.bars == nil {
		fmt.Fprintf(p.diagnostics, "replaying %s\n", policy)
		return nil
	}
	p.endCurrentBar()
	var at atomic.Pointer[string] // shared with the goroutine that draws the bars
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

// stopBars ends the drawing of the bars, so that later output is printed below them.
func (p *replayProgress) stopBars() {
	if p.bars == nil {
		return
	}
	p.endCurrentBar()
	p.bars.Wait()
}

// endCurrentBar completes the bar of the last policy, also if some of its jobs never ended.
func (p *replayProgress) endCurrentBar() {
	if p.bar != nil {
		p.bar.Abort(false)
	}
}
