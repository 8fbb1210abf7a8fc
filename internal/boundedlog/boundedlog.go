// Package boundedlog bounds the log lines that strangers can cause: what a server refuses them. It decides whether
// a line is written, and not what it says.
package boundedlog

import (
	"sync"

	"golang.org/x/time/rate"
)

// Lines admits 20 lines at once and then one a second. The zero value is ready; it may be used from several
// goroutines.
type Lines struct {
	mu      sync.Mutex
	limiter *rate.Limiter
	leftOut int
}

// Admit reports whether a line may be written now, and how many were left out since the last that was.
func (l *Lines) Admit() (leftOut int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limiter == nil {
		l.limiter = rate.NewLimiter(1, 20)
	}
	if !l.limiter.Allow() {
		l.leftOut++
		return 0, false
	}
	leftOut, l.leftOut = l.leftOut, 0
	return leftOut, true
}
