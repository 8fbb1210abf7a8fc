package archive

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An inputLogger records the inputs of a coordinator in the order in which it processes
// them, so that a reader of the ledger can replay its rounds.
type inputLogger struct {
	sender  protocol.Sender
	at      protocol.Time
	pending protocol.InputLog // inputs that were not written yet
}

// maxInputsPerMessage bounds the inputs in one record; each takes some 20 bytes.
const maxInputsPerMessage = 4096

// timeMarkEvery is how far the end of a record may be behind the clock of its coordinator.
const timeMarkEvery = 10 * time.Second

// beginIncarnation starts an incarnation with the events that it was restored from. Inputs of
// the previous one that led to no event are not among them: the log does not
// show whether it processed them.
func (c *inputLogger) beginIncarnation(now protocol.Time, incarnation uint32, restored []protocol.Input, rules string) {
	c.sender, c.at = protocol.Sender{Party: protocol.InputRecorder, Incarnation: incarnation}, now
	c.pending = protocol.InputLog{Incarnation: uint64(incarnation), Rules: rules, Restored: restored}
}

// logInput records an input; m is nil for a tick of the clock.
func (c *inputLogger) logInput(now protocol.Time, m *protocol.Message) {
	s := protocol.Input{At: now}
	if m != nil {
		s.From, s.Seq = m.From, m.Seq
	}
	c.at, c.pending.Steps = now, append(c.pending.Steps, s)
}

// timeMark returns a message without inputs, which says what time it is.
func (c *inputLogger) timeMark(now protocol.Time) protocol.Message {
	return c.sender.NewMessage(now, protocol.InputRecorder, protocol.InputLog{Incarnation: c.pending.Incarnation})
}

// takeMessages returns the inputs recorded since the previous call, as messages.
func (c *inputLogger) takeMessages() (all []protocol.Message) {
	h := c.pending
	c.pending = protocol.InputLog{Incarnation: h.Incarnation}
	for len(h.Restored) > maxInputsPerMessage {
		all = append(all, c.sender.NewMessage(c.at, protocol.InputRecorder, protocol.InputLog{Incarnation: h.Incarnation, Rules: h.Rules, Restored: h.Restored[:maxInputsPerMessage]}))
		h.Restored, h.Rules = h.Restored[maxInputsPerMessage:], ""
	}
	if h.Rules == "" && len(h.Restored)+len(h.Steps) == 0 {
		return all
	}
	return append(all, c.sender.NewMessage(c.at, protocol.InputRecorder, h))
}
