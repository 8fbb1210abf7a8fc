package natsbus

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/gridbid/gridbid/internal/boundedlog"
)

// A serverLog logs the embedded server's errors about its store, such as a full
// disk, why it does not start, and what it refuses clients. It drops other messages
// about connections, because any client could cause them without end.
type serverLog struct {
	mu    sync.Mutex
	log   *slog.Logger      // nil: not set yet
	count map[string]uint64 // by message format, without values
	fatal string

	lines boundedlog.Lines // of refusals
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

// refusals are what errors of the server say of a subject that a client may not use, and of a key that it does not
// know.
var refusals = []string{"Publish Violation", "Subscription Violation", server.ErrAuthentication.Error()}

// Errorf logs an error about the store when its count is a power of two, and what is refused a client once a second.
func (l *serverLog) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(text, r) }) {
		l.logRefusal(text)
		return
	}
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
		l.log.Error("nats-server: "+text+"; it may store nothing more until it is restarted", "times", n)
	}
}

// logRefusal logs what a client was refused. It names the client by its address and its key; what it wanted is cut.
func (l *serverLog) logRefusal(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return
	}
	leftOut, ok := l.lines.Admit()
	if !ok {
		return
	}
	l.log.Warn("nats-server: a client is refused", "what", what[:min(len(what), 400)], "refused_without_a_line", leftOut)
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
