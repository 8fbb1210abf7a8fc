package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// incarnationGrace is for how long, by its own clock, a coordinator is not heard that counts
// from the beginning again. One that was shut out by another has noticed by then.
const incarnationGrace = time.Minute

// admitMessage reports whether m is news. A coordinator whose books were lost numbers what
// it says lower than the one before it, but says it later: when it has done so for
// a while, and nobody numbers higher, it is the one that there is. Of its epochs,
// too, none is compared with those of before.
func (a *Agent) admitMessage(m protocol.Message) bool {
	fresh := a.dedup.AdmitOnce(m)
	if m.From != protocol.Coordinator {
		return fresh
	}
	life, _ := protocol.IncarnationOf(m.Seq)
	switch {
	case fresh && (a.resetSince == 0 || life > a.resetIncarnation):
	case fresh: // it has come to where the one before it was
		clear(a.epochs)
	case m.At <= a.lastCoordinatorTime: // said before
		return false
	case a.resetSince == 0:
		a.resetSince, a.resetIncarnation = m.At, life
		return false
	case m.At < a.resetSince.Add(incarnationGrace):
		return false
	default:
		a.dedup.ForgetSender(m.From)
		a.dedup.AdmitOnce(m)
		clear(a.epochs)
	}
	a.lastCoordinatorTime, a.resetSince = max(a.lastCoordinatorTime, m.At), 0
	return true
}
