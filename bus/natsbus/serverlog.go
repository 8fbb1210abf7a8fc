package natsbus

import (
	"fmt"
	"log/slog"
	"math/bits"
	"strings"
	"sync"
)

// A serverLog hands on what a server says of its store, as that its disk is full. What
// it says of connections, whoever connects may have it say without end.
type serverLog struct {
	log *slog.Logger

	mu    sync.Mutex
	count map[string]uint64 // by what is said, without its figures
}

// Errorf says something each time that its count has doubled.
func (l *serverLog) Errorf(format string, v ...any) {
	if !strings.HasPrefix(format, "JetStream") && !strings.HasPrefix(format, "Filestore") {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == nil {
		l.count = make(map[string]uint64)
	}
	l.count[format]++
	if n := l.count[format]; bits.OnesCount64(n) == 1 {
		l.log.Error("nats-server: "+fmt.Sprintf(format, v...)+"; it may keep nothing more until it is started again", "times", n)
	}
}

// Fatalf says why the server ends.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.log.Error("nats-server: " + fmt.Sprintf(format, v...))
}

// Warnf is silent, as are those below: they say what may well be.
func (*serverLog) Warnf(string, ...any) {}

// Noticef is silent.
func (*serverLog) Noticef(string, ...any) {}

// Debugf is silent.
func (*serverLog) Debugf(string, ...any) {}

// Tracef is silent.
func (*serverLog) Tracef(string, ...any) {}
