package natsbus

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A serverLog logs the embedded server's errors about its store, such as a full
// disk, and why it does not start. It drops messages about connections, because
// any client could cause them without end.
type serverLog struct {
	mu    sync.Mutex
	log   *slog.Logger      // nil: not set yet
	count map[string]uint64 // by message format, without values
	fatal string
}

// startServer starts a server; an error says why it does not accept connections.
func (l *serverLog) startServer(srv *server.Server) error {
	srv.SetLogger(l, false, false)
	srv.Start()
	for end := time.Now().Add(serverTimeout); !srv.ReadyForConnections(serverTimeout / 100); {
		l.mu.Lock()
		why := l.fatal
		l.mu.Unlock()
		if why == "" && time.Now().Before(end) {
			continue
		}
		return errors.New("the server does not start: " + cmp.Or(why, "no answer in "+serverTimeout.String()))
	}
	return nil
}

// forwardTo sets the log.
func (l *serverLog) forwardTo(log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = log
}

// Errorf logs an error about the store when its count is a power of two.
func (l *serverLog) Errorf(format string, v ...any) {
	if !strings.HasPrefix(format, "JetStream") && !strings.HasPrefix(format, "Filestore") {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return
	}
	if l.count == nil {
		l.count = make(map[string]uint64)
	}
	l.count[format]++
	if n := l.count[format]; bits.OnesCount64(n) == 1 {
		l.log.Error("nats-server: "+fmt.Sprintf(format, v...)+"; it may store nothing more until it is restarted", "times", n)
	}
}

// Fatalf records why the server does not start or ends.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fatal = fmt.Sprintf(format, v...)
	if l.log != nil {
		l.log.Error("nats-server: " + l.fatal)
	}
}

// Warnf is silent, as are those below: they report normal events.
func (*serverLog) Warnf(string, ...any) {}

// Noticef is silent.
func (*serverLog) Noticef(string, ...any) {}

// Debugf is silent.
func (*serverLog) Debugf(string, ...any) {}

// Tracef is silent.
func (*serverLog) Tracef(string, ...any) {}
