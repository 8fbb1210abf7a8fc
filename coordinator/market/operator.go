package market

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var reasonCancelled = protocol.Reason{Code: protocol.Cancelled}

// handleCancel ends a job that no site has accepted, and has the site stop one that
// runs or waits there: that ends when the site says so. Only who submitted a job
// and the desk may ask.
func (k *Market) handleCancel(now protocol.Time, m protocol.Message, c protocol.Cancel) []protocol.Message {
	l := k.lots[c.Job]
	if l == nil || l.state == ended || l.cancelRequested || m.From != l.from && m.From != protocol.OperatorAPI {
		k.counts["cancel-of-nothing"]++
		return nil
	}
	k.recordEvent(m)
	if l.state != accepted {
		return k.rejectLot(now, l, reasonCancelled)
	}
	l.cancelRequested = true
	return []protocol.Message{k.requestStop(now, l)}
}

// stopRetryInterval is how long a site may take to stop a job before it is told again.
const stopRetryInterval = 30 * time.Second

func (k *Market) requestStop(now protocol.Time, l *lot) protocol.Message {
	l.due = now.Add(stopRetryInterval)
	k.timers.addToTimerQueue(l)
	return k.sendAndRecord(now, protocol.AgentParty(l.site), protocol.Cancel{Job: l.job.ID, Epoch: l.epoch})
}

// handleDrain takes a site out of the rounds, or in again. Only the desk may ask.
func (k *Market) handleDrain(now protocol.Time, m protocol.Message, d protocol.Drain) {
	s := k.sites[d.Site]
	if s == nil || m.From != protocol.OperatorAPI {
		k.counts["drain-of-nothing"]++
		return
	}
	k.recordEvent(m)
	s.drained = !d.Over
	k.wakeWaiting(now)
}
