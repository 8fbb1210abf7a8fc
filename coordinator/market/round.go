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
	opened  protocol.Time
	closes  protocol.Time
	full    bool
	lots    []*lot           // by arrival, then id
	leftOut []protocol.JobID // of a full round that holds too few: who is called after it
	index   map[protocol.JobID]int
	offers  map[string]protocol.Bids
}

// maxCallBytes bounds the jobs of a call in bytes: a call that is too long to be said
// would end the coordinator's term, and the next one's. The rest is for prices.
const maxCallBytes = protocol.MaxMessage / 2

// openRound calls all lots that are due. An award that nobody accepted before its
// lease ended is due too: the site declines if it hears of it later, so the job
// can be sold again. When the time of a full round has come all waiting lots are
// due, because none is held past it.
func (k *Market) openRound(now protocol.Time) (said []protocol.Message) {
	r := &round{
		opened: now, closes: now.Add(k.cfg.Window), full: now >= k.replan,
		index: make(map[protocol.JobID]int), offers: make(map[string]protocol.Bids),
	}
	for size := 0; len(r.lots) < k.cfg.Most && size < maxCallBytes; {
		l := k.timers.popDueLot(now, k.lots)
		if l == nil {
			break
		}
		if l.state == accepted { // and to be stopped: it may not have been heard
			said = append(said, k.requestStop(now, l))
			continue
		}
		if now > l.job.Deadline.Add(k.cfg.Patience) && l.tries > 0 {
			said = append(said, k.rejectLot(now, l, protocol.Reason{Code: protocol.NoBids, Note: "no site could run it in time"})...)
			continue
		}
		if l.state == awarded {
			k.counts["lease-ended"]++
			l.leaseExpired()
		}
		l.state = called
		r.lots, size = append(r.lots, l), size+l.job.MaxWireSize()
	}
	if len(r.lots) == 0 {
		return said
	}
	slices.SortFunc(r.lots, func(x, y *lot) int {
		return cmp.Or(cmp.Compare(x.job.Arrival, y.job.Arrival), cmp.Compare(x.job.ID, y.job.ID))
	})
	if r.full {
		r.leftOut = k.waitingLeftOut(now)
		// Signals of the hour are heard by then.
		k.replan = now.Floor(k.cfg.Replan).Add(k.cfg.Replan + k.cfg.Gather)
	}
	if k.policyUnannounced {
		said = append(said, k.announcePolicy(now)...)
	}
	k.round = r
	k.rounds++
	call := protocol.CallForBids{Round: k.rounds, Closes: r.closes, Weights: k.cfg.Terms, ShadowPrices: k.rule.ShadowPrices(), MaxBytes: k.cfg.MaxOfferBytes, Planning: k.cfg.Planning}
	for i, l := range r.lots {
		call.Jobs = append(call.Jobs, l.job)
		r.index[l.job.ID] = i
	}
	return append(said, k.sendAndRecord(now, "", call))
}

// waitingLeftOut returns who waits though a full round was filled, sorted: the plan keeps
// their places until they are called, which is next.
func (k *Market) waitingLeftOut(now protocol.Time) (ids []protocol.JobID) {
	if due := k.timers.nextDue(k.lots); due == 0 || due > now {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		if k.lots[id].state == waiting {
			ids = append(ids, id)
		}
	}
	return ids
}

// handleBids takes in a site's answer. When all sites have answered there is
// nothing more to wait for.
func (k *Market) handleBids(now protocol.Time, m protocol.Message, o protocol.Bids) (said []protocol.Message) {
	from, site := m.From, m.From.SiteName()
	r := k.round
	switch {
	case k.sites[site] == nil || from != protocol.AgentParty(site):
		k.counts["offer-of-stranger"]++
		if site == "" || from != protocol.AgentParty(site) {
			return nil
		}
		return []protocol.Message{k.sendAndRecord(now, from, protocol.Confirm{Code: protocol.UnknownSite})}
	case r == nil || o.Round != k.rounds || now > r.closes:
		k.counts["offer-too-late"]++
		return nil
	}
	if _, ok := r.offers[site]; ok {
		k.counts["offer-twice"]++
		return nil
	}
	if now >= k.sites[site].lastStopSent.Add(stopRetryInterval) {
		said = k.cancelOrphanedRuns(now, site)
	}
	r.offers[site] = k.validateBids(site, shiftToMarketClock(o, m.At, r.opened, now))
	if k.sites[site].silent {
		k.wakeWaiting(now)
	}
	if len(r.offers) < len(k.sites) {
		return said
	}
	return append(said, k.closeRound(now)...)
}

