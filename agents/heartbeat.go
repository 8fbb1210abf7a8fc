package agents

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// staleAfter is how old the last published hour of price or carbon intensity may be. Services are
// up to three hours late; a day-ahead market is ahead.
const staleAfter = 6 * time.Hour

// A heartbeat is when an agent says that it is alive; zero: never, as in replays.
type heartbeat struct {
	every time.Duration
	began protocol.Time // of the first
	next  protocol.Time
}

// SendHeartbeats has the agent send a Heartbeat to the coordinator every so often, from its first
// Tick on. Only a live site calls it, before the agent runs.
func (a *Agent) SendHeartbeats(every time.Duration) { a.heartbeat.every = every }

// heartbeatDue returns the heartbeat if its time has come. A clock that was set back does not
// silence the agent.
func (a *Agent) heartbeatDue(now protocol.Time) []protocol.Message {
	h := &a.heartbeat
	if h.every <= 0 || now < h.next && h.next <= now.Add(h.every) {
		return nil
	}
	if h.began == 0 {
		h.began = now
	}
	h.next = now.Add(h.every)
	return a.messageTo(now, protocol.Coordinator, protocol.Heartbeat{Every: h.every, Stale: a.staleSignals(now)})
}

// staleSignals returns why the site's signals are stale; the zero Reason if they are not. The note
// does not change while they are. A quantity of which no value ever came is stale once the agent
// has run for a while: a source that starts with it needs time to answer.
func (a *Agent) staleSignals(now protocol.Time) (why protocol.Reason) {
	var old []string
	for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon} {
		switch age := a.grid.FactAge(q, now); {
		case age == math.MaxInt64 && now.Sub(a.heartbeat.began) > staleAfter:
			old = append(old, string(q)+": nothing was ever published")
		case age > staleAfter && age != math.MaxInt64:
			old = append(old, fmt.Sprintf("%s: nothing published since %v", q, now.Add(-age)))
		}
	}
	if len(old) > 0 {
		why = protocol.Reason{Code: protocol.SignalsOld, Note: strings.Join(old, "; ")}
	}
	return why
}
