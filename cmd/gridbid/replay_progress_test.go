package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vbauerster/mpb/v8"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A job that never ends leaves its policy's bar unfinished; nobody waits for it.
// Under the race detector: the bars are drawn while the day goes on.
func TestBarsEndThoughJobsDoNot(t *testing.T) {
	p := &replayProgress{diagnostics: io.Discard, policies: 2, clock: time.Now, bars: mpb.New(mpb.WithOutput(io.Discard), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Microsecond))}
	for _, policy := range []string{"auction", "home-fifo"} {
		told := p.trackPolicy(policy, 2)
		for at := range protocol.Time(1000) {
			told(at*60_000, 1)
		}
		p.policyEnded(history.Totals{Policy: policy})
	}
	p.stopBars()
}

// A terminal that moves no cursor would show what is to move it.
func TestADumbTerminalGetsLines(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal to be had: ", err)
	}
	defer tty.Close()
	for term, bars := range map[string]bool{"dumb": false, "xterm": true} {
		t.Setenv("TERM", term)
		p := newReplayProgress(tty, 1)
		if (p.bars != nil) != bars {
			t.Errorf("TERM=%s: bars %v; want %v", term, p.bars != nil, bars)
		}
		p.stopBars()
	}
}

// Without a terminal there is a line as a policy begins, one now and then with the time left, and
// one with its figures when it has ended.
func TestProgressWithoutATerminalIsPlainLines(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1_773_187_200, 0)
	p := newReplayProgress(&out, 2)
	p.clock = func() time.Time { return now }
	told := p.trackPolicy("auction", 100)
	for _, jobs := range []int{10, 20, 50} {
		now = now.Add(10 * time.Second)
		told(protocol.FromStdTime(time.Date(2026, 3, 11, 14, 0, 0, 0, time.UTC)), jobs)
	}
	now = now.Add(30 * time.Second)
	p.policyEnded(history.Totals{Policy: "auction", Jobs: 100, Late: 2, Unplaced: 1, ObjectiveUSD: 93.642, CarbonKg: 1237.52, CostUSD: 12.4})
	p.trackPolicy("home-fifo", 100)
	want := `replaying auction (1 of 2)
  Wed 14:00  20 of 100 jobs  auction  about 3m0s left
auction              objective $93.64, 1237.5 kg CO2e, $12.40, 3 of 100 jobs late, in 1m0s  about 1m0s left
replaying home-fifo (2 of 2)
`
	if got := out.String(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("a pipe got escape sequences")
	}
}
