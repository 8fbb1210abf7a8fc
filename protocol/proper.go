package protocol

import "strings"

// Proper reports whether m is said by somebody who may say such a thing: see the
// package comment. Anybody may tell a coordinator anything, and it acts on little
// of that; whoever shows what was said asks first.
func (m Message) Proper() bool {
	by := func(role string) bool { return strings.HasPrefix(string(m.From), role) }
	switch b := m.Body.(type) {
	case Call, Award, Hold, Refuse, Settled, Confirm, Standing, Ask:
		return m.From == Coordinator
	case Hello:
		return b.Site != "" && m.From == Agent(b.Site)
	case Offer, Accept, Decline, Done, Meter:
		return by("agent/")
	case Launch:
		return by("agent/") && m.To == Hands(m.From.Site())
	case Started, Exited, Lost:
		return by("hands/")
	case Submit:
		return m.From.Site() == "" || by("queue/")
	}
	return true
}
