package market

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var cancelled = protocol.Reason{Code: protocol.Cancelled}

// cancel ends a job that no site has accepted, and has the site stop one that
// runs or waits there: that ends when the site says so. Only who submitted a job
// and the desk may ask.
func (k *Market) cancel(now protocol.Time, m protocol.Message, c protocol.Cancel) []protocol.Message {
	l := k.lots[c.Job]
	if l == nil || l.state == ended || l.stop || m.From != l.from && m.From != protocol.Desk {
		k.counts["cancel-of-nothing"]++
		return nil
	}
	k.note(m)
	if l.state != accepted {
		return k.refuse(now, l, cancelled)
	}
	l.stop = true
	return []protocol.Message{k.stop(now, l)}
}

// insist is how long a site may take to stop a job before it is told again.
const insist = 30 * time.Second

func (k *Market) stop(now protocol.Time, l *lot) protocol.Message {
	l.due = now.Add(insist)
	k.agenda.add(l)
	return k.say(now, protocol.Agent(l.site), protocol.Cancel{Job: l.job.ID, Epoch: l.epoch})
}

// drain takes a site out of the rounds, or in again. Only the desk may ask.
func (k *Market) drain(now protocol.Time, m protocol.Message, d protocol.Drain) {
	s := k.sites[d.Site]
	if s == nil || m.From != protocol.Desk {
		k.counts["drain-of-nothing"]++
		return
	}
	k.note(m)
	s.drained = !d.Over
	k.stir(now)
}
