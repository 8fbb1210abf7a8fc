package boundedlog

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Of a thousand lines at once twenty are written, and the next tells how many were not.
func TestLinesAreBoundedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines Lines
		var written atomic.Int64
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				for range 100 {
					if leftOut, ok := lines.Admit(); ok {
						written.Add(1 + int64(leftOut))
					}
				}
			})
		}
		all.Wait()
		if written.Load() != 20 {
			t.Fatalf("%d lines are written at once, want 20", written.Load())
		}
		for i, want := range []int{980, 0} {
			time.Sleep(time.Second)
			if leftOut, ok := lines.Admit(); !ok || leftOut != want {
				t.Errorf("line %d after a second: written %t, %d left out; want true and %d", i, ok, leftOut, want)
			}
		}
	})
}
