package market

import (
	"reflect"
	"slices"

	"github.com/gridbid/gridbid/coordinator/ledger"
	"github.com/gridbid/gridbid/protocol"
)

// submitted takes in a job. The same job again is no news; another job with the
// same id is counted and not taken.
func (k *Market) submitted(now protocol.Time, from protocol.Party, j protocol.Job) []protocol.Message {
	if l, ok := k.lots[j.ID]; ok {
		if reflect.DeepEqual(l.job, j) {
			k.counts["submitted-twice"]++
		} else {
			k.counts["duplicate-id"]++
		}
		return nil
	}
	l := &lot{job: j, from: from, due: now.Floor(k.cfg.Gather).Add(k.cfg.Gather)}
	k.lots[j.ID] = l
	if bad := j.Check(); bad != "" {
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

func (k *Market) accepted(from protocol.Party, a protocol.Accept) {
	l := k.awardedTo(from, a.Job, a.Epoch)
	if l == nil || l.state != awarded {
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
	l.state, l.due = waiting, now.Add(k.cfg.Gather)
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
	if d.Energy < 0 || d.IT < 0 || d.Carbon < 0 || d.Ended < d.Started || d.Ended > now {
		k.counts[string(protocol.BadTerms)]++
		return nil
	}
	l.state = ended
	bid := protocol.Bill{Energy: l.option.Energy, Carbon: l.option.Carbon, Money: l.option.Money, Finish: l.option.Finish}
	measured := protocol.Bill{IT: d.IT, Energy: d.Energy, Carbon: d.Carbon, Money: d.Money, Finish: d.Ended}
	paid := ledger.Settle(bid, measured, k.cfg.Pay)
	k.ledger.Move(ledger.Tenant(l.job.Tenant), ledger.Site(l.site), paid)
	k.trust.Observe(l.site, bid, measured)
	return []protocol.Message{k.say(now, "", protocol.Settled{
		Job: d.Job, Site: l.site, Payer: l.job.Tenant, Paid: paid,
		BidFor: bid, Counted: measured, Late: d.Ended > l.job.Deadline,
	})}
}

// Bounds of what an option may say. They are far above what can be, and keep
// arithmetic on it safe.
const (
	mostEnergy = protocol.Millijoules(1e15)  // 278 MWh
	mostCarbon = protocol.Milligrams(1e12)   // 1,000 t
	mostMoney  = protocol.Microdollars(1e12) // a million dollars
	mostPieces = protocol.Milli(1e9)
)

// believable returns o without what cannot be: menus for jobs that were not
// called, and options that break the job's own limits or physics.
func (k *Market) believable(site string, o protocol.Offer) protocol.Offer {
	seen := make(map[protocol.JobID]bool, len(o.Jobs))
	menus := make([]protocol.Menu, 0, len(o.Jobs))
	for _, m := range o.Jobs {
		i, ok := k.round.index[m.Job]
		if !ok || seen[m.Job] {
			k.counts["offer-for-unknown-job"]++
			continue
		}
		seen[m.Job] = true
		job := k.round.lots[i].job
		kept := make([]protocol.Option, 0, len(m.Options))
		for _, opt := range m.Options {
			if k.possible(site, job, opt) {
				kept = append(kept, opt)
			} else {
				k.counts[string(protocol.BadTerms)]++
			}
		}
		if len(m.Options) > 0 && len(kept) == 0 {
			m.Why = protocol.Reason{Code: protocol.BadTerms}
		}
		m.Options = kept
		menus = append(menus, m)
	}
	o.Jobs = menus
	rooms := make([]protocol.Room, 0, len(o.Room))
	for _, r := range o.Room {
		if r.Total < 0 || r.Slot <= 0 || slices.ContainsFunc(rooms, func(q protocol.Room) bool { return q.Model == r.Model }) {
			k.counts[string(protocol.BadTerms)]++
			continue
		}
		rooms = append(rooms, r)
	}
	o.Room = rooms
	return o
}

func (k *Market) possible(site string, j protocol.Job, o protocol.Option) bool {
	return o.Start >= k.round.opened && o.Finish > o.Start && o.Finish.Sub(k.round.opened) <= 4*protocol.MaxRun &&
		o.Energy >= 0 && o.Energy <= mostEnergy && o.Carbon >= 0 && o.Carbon <= mostCarbon &&
		o.Money >= -mostMoney && o.Money <= mostMoney && o.Transfer >= 0 && o.Transfer <= mostMoney &&
		o.Fragment >= -mostPieces && o.Fragment <= mostPieces && o.Cap >= 0 &&
		(len(j.Models) == 0 || j.GPUs == 0 || slices.Contains(j.Models, o.Model)) &&
		(len(j.Regions) == 0 || slices.Contains(j.Regions, site))
}
