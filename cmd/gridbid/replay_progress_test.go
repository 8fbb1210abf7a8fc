package main

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/vbauerster/mpb/v8"

	"github.com/gridbid/gridbid/protocol"
)

// A job that never ends leaves its policy's bar unfinished; nobody waits for it.
// Under the race detector: the bars are drawn while the day goes on.
func TestBarsEndThoughJobsDoNot(t *testing.T) {
	p := &replayProgress{diagnostics: io.Discard, bars: mpb.New(mpb.WithOutput(io.Discard), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Microsecond))}
	for _, policy := range []string{"auction", "home-fifo"} {
		told := p.trackPolicy(policy, 2)
		for at := range protocol.Time(1000) {
			told(at*60_000, 1)
		}
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
		p := newReplayProgress(tty)
		if (p.bars != nil) != bars {
			t.Errorf("TERM=%s: bars %v; want %v", term, p.bars != nil, bars)
		}
		p.stopBars()
	}
}
