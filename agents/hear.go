package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// numb is for how long, by its own clock, a coordinator is not heard that counts
// from the beginning again. One that was shut out by another has noticed by then.
const numb = time.Minute

// hears reports whether m is news. A coordinator whose books were lost numbers what
// it says lower than the one before it, but says it later: when it has done so for
// a while, and nobody numbers higher, it is the one that there is. Of its epochs,
// too, none is compared with those of before.
func (a *Agent) hears(m protocol.Message) bool {
	fresh := a.ears.New(m)
	if m.From != protocol.Coordinator {
		return fresh
	}
	life, _ := protocol.Lived(m.Seq)
	switch {
	case fresh && (a.doubt == 0 || life > a.doubted):
	case fresh: // it has come to where the one before it was
		clear(a.epochs)
	case m.At <= a.heard: // said before
		return false
	case a.doubt == 0:
		a.doubt, a.doubted = m.At, life
		return false
	case m.At < a.doubt.Add(numb):
		return false
	default:
		a.ears.Forget(m.From)
		a.ears.New(m)
		clear(a.epochs)
	}
	a.heard, a.doubt = max(a.heard, m.At), 0
	return true
}
