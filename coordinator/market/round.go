package market

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// A round is the jobs that are called now, and what was offered for them.
type round struct {
	opened protocol.Time
	closes protocol.Time
	full   bool
	lots   []*lot           // by arrival, then id
	left   []protocol.JobID // of a full round that holds too few: who is called after it
	index  map[protocol.JobID]int
	offers map[string]protocol.Offer
}

// mostCalled bounds the jobs of a call in bytes: a call that is too long to be said
// would end the coordinator's term, and the next one's. The rest is for prices.
const mostCalled = protocol.MaxMessage / 2

// open calls all lots that are due. An award that nobody accepted before its
// lease ended is due too: the site declines if it hears of it later, so the job
// can be sold again. When the time of a full round has come all waiting lots are
// due, because none is held past it.
func (k *Market) open(now protocol.Time) (said []protocol.Message) {
	r := &round{
		opened: now, closes: now.Add(k.cfg.Window), full: now >= k.replan,
		index: make(map[protocol.JobID]int), offers: make(map[string]protocol.Offer),
	}
	for size := 0; len(r.lots) < k.cfg.Most && size < mostCalled; {
		l := k.agenda.take(now, k.lots)
		if l == nil {
			break
		}
		if l.state == accepted { // and to be stopped: it may not have been heard
			said = append(said, k.stop(now, l))
			continue
		}
		if now > l.job.Deadline.Add(k.cfg.Patience) && l.tries > 0 {
			said = append(said, k.refuse(now, l, protocol.Reason{Code: protocol.NoOffer, Note: "no site could run it in time"})...)
			continue
		}
		if l.state == awarded {
			k.counts["lease-ended"]++
			l.lapsed()
		}
		l.state = called
		r.lots, size = append(r.lots, l), size+l.job.Size()
	}
	if len(r.lots) == 0 {
		return said
	}
	slices.SortFunc(r.lots, func(x, y *lot) int {
		return cmp.Or(cmp.Compare(x.job.Arrival, y.job.Arrival), cmp.Compare(x.job.ID, y.job.ID))
	})
	if r.full {
		r.left = k.leftOut(now)
		// Signals of the hour are heard by then.
		k.replan = now.Floor(k.cfg.Replan).Add(k.cfg.Replan + k.cfg.Gather)
	}
	if k.unsaid {
		said = append(said, k.proclaim(now)...)
	}
	k.round = r
	k.rounds++
	call := protocol.Call{Round: k.rounds, Closes: r.closes, Terms: k.cfg.Terms, Shadow: k.rule.Shadow(), MaxBytes: k.cfg.MaxOfferBytes, Planning: k.cfg.Planning}
	for i, l := range r.lots {
		call.Jobs = append(call.Jobs, l.job)
		r.index[l.job.ID] = i
	}
	return append(said, k.say(now, "", call))
}

// leftOut returns who waits though a full round was filled, sorted: the plan keeps
// their places until they are called, which is next.
func (k *Market) leftOut(now protocol.Time) (ids []protocol.JobID) {
	if due := k.agenda.first(k.lots); due == 0 || due > now {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		if k.lots[id].state == waiting {
			ids = append(ids, id)
		}
	}
	return ids
}

// offered takes in a site's answer. When all sites have answered there is
// nothing more to wait for.
func (k *Market) offered(now protocol.Time, m protocol.Message, o protocol.Offer) (said []protocol.Message) {
	from, site := m.From, m.From.Site()
	r := k.round
	switch {
	case k.sites[site] == nil || from != protocol.Agent(site):
		k.counts["offer-of-stranger"]++
		if site == "" || from != protocol.Agent(site) {
			return nil
		}
		return []protocol.Message{k.say(now, from, protocol.Confirm{Code: protocol.UnknownSite})}
	case r == nil || o.Round != k.rounds || now > r.closes:
		k.counts["offer-too-late"]++
		return nil
	}
	if _, ok := r.offers[site]; ok {
		k.counts["offer-twice"]++
		return nil
	}
	if now >= k.sites[site].told.Add(insist) {
		said = k.back(now, site)
	}
	r.offers[site] = k.believable(site, byOurClock(o, m.At, r.opened, now))
	if k.sites[site].silent {
		k.stir(now)
	}
	if len(r.offers) < len(k.sites) {
		return said
	}
	return append(said, k.close(now)...)
}

// byOurClock moves the options of a site whose clock goes ahead or behind: it
// spoke between the call and now, whatever it says.
func byOurClock(o protocol.Offer, said, opened, now protocol.Time) protocol.Offer {
	off := min(max(said, opened), now) - said
	if off == 0 {
		return o
	}
	o.Jobs = slices.Clone(o.Jobs)
	for i := range o.Jobs {
		o.Jobs[i].Options = slices.Clone(o.Jobs[i].Options)
		for k := range o.Jobs[i].Options {
			x := &o.Jobs[i].Options[k]
			x.Start, x.Finish = x.Start+off, x.Finish+off
		}
	}
	return o
}

