package main

import (
	"io"
	"testing"
	"time"

	"github.com/vbauerster/mpb/v8"

	"github.com/gridbid/gridbid/protocol"
)

// A job that never ends leaves its policy's bar unfinished; nobody waits for it.
// Under the race detector: the bars are drawn while the day goes on.
func TestBarsEndThoughJobsDoNot(t *testing.T) {
	p := &progress{talk: io.Discard, bars: mpb.New(mpb.WithOutput(io.Discard), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Microsecond))}
	for _, policy := range []string{"auction", "home-fifo"} {
		told := p.of(policy, 2)
		for at := range protocol.Time(1000) {
			told(at*60_000, 0, 1)
		}
	}
	p.stop()
}
