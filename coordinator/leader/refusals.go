package leader

import (
	"log/slog"
	"math/bits"

	"github.com/gridbid/gridbid/protocol"
)

// A refusalLog logs submissions that the market refuses because their sender may not make them. It
// logs a sender's when their number is a power of two, so that no sender can fill the log.
type refusalLog struct {
	log   *slog.Logger
	count map[protocol.Party]uint64
}

func newRefusalLog(log *slog.Logger) *refusalLog {
	return &refusalLog{log, make(map[protocol.Party]uint64)}
}

// observe logs a message if the market will refuse it. The server has checked its sender.
func (l *refusalLog) observe(m protocol.Message) {
	s, ok := m.Body.(protocol.Submit)
	if !ok {
		return
	}
	why := m.From.WhyForeign(s.Job)
	if why == "" {
		return
	}
	l.count[m.From]++
	if n := l.count[m.From]; bits.OnesCount64(n) == 1 {
		l.log.Warn("leader: a submission is refused", "sender", string(m.From), "tenant", clip(s.Job.Tenant), "job", clip(string(s.Job.ID)), "why", why, "times", n)
	}
}

// clip shortens what a sender chose.
func clip(text string) string { return text[:min(len(text), 128)] }
