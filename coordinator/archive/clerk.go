package archive

import "github.com/gridbid/gridbid/protocol"

// A clerk records the inputs of a coordinator in the order in which it processes
// them, so that a reader of the ledger can replay its rounds.
type clerk struct {
	mouth protocol.Mouth
	at    protocol.Time
	is    protocol.Heard // inputs that were not written yet
}

// atOnce bounds the inputs in one record; each takes some 20 bytes.
const atOnce = 4096

// begin starts an incarnation with the events that it was restored from. Inputs of
// the previous one that led to no event are not among them: the log does not
// show whether it processed them.
func (c *clerk) begin(now protocol.Time, life uint32, books []protocol.Step, rules string) {
	c.mouth, c.at = protocol.Mouth{Who: protocol.Clerk, Life: life}, now
	c.is = protocol.Heard{Life: uint64(life), Rules: rules, Books: books}
}

// took records an input; m is nil for a tick of the clock.
func (c *clerk) took(now protocol.Time, m *protocol.Message) {
	s := protocol.Step{At: now}
	if m != nil {
		s.From, s.Seq = m.From, m.Seq
	}
	c.at, c.is.Steps = now, append(c.is.Steps, s)
}

// notes returns the inputs recorded since the previous call, as messages.
func (c *clerk) notes() (all []protocol.Message) {
	h := c.is
	c.is = protocol.Heard{Life: h.Life}
	for len(h.Books) > atOnce {
		all = append(all, c.mouth.Say(c.at, protocol.Clerk, protocol.Heard{Life: h.Life, Rules: h.Rules, Books: h.Books[:atOnce]}))
		h.Books, h.Rules = h.Books[atOnce:], ""
	}
	if h.Rules == "" && len(h.Books)+len(h.Steps) == 0 {
		return all
	}
	return append(all, c.mouth.Say(c.at, protocol.Clerk, h))
}
