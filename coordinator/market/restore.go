package market

import (
	"slices"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// Facts returns what changed the books in the last Step or Tick: what was heard
// and what was said, in order. The caller must not change it, and must write it
// down before it sends what that step said.
func (k *Market) Facts() []protocol.Message { return k.facts }

func (k *Market) note(m protocol.Message) { k.facts = append(k.facts, m) }

// Begin begins a life of a market, the life-th of its books: see protocol.Mouth.
func (k *Market) Begin(life uint32) { k.mouth.Life = life }

// Restore puts a fact back on the books of a market that has not lived yet. With
// all facts of the last life, in order, the market stands where that one stood:
// it decides nothing again. A job that was called and not decided waits, and is
// called again; the rule makes its plans anew in a full round.
func (k *Market) Restore(m protocol.Message) {
	switch m.From {
	case protocol.Coordinator:
		k.last = max(k.last, m.At)
	case protocol.Books:
	default:
		k.ears.New(m) // what was heard before is not to be heard again
	}
	switch b := m.Body.(type) {
	case protocol.Submit:
		if l := k.lots[b.Job.ID]; l != nil && l.state == ended { // it was forgotten, or this were no fact
			k.forget(b.Job.ID)
		}
		if k.lots[b.Job.ID] == nil {
			k.agenda.add(k.enter(b.Job.Arrival, m.From, b))
		}
	case protocol.Hello:
		k.greet(b)
	case protocol.Drain:
		if s := k.sites[b.Site]; s != nil {
			s.drained = !b.Over
		}
	case protocol.Policy:
		k.policy = b
	case protocol.Brought:
		k.brought(b)
	case protocol.Gone:
		for _, l := range k.abandon(m.At, b.Site) {
			k.stands(l, leaves(b))
		}
	case protocol.Settled:
		k.ledger.Move(accounts.Tenant(b.Payer), accounts.Site(b.Site), b.Paid)
		k.trust.Observe(b.Site, b.BidFor, b.Counted)
		if l := k.lots[b.Job]; l != nil && l.state != ended && !b.Part {
			k.end(m.At, l)
		}
	case protocol.Refuse:
		if l := k.lots[b.Job]; l != nil && l.state != ended && b.Why.Code != protocol.Duplicate {
			k.end(m.At, l)
			k.stands(l, protocol.Standing{State: protocol.Closed, Why: b.Why})
		}
	case protocol.Award:
		k.cleared(b.Round)
		if l := k.lots[b.Job]; l != nil {
			l.lapsed()
			l.ruled()
			l.state, l.site, l.option, l.epoch, l.due = awarded, m.To.Site(), b.Option, b.Epoch, b.Lease
			l.why, l.lease, l.pause = b.Why, b.Lease, b.Pause
			k.agenda.add(l)
		}
	case protocol.Hold:
		k.cleared(b.Round)
		if l := k.lots[b.Job]; l != nil {
			l.lapsed()
			l.ruled()
			l.state, l.due = waiting, b.Until
			if l.idle(m.At, k.cfg.Gather, b.Site); l.vain > 0 {
				k.list(l)
			}
			k.agenda.add(l)
		}
	default:
		k.restoreAnswer(m)
	}
}

// restoreAnswer puts back what was heard of a job that was awarded. It bears the
// time of whose clock it was said by, which may be ahead: so nothing is due later
// than by times of our own.
func (k *Market) restoreAnswer(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.Done:
		k.stopped(m.From, b.Job, b.Epoch)
	case protocol.Decline:
		k.stopped(m.From, b.Job, b.Epoch)
	}
	switch b := m.Body.(type) {
	case protocol.Accept:
		if l := k.awardedTo(m.From, b.Job, b.Epoch); l != nil {
			l.kept()
			l.state, l.vain = accepted, 0
			k.stands(l, l.placed(b.Start))
		}
	case protocol.Done:
		if l := k.awardedTo(m.From, b.Job, b.Epoch); l != nil && b.Left > 0 && l.pause != 0 {
			k.rest(b.Ended, l, b.Left)
		} else if l != nil {
			k.stands(l, l.closed(b))
		}
	case protocol.Decline:
		if l := k.awardedTo(m.From, b.Job, b.Epoch); l != nil {
			k.rejected(min(m.At, l.due), l)
			k.stands(l, protocol.Standing{State: protocol.Waiting, Site: m.From.Site(), Why: b.Why})
		}
	case protocol.Cancel:
		if l := k.lots[b.Job]; l != nil && l.state == accepted {
			l.stop, l.due = true, min(m.At, l.due)
			k.agenda.add(l)
		}
	}
}

// forget takes an ended job off the books, under whose id there was another later.
func (k *Market) forget(id protocol.JobID) {
	k.gone = slices.DeleteFunc(k.gone, func(g gone) bool { return g.id == id })
	delete(k.lots, id)
}

// cleared puts back how many rounds there were. Which epochs were forgotten is not on
// the books; none was above that.
func (k *Market) cleared(rounds uint64) {
	k.rounds = max(k.rounds, rounds)
	k.epochs = k.rounds
}

// brought puts back what remains of facts that were left out.
func (k *Market) brought(b protocol.Brought) {
	k.cleared(b.Rounds)
	for _, a := range b.Accounts {
		k.ledger.Bring(accounts.Account(a.Account), a.Amount)
	}
	for _, h := range b.Heard {
		k.ears.New(protocol.Message{From: h.From, Seq: h.Seq})
	}
	k.left = append(k.left, b.Strays...)
	for _, p := range b.Ended {
		if k.lots[p.Job] != nil { // likewise
			k.forget(p.Job)
		}
		k.lots[p.Job] = &lot{job: protocol.Job{ID: p.Job}, state: ended, mark: p.Mark}
		k.gone = append(k.gone, gone{p.At, p.Job})
	}
}
