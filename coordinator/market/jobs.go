package market

import (
	"reflect"

	"github.com/gridbid/gridbid/coordinator/ledger"
	"github.com/gridbid/gridbid/protocol"
)

// submitted takes in a job. The same job again is no news; another job with the
// same id is counted and not taken, and who submitted it is told.
func (k *Market) submitted(now protocol.Time, from protocol.Party, s protocol.Submit) []protocol.Message {
	j := s.Job
	if l, ok := k.lots[j.ID]; ok {
		if reflect.DeepEqual(l.job, j) && l.task == s.Task {
			k.counts["submitted-twice"]++
			return nil
		}
		k.counts["duplicate-id"]++
		why := protocol.Reason{Code: protocol.Duplicate, Note: "another job of this id was submitted before; give this one an id of its own"}
		return []protocol.Message{k.say(now, from, protocol.Refuse{Job: j.ID, Why: why})}
	}
	// A job is not called before it arrives, should its submitter's clock be fast.
	l := &lot{job: j, task: s.Task, from: from, due: max(now, j.Arrival).Floor(k.cfg.Gather).Add(k.cfg.Gather)}
	k.lots[j.ID] = l
	bad := j.Check()
	if bad == "" && (j.Arrival < now.Add(-protocol.MaxRun) || j.Arrival > now.Add(protocol.MaxRun)) {
		bad = "arrival: over 720h from now"
	}
	if bad != "" {
		return k.refuse(now, l, protocol.Reason{Code: protocol.Malformed, Note: bad})
	}
	k.agenda.add(l)
	return nil
}

func (k *Market) refuse(now protocol.Time, l *lot, why protocol.Reason) []protocol.Message {
	l.state = ended
	return []protocol.Message{k.say(now, l.from, protocol.Refuse{Job: l.job.ID, Why: why})}
}

// hello takes in what a site is. A site that says it again, after a restart,
// replaces what it said before.
func (k *Market) hello(from protocol.Party, h protocol.Hello) {
	if h.Site == "" || from != protocol.Agent(h.Site) {
		k.counts["hello-of-stranger"]++
		return
	}
	k.sites[h.Site] = &site{hello: h}
}

// accepted takes in that a site keeps a job. It stands after the lease too, as
// long as the job has not been sold again: the site has started it.
func (k *Market) accepted(from protocol.Party, a protocol.Accept) {
	l := k.awardedTo(from, a.Job, a.Epoch)
	if l == nil || l.state == accepted || l.state == ended {
		k.counts["accept-of-nothing"]++
		return
	}
	l.state = accepted
}

// declined puts the job into the next round: a bid is a price, not a place.
func (k *Market) declined(now protocol.Time, from protocol.Party, d protocol.Decline) {
	l := k.awardedTo(from, d.Job, d.Epoch)
	if l == nil || l.state != awarded && l.state != accepted {
		k.counts["decline-of-nothing"]++
		return
	}
	k.counts["declined"]++
	k.again(now, l)
}

func (k *Market) again(now protocol.Time, l *lot) {
	l.state, l.site, l.due = waiting, "", now.Add(k.cfg.Gather)
	k.agenda.add(l)
}

func (k *Market) awardedTo(from protocol.Party, id protocol.JobID, epoch uint64) *lot {
	l := k.lots[id]
	if l == nil || l.site == "" || from != protocol.Agent(l.site) || epoch != l.epoch {
		return nil
	}
	return l
}

// done settles a job: what was measured is held against what was bid.
func (k *Market) done(now protocol.Time, from protocol.Party, d protocol.Done) []protocol.Message {
	l := k.awardedTo(from, d.Job, d.Epoch)
	if l == nil || l.state != accepted {
		k.counts["done-of-nothing"]++
		return nil
	}
	if d.Energy < 0 || d.Energy > mostEnergy || d.IT < 0 || d.IT > mostEnergy || d.Carbon < 0 || d.Carbon > mostCarbon ||
		d.Money < -mostMoney || d.Money > mostMoney || d.Ended < d.Started || d.Ended > now {
		k.counts[string(protocol.BadTerms)]++
		return nil
	}
	l.state = ended
	bid := protocol.Bill{Energy: l.option.Energy, Carbon: l.option.Carbon, Money: l.option.Money, Finish: l.option.Finish}
	measured := protocol.Bill{IT: d.IT, Energy: d.Energy, Carbon: d.Carbon, Money: d.Money, Finish: d.Ended}
	paid := ledger.Settle(bid, measured, k.cfg.Pay)
	if !k.ledger.Move(ledger.Tenant(l.job.Tenant), ledger.Site(l.site), paid) {
		k.counts["over-account-limit"]++
		paid = 0
	}
	k.trust.Observe(l.site, bid, measured)
	return []protocol.Message{k.say(now, "", protocol.Settled{
		Job: d.Job, Site: l.site, Payer: l.job.Tenant, Paid: paid,
		BidFor: bid, Counted: measured, Late: d.Ended > l.job.Deadline,
	})}
}
