package market

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// A round is a call for bids that has not closed yet, with the bids received so far.
type round struct {
	call    callTime
	closes  protocol.Time            // when the window ends
	awaited map[string]struct{}      // sites that the round waits for, and that have not answered
	hoped   int                      // for how many sites it waited at first
	asked   int                      // bids: jobs times sites
	isAsked func(string) bool        // whether a site is asked for some job
	full    bool                     // calls every waiting lot, and has the rule plan anew
	lots    []*lot                   // by arrival, then id
	leftOut []protocol.JobID         // of a full round: waiting jobs that exceeded its limits, and are called next
	index   map[protocol.JobID]int   // position in lots
	offers  map[string]protocol.Bids // by site

	named   map[protocol.JobID]bool // the jobs for which the call names runs that may be stopped
	planned *plannedUse             // while the round is cleared
	fewer   map[protocol.JobID]bool // gangs for which quotas have room on fewer pods than sites offered
}

// maxCallBytes bounds the encoded jobs of a call: a call beyond protocol.MaxMessage cannot be
// sent, and every later leader would fail on it too. The other half leaves room for shadow prices.
const maxCallBytes = protocol.MaxMessage / 2

// openRound calls all lots that are due, up to the limits of a call. An award whose lease expired
// without an Accept is due too: the site declines if it sees the award later, so the job can be
// awarded anew. When a full round is due, all waiting lots are, because deferLot lets none wait
// past it.
func (k *Market) openRound(now protocol.Time) (msgs []protocol.Message) {
	r := &round{
		index: make(map[protocol.JobID]int), offers: make(map[string]protocol.Bids), named: make(map[protocol.JobID]bool),
	}
	if now < k.congestion.rest {
		return nil
	}
	r.lots = k.partsToCallAlone()
	for _, p := range r.lots {
		p.state = called
	}
	r.full = k.alone == nil && now >= k.replan
	var heldBack []*lot
	most := k.congestion.limitOf(k.cfg, min(len(k.sites), k.cfg.MostSites))
	for size := 0; len(r.lots) < most && size < maxCallBytes; {
		l := k.timers.popDueLot(now, k.lots)
		if l == nil {
			break
		}
		if l.state == accepted { // what asked its site to stop it may have been lost
			switch {
			case l.cancelRequested:
				msgs = append(msgs, k.requestStop(now, l))
			case l.preempt != nil:
				msgs = append(msgs, k.requestPreempt(now, l))
			default:
				msgs = append(msgs, k.pauseBeyondBudget(now, l)...)
			}
			continue
		}
		if l.state == divided {
			msgs = append(msgs, k.partsDue(now, l)...)
			continue
		}
		if k.isHeldBack(l) {
			heldBack = append(heldBack, l)
			continue
		}
		if now > l.job.Deadline.Add(k.cfg.Patience) && l.tries > 0 {
			msgs = append(msgs, k.rejectLot(now, l.wholeOrSelf(), protocol.Reason{Code: protocol.NoBids, Note: "no site could run it in time"})...)
			continue
		}
		if l.state == awarded {
			k.counts["lease-ended"]++
			l.leaseExpired()
		}
		for _, p := range l.calledTogether() {
			p.state = called
			r.lots, size = append(r.lots, p), size+p.job.MaxWireSize()
		}
	}
	for _, l := range heldBack {
		k.timers.addToTimerQueue(l)
	}
	if len(r.lots) == 0 {
		return msgs
	}
	slices.SortFunc(r.lots, func(x, y *lot) int {
		return cmp.Or(cmp.Compare(x.job.Arrival, y.job.Arrival), cmp.Compare(x.job.ID, y.job.ID))
	})
	if r.full {
		r.leftOut = k.waitingLeftOut(now)
		// Rounds follow the full interval by Gather, so that sites have their signals of the new
		// hour.
		k.replan = now.Floor(k.cfg.Replan).Add(k.cfg.Replan + k.cfg.Gather)
	}
	if k.policyUnannounced {
		msgs = append(msgs, k.announcePolicy(now)...)
	}
	k.round = r
	k.rounds++
	r.call = callTime{k.rounds, now, answerAllowance(len(r.lots), min(len(k.sites), k.cfg.MostSites))}
	var window time.Duration
	window, r.awaited = k.planWindow(r.call.allowance)
	r.asked = len(r.lots) * len(k.sites)
	r.closes = now.Add(window)
	// The call names the configured window, which depends on nothing that was measured.
	call := protocol.CallForBids{Round: k.rounds, Closes: now.Add(k.cfg.Window), Weights: k.cfg.Terms, MaxBytes: k.cfg.MaxOfferBytes, Planning: k.cfg.Planning}
	k.limitSizes(r)
	for i, l := range r.lots {
		call.Jobs = append(call.Jobs, l.asCalled())
		r.index[l.job.ID] = i
	}
	call.Preemptable = k.nameCandidates(now, r)
	k.askSites(now, r, &call)
	r.isAsked = call.SitesAsked()
	maps.DeleteFunc(r.awaited, func(name string, _ struct{}) bool { return !r.isAsked(name) })
	r.hoped = len(r.awaited)
	var own []protocol.Message
	call.ShadowPrices, own = k.announcePrices(now, k.rounds, r.isAsked)
	return append(append(msgs, own...), k.sendAndRecord(now, "", call))
}