// shiftToMarketClock moves the options of a site whose clock goes ahead or behind: it
// spoke between the call and now, whatever it says.
func shiftToMarketClock(o protocol.Bids, said, opened, now protocol.Time) protocol.Bids {
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

// closeRound has the rule clear the round, and says what came of it.
func (k *Market) closeRound(now protocol.Time) (said []protocol.Message) {
	r := k.round
	k.round = nil
	// The accept of a lease that had ended may have come after the call.
	r.lots = slices.DeleteFunc(r.lots, func(l *lot) bool { return l.state != called })
	clear(r.index)
	for i, l := range r.lots {
		r.index[l.job.ID] = i
	}
	in := auction.Round{Number: k.rounds, Now: now, Next: k.replan, Full: r.full, LeftOut: r.leftOut, Weights: k.cfg.Terms, Planning: k.cfg.Planning, TieTolerance: k.tieTolerance(now)}
	names := slices.Sorted(maps.Keys(r.offers))
	names = slices.DeleteFunc(names, func(name string) bool { return k.sites[name].drained })
	for _, name := range names {
		o := r.offers[name]
		in.Sites = append(in.Sites, auction.Site{Name: name, Capacity: o.Capacity, Forecast: o.Grid, Trust: k.trust.TrustFactor(name)})
	}
	for _, l := range r.lots {
		in.Lots = append(in.Lots, auction.Lot{Job: l.job})
	}
	impossible := make([]int, len(r.lots))
	drawn := k.plannedPowerDraw(now)
	for _, name := range names {
		for _, m := range r.offers[name].Jobs {
			i, ok := r.index[m.Job]
			if !ok || k.mayStillRun(name, m.Job) {
				continue
			}
			job := r.lots[i].submitted // rules go by the home that it was submitted with
			options, bias := k.allowedOptions(job, name, drawn.withinPowerCaps(k, job, name, m.Options), r.offers[name].Grid)
			if len(options) > 0 {
				in.Lots[i].Bids = append(in.Lots[i].Bids, auction.SiteBids{Site: name, Options: options, Bias: bias})
			} else if len(m.Options) == 0 && isPermanentReason(m.Why.Code) {
				impossible[i]++
			}
		}
	}
	for i, l := range r.lots {
		heeded := l.withoutReneging(in.Lots[i].Bids)
		k.counts["passed-over"] += len(in.Lots[i].Bids) - len(heeded)
		in.Lots[i].Bids = heeded
	}
	out := k.rule.Clear(in)
	k.markSilentSites(now, r, out.Decisions)
	k.advisor.proof = out.Proof
	for i, l := range r.lots {
		d := out.Decisions[i]
		if impossible[i] == len(k.sites) && len(k.sites) > 0 {
			d = auction.Decision{Verdict: auction.Reject, Why: k.commonRejectReason(r, l.job.ID)}
		}
		k.advisor.rulings = append(k.advisor.rulings, lotRuling{lot: l, decision: d})
	}
	for i := range k.advisor.rulings {
		if len(k.advisor.rulings[i].decision.NearTies) > 0 {
			said = append(said, k.askJudge(now, &k.advisor.rulings[i]))
		}
	}
	if k.advisor.openQuestions > 0 {
		return said
	}
	return k.announceRulings(now)
}

// markSilentSites notes which sites did not answer. They may have what no other has, so
// a job that nobody offered for is called again before the next full round; also
// where nobody is known yet.
func (k *Market) markSilentSites(now protocol.Time, r *round, all []auction.Decision) {
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
		if d := &all[i]; d.Verdict == auction.Defer && d.Why.Code == protocol.NoBids {
			d.Until = now
		}
	}
}

// isPermanentReason reports whether a site that says c will never be able to run the job.
func isPermanentReason(c protocol.Code) bool {
	return c == protocol.NotAllowed || c == protocol.NoSuchGPU || c == protocol.FitsNoNode
}

// commonRejectReason gathers why no site will ever run a job.
func (k *Market) commonRejectReason(r *round, id protocol.JobID) protocol.Reason {
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

func (k *Market) applyDecision(now protocol.Time, l *lot, d auction.Decision, proof protocol.Certificate) protocol.Message {
	l.roundDecided()
	switch d.Verdict {
	case auction.Award:
		l.state, l.site, l.option, l.due = awarded, d.Site, d.Option, now.Add(k.cfg.Lease)
		if l.epoch == 0 {
			k.growAdviceBudget(l)
		}
		l.epoch = max(l.epoch, k.maxForgottenEpoch) + 1
		l.why, l.lease, l.pause = d.Why, l.due, d.PauseAt
		k.timers.addToTimerQueue(l)
		return k.sendAndRecord(now, protocol.AgentParty(d.Site), protocol.Award{
			Round: k.rounds, Job: l.job.ID, Epoch: l.epoch, Option: d.Option, MayQueue: d.MayQueue, NotBeforeStart: policy.ConstrainsStart(k.policy, l.submitted, d.Site, now, d.Option.Start),
			Lease: l.due, Why: d.Why, Proof: proof, Task: l.task, Pause: d.PauseAt,
		})
	case auction.Reject:
		return k.rejectLot(now, l, d.Why)[0]
	default:
		k.deferLot(now, l, d)
		h := protocol.Defer{Round: k.rounds, Job: l.job.ID, Until: l.due, Why: d.Why, Site: d.Site}
		if d.Site != "" {
			h.Start = d.Option.Start
		}
		return k.sendAndRecord(now, l.from, h)
	}
}