// close has the rule clear the round, and says what came of it.
func (k *Market) close(now protocol.Time) (said []protocol.Message) {
	r := k.round
	k.round = nil
	// The accept of a lease that had ended may have come after the call.
	r.lots = slices.DeleteFunc(r.lots, func(l *lot) bool { return l.state != called })
	clear(r.index)
	for i, l := range r.lots {
		r.index[l.job.ID] = i
	}
	in := auction.Round{Number: k.rounds, Now: now, Next: k.replan, Full: r.full, Left: r.left, Terms: k.cfg.Terms, Planning: k.cfg.Planning, Leeway: k.leeway(now)}
	names := slices.Sorted(maps.Keys(r.offers))
	names = slices.DeleteFunc(names, func(name string) bool { return k.sites[name].drained })
	for _, name := range names {
		o := r.offers[name]
		in.Sites = append(in.Sites, auction.Site{Name: name, Room: o.Room, Grid: o.Grid, Trust: k.trust.Factor(name)})
	}
	for _, l := range r.lots {
		in.Lots = append(in.Lots, auction.Lot{Job: l.job})
	}
	impossible := make([]int, len(r.lots))
	drawn := k.drawn(now)
	for _, name := range names {
		for _, m := range r.offers[name].Jobs {
			i, ok := r.index[m.Job]
			if !ok || k.holds(name, m.Job) {
				continue
			}
			job := r.lots[i].whole // rules go by the home that it was submitted with
			options, bias := k.allowed(job, name, drawn.fit(k, job, name, m.Options), r.offers[name].Grid)
			if len(options) > 0 {
				in.Lots[i].Menus = append(in.Lots[i].Menus, auction.Menu{Site: name, Options: options, Bias: bias})
			} else if len(m.Options) == 0 && never(m.Why.Code) {
				impossible[i]++
			}
		}
	}
	for i, l := range r.lots {
		heeded := l.heeded(in.Lots[i].Menus)
		k.counts["passed-over"] += len(in.Lots[i].Menus) - len(heeded)
		in.Lots[i].Menus = heeded
	}
	out := k.rule.Clear(in)
	k.unheard(now, r, out.Decisions)
	k.advisor.proof = out.Proof
	for i, l := range r.lots {
		d := out.Decisions[i]
		if impossible[i] == len(k.sites) && len(k.sites) > 0 {
			d = auction.Decision{Verdict: auction.Refuse, Why: k.commonReason(r, l.job.ID)}
		}
		k.advisor.rulings = append(k.advisor.rulings, ruling{lot: l, is: d})
	}
	for i := range k.advisor.rulings {
		if len(k.advisor.rulings[i].is.Near) > 0 {
			said = append(said, k.ask(now, &k.advisor.rulings[i]))
		}
	}
	if k.advisor.open > 0 {
		return said
	}
	return k.announce(now)
}

// unheard notes which sites did not answer. They may have what no other has, so
// a job that nobody offered for is called again before the next full round; also
// where nobody is known yet.
func (k *Market) unheard(now protocol.Time, r *round, all []auction.Decision) {
	for _, name := range slices.Sorted(maps.Keys(k.sites)) {
		_, answered := r.offers[name]
		k.sites[name].silent = !answered
	}
	missing := len(k.sites) - len(r.offers)
	k.counts["silent-site"] += missing
	if missing == 0 && len(k.sites) > 0 {
		return
	}
	for i := range all {
		if d := &all[i]; d.Verdict == auction.Hold && d.Why.Code == protocol.NoOffer {
			d.Until = now
		}
	}
}

// never reports whether a site that says c will never be able to run the job.
func never(c protocol.Code) bool {
	return c == protocol.NotAllowed || c == protocol.NoModel || c == protocol.TooBig
}

// commonReason gathers why no site will ever run a job.
func (k *Market) commonReason(r *round, id protocol.JobID) protocol.Reason {
	why := protocol.Reason{Code: protocol.NotAllowed}
	for _, name := range slices.Sorted(maps.Keys(r.offers)) {
		for _, m := range r.offers[name].Jobs {
			if m.Job == id && m.Why.Code != protocol.NotAllowed {
				why = m.Why
			}
		}
	}
	return why
}

func (k *Market) decide(now protocol.Time, l *lot, d auction.Decision, proof protocol.Certificate) protocol.Message {
	l.ruled()
	switch d.Verdict {
	case auction.Award:
		l.state, l.site, l.option, l.due = awarded, d.Site, d.Option, now.Add(k.cfg.Lease)
		if l.epoch == 0 {
			k.earn(l)
		}
		l.epoch = max(l.epoch, k.epochs) + 1
		l.why, l.lease, l.pause = d.Why, l.due, d.Pause
		k.agenda.add(l)
		return k.say(now, protocol.Agent(d.Site), protocol.Award{
			Round: k.rounds, Job: l.job.ID, Epoch: l.epoch, Option: d.Option, Queue: d.Queue, Firm: policy.Binds(k.policy, l.whole, d.Site, now, d.Option.Start),
			Lease: l.due, Why: d.Why, Proof: proof, Task: l.task, Pause: d.Pause,
		})
	case auction.Refuse:
		return k.refuse(now, l, d.Why)[0]
	default:
		k.hold(now, l, d)
		h := protocol.Hold{Round: k.rounds, Job: l.job.ID, Until: l.due, Why: d.Why, Site: d.Site}
		if d.Site != "" {
			h.Start = d.Option.Start
		}
		return k.say(now, l.from, h)
	}
}