// waitingLeftOut returns the waiting jobs, sorted, if more are due than the full round could hold, or
// the rule fixed its plans for some. The rule's plan keeps their places until the next round calls them.
func (k *Market) waitingLeftOut(now protocol.Time) (ids []protocol.JobID) {
	if due := k.timers.nextDue(k.lots); !k.plansFixed && (due == 0 || due > now) {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		if k.lots[id].state == waiting {
			ids = append(ids, id)
		}
	}
	return ids
}

// handleBids records a site's bids. The round closes once all sites that it waits for have answered.
func (k *Market) handleBids(now protocol.Time, m protocol.Message, o protocol.Bids) (msgs []protocol.Message) {
	from, site := m.From, m.From.SiteName()
	r := k.round
	switch {
	case k.sites[site] == nil || from != protocol.AgentParty(site):
		k.counts["offer-of-stranger"]++
		if site == "" || from != protocol.AgentParty(site) {
			return nil
		}
		return []protocol.Message{k.sendAndRecord(now, from, protocol.Confirm{Code: protocol.UnknownSite})} // asks it to register
	case r != nil && o.Round == k.rounds && r.offers[site].Round != 0:
		k.counts["offer-twice"]++
		return nil
	}
	if now >= k.sites[site].lastStopSent.Add(stopRetryInterval) {
		msgs = k.cancelOrphanedRuns(now, site)
	}
	if r == nil || o.Round != k.rounds || now > r.closes {
		k.keepLateBids(now, m, o)
		return msgs
	}
	k.observeAnswer(k.sites[site], r.call, now)
	r.offers[site] = k.validateBids(site, shiftToMarketClock(o, m.At, r.call.opened, now))
	k.sites[site].forecast = r.offers[site].Grid
	if k.sites[site].silent {
		k.wakeWaiting(now)
	}
	k.observeRate(now, k.sites[site], r)
	delete(r.awaited, site)
	if len(r.awaited) > 0 {
		return msgs
	}
	return append(msgs, k.closeRound(now)...)
}

