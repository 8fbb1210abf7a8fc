package archive

import "github.com/gridbid/gridbid/protocol"

// A clerk notes what a coordinator takes in, in the order in which it does, so
// that whoever has the ledger can make its rounds again.
type clerk struct {
	mouth protocol.Mouth
	at    protocol.Time
	is    protocol.Heard // not written yet
}

// atOnce bounds what one note holds; a step takes some 20 bytes.
const atOnce = 4096

// begin begins a life from the facts of earlier ones. Steps of the last that led
// to nothing yet are not noted: nobody knows whether they were taken.
func (c *clerk) begin(now protocol.Time, life uint32, books []protocol.Step, rules string) {
	c.mouth, c.at = protocol.Mouth{Who: protocol.Clerk, Life: life}, now
	c.is = protocol.Heard{Life: uint64(life), Rules: rules, Books: books}
}

// took notes a step.
func (c *clerk) took(now protocol.Time, m *protocol.Message) {
	s := protocol.Step{At: now}
	if m != nil {
		s.From, s.Seq = m.From, m.Seq
	}
	c.at, c.is.Steps = now, append(c.is.Steps, s)
}

// notes returns what was noted since the last time.
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
