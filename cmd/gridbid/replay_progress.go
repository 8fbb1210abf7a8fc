package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// replayProgress shows the progress of replays: on a terminal a bar for the policy that is
// replayed; elsewhere, and on a terminal that cannot move its cursor, a line now and then. Both
// show the figures of each policy as it ends, and how long the rest may take.
type replayProgress struct {
	diagnostics io.Writer
	policies    int              // to be replayed
	clock       func() time.Time // the wall clock; tests replace it

	bars  *mpb.Progress // nil: not on a terminal that can draw them
	bar   *mpb.Bar
	ended int       // policies
	began time.Time // of the first policy
	from  time.Time // when the current policy began
}

// newReplayProgress returns the progress of a command that replays so many policies and writes to
// stderr.
func newReplayProgress(stderr io.Writer, policies int) *replayProgress {
	p := &replayProgress{diagnostics: stderr, policies: policies, clock: time.Now}
	if _, ok := terminalOf(stderr); ok {
		p.bars = mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(48), mpb.WithRefreshRate(120*time.Millisecond))
	}
	return p
}

// lineInterval is how often a policy that takes long gets a line where no bar is shown.
const lineInterval = 15 * time.Second

// trackPolicy begins a policy, and returns the function that its replay calls after each simulated
// instant.
func (p *replayProgress) trackPolicy(policy string, jobs int) func(now protocol.Time, ended int) {
	p.from = p.clock()
	if p.began.IsZero() {
		p.began = p.from
	}
	jobs = max(jobs, 1)
	if p.bars == nil {
		fmt.Fprintf(p.diagnostics, "replaying %s (%d of %d)\n", policy, p.ended+1, p.policies)
		next := p.from.Add(lineInterval)
		return func(now protocol.Time, ended int) {
			if at := p.clock(); !at.Before(next) {
				next = at.Add(lineInterval)
				fmt.Fprintf(p.diagnostics, "  %s  %d of %d jobs  %s%s\n", now.StdTime().Format("Mon 15:04"), ended, jobs, policy, p.timeLeft(float64(ended)/float64(jobs)))
			}
		}
	}
	var at atomic.Pointer[string] // shared with the goroutine that draws the bars
	at.Store(new(string))
	p.bar = p.bars.AddBar(int64(jobs), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(policy, decor.WC{W: 20, C: decor.DindentRight})),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d jobs", decor.WCSyncSpace), decor.Any(func(decor.Statistics) string { return "  " + *at.Load() })))
	return func(now protocol.Time, ended int) {
		text := now.StdTime().Format("Mon 15:04") + p.timeLeft(float64(ended)/float64(jobs))
		at.Store(&text)
		p.bar.SetCurrent(int64(ended))
	}
}

// minShareForTimeLeft is the share of all work from which on its pace tells what the rest takes.
const minShareForTimeLeft = 0.02

// timeLeft returns how long the rest may take, by the pace until now, if the current policy has
// done a share of its jobs: "  about 40s left"; "" while nothing can be said.
func (p *replayProgress) timeLeft(share float64) string {
	done := float64(p.ended) + min(share, 1)
	part := done / float64(max(p.policies, 1))
	if part < minShareForTimeLeft || part >= 1 {
		return ""
	}
	left := time.Duration(float64(p.clock().Sub(p.began)) * (1/part - 1))
	return "  about " + max(left.Round(time.Second), time.Second).String() + " left"
}

// policyEnded shows the figures of a policy that was replayed to its end.
func (p *replayProgress) policyEnded(t history.Totals) {
	p.endCurrentBar()
	p.ended++
	took := p.clock().Sub(p.from).Round(100 * time.Millisecond)
	line := fmt.Sprintf("%-20s objective $%.2f, %.1f kg CO2e, $%.2f, %d of %s late, in %v%s\n",
		t.Policy, t.ObjectiveUSD, t.CarbonKg, t.CostUSD, t.Late+t.Unplaced, format.CountWithNoun(t.Jobs, "job", "jobs"), took, p.timeLeft(0))
	if p.bars != nil {
		_, _ = p.bars.Write([]byte(line)) // above the bars; to a terminal, whose failure shows by itself
		return
	}
	_, _ = io.WriteString(p.diagnostics, line)
}

// stopBars ends the drawing of the bars, so that later output is printed below them.
func (p *replayProgress) stopBars() {
	if p.bars == nil {
		return
	}
	p.endCurrentBar()
	p.bars.Wait()
}

// endCurrentBar ends the bar of the last policy, also if some of its jobs never ended.
func (p *replayProgress) endCurrentBar() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bar = nil
	}
}