// shiftToMarketClock moves the options of a site whose clock is ahead or behind. The bids were
// sent between the call and now, whatever their timestamp says.
func shiftToMarketClock(o protocol.Bids, sent, opened, now protocol.Time) protocol.Bids {
	off := min(max(sent, opened), now) - sent
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

// closeRound has the rule clear the round, and returns the messages of its decisions. If near ties
// go to the judge, it returns the questions instead, and the decisions follow with the answers.
func (k *Market) closeRound(now protocol.Time) (msgs []protocol.Message) {
	r := k.round
	missing := k.markSilentSites(now, r)
	k.congestion.roundClosed(now, k.cfg, r)
	k.addLateBids(r)
	k.round, k.lastCall = nil, r.call
	// The Accept of an expired lease may have arrived after the call: that lot has its site.
	r.lots = slices.DeleteFunc(r.lots, func(l *lot) bool { return l.state != called })
	clear(r.index)
	for i, l := range r.lots {
		r.index[l.job.ID] = i
	}
	in, impossible, against := k.roundToClear(now, r)
	k.noteOpenings(r, in)
	out := k.rule.Clear(in)
	if missing > 0 || len(k.sites) == 0 {
		callSoonWithoutBids(now, out.Decisions)
	}
	k.advisor.proof, k.advisor.cleared = out.Proof, r
	k.advisor.preempt = k.choosePreemptions(now, r, in, out.Decisions)
	for i, l := range r.lots {
		d := out.Decisions[i]
		// Every registered site answered that it can never run the job: waiting cannot help.
		switch {
		case k.noSiteCanRun(l, impossible[i]):
			d = auction.Decision{Verdict: auction.Reject, Why: k.commonRejectReason(r, l)}
		case d.Verdict == auction.Defer && d.Why.Code != protocol.Preempting && len(in.Lots[i].Bids) == 0 && against[i].Code != "":
			if d.Why = against[i]; r.fewer[l.job.ID] { // it is called again at once on as many pods as quotas allow
				d.Until = now
			}
		}
		if l.whole != nil {
			d.NearTies = nil // its place is one of a combination
		}
		k.advisor.rulings = append(k.advisor.rulings, lotRuling{lot: l, decision: d})
	}
	for i := range k.advisor.rulings {
		if len(k.advisor.rulings[i].decision.NearTies) > 0 {
			msgs = append(msgs, k.askJudge(now, &k.advisor.rulings[i]))
		}
	}
	if k.advisor.openQuestions > 0 {
		return msgs
	}
	return k.announceRulings(now)
}

// roundToClear returns what the rule sees of a round: sites that answered and are not drained, in
// the order of their names, so that the order of arrival cannot matter, and the options that policy,
// its caps and quotas allow. It also counts, by lot, the sites that can never run it, and returns why
// a cap or a quota took options from it.
func (k *Market) roundToClear(now protocol.Time, r *round) (in auction.Round, impossible []int, against []protocol.Reason) {
	in = auction.Round{Number: k.rounds, Now: now, Next: k.replan, Full: r.full, LeftOut: r.leftOut, Weights: k.cfg.Terms, Planning: k.cfg.Planning, TieTolerance: k.tieTolerance(now)}
	names := slices.Sorted(maps.Keys(r.offers))
	names = slices.DeleteFunc(names, func(name string) bool { return k.sites[name].drained })
	for _, name := range names {
		o := r.offers[name]
		in.Sites = append(in.Sites, auction.Site{Name: name, Capacity: o.Capacity, Forecast: o.Grid, Trust: k.trust.TrustFactor(name)})
	}
	for _, l := range r.lots {
		in.Lots = append(in.Lots, auction.Lot{Job: l.job})
	}
	impossible, against = make([]int, len(r.lots)), make([]protocol.Reason, len(r.lots))
	answers := r.answersByLot(names)
	planned := k.plannedUse(now, r, answers)
	r.planned = planned
	// Invariant: lots and sites are visited in one order, so that what each job may use is reserved in
	// the same order in every replay.
	for _, i := range r.claimOrder() {
		job := &r.lots[i].submitted // policy rules see the home as submitted; after a pause lot.job names the checkpoint's site
		if k.awaitsHome(r, r.lots[i]) {
			against[i] = protocol.Reason{Code: protocol.HomeSilent, Note: r.lots[i].from.SiteName()}
			continue
		}
		claim := planned.openClaim(k, job)
		for _, a := range answers[i] {
			if k.mayStillRun(a.site, job.ID) {
				continue
			}
			fitting, over := claim.withinUseCaps(a.site, a.bids.Options, r.gpusOfOptions(r.lots[i], a.site, a.bids.Options), r.gridOf(a.site))
			if over.Code != "" {
				against[i] = over
			}
			options, bias := k.allowedOptions(*job, a.site, fitting, r.offers[a.site].Grid)
			if len(options) > 0 {
				if in.Lots[i].Bids == nil {
					in.Lots[i].Bids = make([]auction.SiteBids, 0, len(answers[i]))
				}
				in.Lots[i].Bids = append(in.Lots[i].Bids, auction.SiteBids{Site: a.site, Options: options, GPUs: r.gpusOfOptions(r.lots[i], a.site, options), Bias: bias})
			} else if len(a.bids.Options) == 0 && isPermanentReason(a.bids.Why.Code) {
				impossible[i]++
				k.ruleOut(r.lots[i], a.site)
			}
		}
		if claim != nil && len(in.Lots[i].Bids) == 0 {
			r.askForFewerPods(r.lots[i], claim)
		}
		claim.closeClaim()
	}
	for i, l := range r.lots {
		// Sites that won the lot too often without keeping it lose their bids, if others bid.
		heeded := l.withoutReneging(in.Lots[i].Bids)
		k.counts["passed-over"] += len(in.Lots[i].Bids) - len(heeded)
		in.Lots[i].Bids = heeded
	}
	return in, impossible, against
}

// askForFewerPods has sites asked for a gang on as many of its pods as quotas have room for, if it may start with
// fewer and they refused all that was offered. Who was asked for so few already waits like any other.
func (r *round) askForFewerPods(l *lot, claim *jobClaim) {
	pods := 0
	if x := claim.refused; x != nil {
		pods = l.submitted.MostPodsWithin(claim.quotas.roomFor(x))
	}
	if pods > 0 && pods != l.mostPods {
		if r.fewer == nil {
			r.fewer = make(map[protocol.JobID]bool)
		}
		r.fewer[l.job.ID] = true
	}
	l.mostPods = pods
}

// A siteAnswer is what one site bids for a job.
type siteAnswer struct {
	site string
	bids *protocol.JobBids
}

// usualAnswers is how many sites are asked for a job at most, where not all are.
const usualAnswers = 64

// answersByLot returns the bids of some sites for each lot, in the order of the sites.
func (r *round) answersByLot(sites []string) [][]siteAnswer {
	out := make([][]siteAnswer, len(r.lots))
	for _, name := range sites {
		jobs := r.offers[name].Jobs
		for k := range jobs {
			if i, ok := r.index[jobs[k].Job]; ok {
				if out[i] == nil {
					out[i] = make([]siteAnswer, 0, min(len(sites), usualAnswers))
				}
				out[i] = append(out[i], siteAnswer{name, &jobs[k]})
			}
		}
	}
	return out
}

// gridOf returns the grid forecast of a site that answered; nil if it did not.
func (r *round) gridOf(site string) *protocol.GridForecast {
	o, ok := r.offers[site]
	if !ok {
		return nil
	}
	return &o.Grid
}

// claimOrder returns the order in which lots take what caps and quotas allow: a higher priority
// first, then by arrival.
func (r *round) claimOrder() []int {
	order := make([]int, len(r.lots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Compare(r.lots[y].submitted.Priority, r.lots[x].submitted.Priority)
	})
	return order
}

// markSilentSites notes which sites did not answer, and returns how many. No later round waits for
// one that this round waited for in vain.
func (k *Market) markSilentSites(now protocol.Time, r *round) (missing int) {
	for _, name := range k.siteNames {
		s := k.sites[name]
		_, answered := r.offers[name]
		if !answered && !r.isAsked(name) {
			continue
		}
		if s.silent = !answered; answered {
			continue
		}
		missing++
		if _, awaited := r.awaited[name]; awaited {
			s.missedWindows++
			s.suspectSite(now)
		}
	}
	k.counts["silent-site"] += missing
	return missing
}

// callSoonWithoutBids has jobs without bids called before the next full round. A silent site may
// have the capacity that the others lack; the same applies while no site is registered.
func callSoonWithoutBids(now protocol.Time, all []auction.Decision) {
	for i := range all {
		if d := &all[i]; d.Verdict == auction.Defer && d.Why.Code == protocol.NoBids {
			d.Until = now
		}
	}
}

// isPermanentReason reports whether a site that gives reason c can never run the job.
func isPermanentReason(c protocol.Code) bool {
	return c == protocol.NotAllowed || c == protocol.NoSuchGPU || c == protocol.FitsNoNode || c == protocol.RefusedByTerms
}

// commonRejectReason returns why no site can ever run a job. A lack of fitting GPUs tells the
// submitter more than NotAllowed, so it wins; of a gang, how much of it would fit.
func (k *Market) commonRejectReason(r *round, l *lot) protocol.Reason {
	if why, said := r.largestSetReason(l); said {
		return why
	}
	why, id := protocol.Reason{Code: protocol.NotAllowed}, l.job.ID
	for _, name := range slices.Sorted(maps.Keys(r.offers)) {
		for _, m := range r.offers[name].Jobs {
			if m.Job == id && m.Why.Code != protocol.NotAllowed {
				why = m.Why
			}
		}
	}
	return why
}

// applyDecision changes a lot by its decision, and returns the Award, Reject or Defer. A first
// award adds to the judge's budget. Epochs grow with each award of an id, also across jobs that
// reuse it.
func (k *Market) applyDecision(now protocol.Time, l *lot, d auction.Decision, proof protocol.Certificate) protocol.Message {
	l.roundDecided()
	switch d.Verdict {
	case auction.Award:
		l.state, l.site, l.option, l.due, l.mostPods = awarded, d.Site, d.Option, now.Add(k.cfg.Lease), 0
		if l.epoch == 0 {
			k.growAdviceBudget(l)
		}
		l.why, l.lease, l.pause = d.Why, l.due, d.PauseAt
		if s := k.sites[d.Site]; s != nil {
			s.runsUntil = max(s.runsUntil, d.Option.Finish)
		}
		if l.whole != nil {
			k.awardPart(now, l)
		} else {
			l.epoch = max(l.epoch, k.maxForgottenEpoch) + 1
			k.timers.addToTimerQueue(l)
		}
		places := k.advisor.cleared.placesOf(l, d.Site, d.Option)
		l.places, l.off = l.placesToKeep(places), accounts.Amounts{}
		hasBudget := len(k.quotaTree().BudgetedPathOf(l.submitted.Tenant)) > 0
		if hasBudget {
			l.off = k.offOf(&d.Option, k.advisor.cleared.gridOf(d.Site))
		}
		return k.sendAndRecord(now, protocol.AgentParty(d.Site), protocol.Award{
			Round: k.rounds, Job: l.job.ID, Epoch: l.epoch, Option: d.Option, MayQueue: d.MayQueue, NotBeforeStart: k.constrainsStart(now, &l.submitted, d),
			Lease: l.lease, Why: d.Why, Proof: proof, Task: l.task, Pause: d.PauseAt, Places: places,
			PaidOff: l.off.Money, CarbonOff: l.off.Carbon, ByMonth: hasBudget,
		})
	case auction.Reject:
		return k.rejectLot(now, l.wholeOrSelf(), d.Why)[0]
	default:
		k.deferLot(now, l, d)
		h := protocol.Defer{Round: k.rounds, Job: l.job.ID, Until: l.due, Why: d.Why, Site: d.Site}
		if d.Site != "" {
			h.Start = d.Option.Start
		}
		return k.sendAndRecord(now, l.from, h)
	}
}
