package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// incarnationGrace is how long, by the coordinator's clock, messages with lower sequence numbers
// than already seen are ignored. After it the agent assumes that the coordinator lost its event
// log and restarted from zero; by then a fenced-off former leader has stepped down.
const incarnationGrace = time.Minute

// admitMessage reports whether m is new. A coordinator that lost its event log numbers its
// messages lower than the former one but sends them later. Once it has done so for
// incarnationGrace, and no message with a higher number came, it is accepted as the coordinator;
// its epochs start anew too, so the agent forgets the former ones.
func (a *Agent) admitMessage(m protocol.Message) bool {
	fresh := a.dedup.AdmitOnce(m)
	if m.From != protocol.Coordinator {
		return fresh
	}
	incarnation, _ := protocol.IncarnationOf(m.Seq)
	switch {
	case fresh && (a.resetSince == 0 || incarnation > a.resetIncarnation):
	case fresh: // its numbers have passed those of the former coordinator
		a.forgetEpochs()
	case m.At <= a.lastCoordinatorTime: // an old message of the former coordinator
		return false
	case a.resetSince == 0:
		a.resetSince, a.resetIncarnation = m.At, incarnation
		return false
	case m.At < a.resetSince.Add(incarnationGrace):
		return false
	default:
		a.dedup.ForgetSender(m.From)
		a.dedup.AdmitOnce(m)
		a.forgetEpochs()
	}
	a.lastCoordinatorTime, a.resetSince = max(a.lastCoordinatorTime, m.At), 0
	return true
}

// forgetEpochs forgets what a former coordinator counted, of jobs and of services.
func (a *Agent) forgetEpochs() {
	clear(a.epochs)
	for _, h := range a.servicesByPriority() {
		h.revision = 0
	}
}
