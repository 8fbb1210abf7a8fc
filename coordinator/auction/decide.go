package auction

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A ruling is a lot with what the round chose for it, on its way to a Decision.
type ruling struct {
	round   Round
	lot     Lot
	problem *problem
	index   int        // of the lot
	choice  int        // of its options by cost; -1: the round found no place for it
	option  *candidate // of choice, or its cheapest
	onOffer *candidate // see isOnOffer
}

// decideLot turns the chosen option of a lot into a decision. The first case that holds
// is the one; each has a predicate of its own. There are four kinds of end: the job is
// awarded now, reserved at a site, deferred with a place in the plan, or goes back to
// the backlog without one.
func (a *Auction) decideLot(r Round, p *problem, index, choice int) Decision {
	lot := r.Lots[index]
	if p.lots[index].candidateCount() == 0 {
		return deferToNextRound(r, lot)
	}
	x := &ruling{round: r, lot: lot, problem: p, index: index, choice: choice, option: p.lots[index].candidateAt(max(choice, 0))}
	switch {
	case x.shouldWaitForFullRound():
		return a.deferToFullRound(x)
	case x.isOnOffer():
		return x.reserveOffered()
	case x.isLateAnyway():
		return a.deferLate(x)
	case x.isOutbid():
		return Decision{Until: r.Now, Why: protocol.Reason{Code: protocol.Waiting}}
	case x.startsNow():
		return x.awardNow()
	case x.hasNoTimeToWait():
		return x.reserveAtSite(protocol.Reason{Code: protocol.Waiting})
	case !x.hasPlace():
		return deferToNextRound(r, lot)
	case x.needsRoomKept():
		return x.reserveAtSite(deferToNextRound(r, lot).Why)
	}
	return a.deferToStart(x)
}

// hasPlace reports whether the round found an option for the lot that fits.
func (x *ruling) hasPlace() bool { return x.choice >= 0 }

// shouldWaitForFullRound reports whether a lot that has time had better wait for the next full
// round: it found nothing between two of those, or only what costs much more than its
// best option does (decision 0012).
func (x *ruling) shouldWaitForFullRound() bool {
	if !x.problem.deferrable[x.index] {
		return false
	}
	return !x.hasPlace() && !x.round.Full || x.hasPlace() && x.problem.tooExpensive(x.index, x.choice)
}

// deferToFullRound holds a lot until the next full round, with the plan's place on the
// best option that begins after it.
func (a *Auction) deferToFullRound(x *ruling) Decision {
	d := a.planPlace(x.lot, x.problem.cheapestFrom(x.index, x.round.Next))
	d.Until, d.Why.Code = x.round.Next, protocol.CheaperLater
	return d
}

// isOnOffer reports whether a lot without time is sold at a site's word, and notes
// which of its options that is: the cheapest, if it chose none or one that costs far
// more, and this round sells nothing else of those GPUs then. A site offers such a lot
// also what it keeps for jobs that have more time, and its sums of free room leave that
// out: that it fits is the site's word, by a look at its nodes (decision 0012, point 10).
func (x *ruling) isOnOffer() bool {
	p, lot := x.problem, x.index
	for j := 0; ; j++ {
		k := p.lots[lot].candidateAt(j)
		if k == nil || x.hasPlace() && !farAbove(float64(p.lots[lot].candidateAt(x.choice).cost), float64(k.cost)) {
			return false
		}
		if k.pool >= 0 && p.isUrgent(p.jobs[lot], k.BidOption) && !x.round.startsTooFarAhead(x.lot, k) && !slices.ContainsFunc(p.sold, k.overlapsWith) {
			x.onOffer = k
			return true
		}
	}
}

// reserveOffered has the site keep the option that it offered of its own word.
func (x *ruling) reserveOffered() Decision {
	x.problem.sold = append(x.problem.sold, x.onOffer)
	return Decision{Verdict: Award, Site: x.onOffer.site, Option: *x.onOffer.BidOption, MayQueue: true, Why: protocol.Reason{Code: protocol.Cheapest}}
}

// isLateAnyway reports whether the lot would be late and start after the next full
// round. It had better ask again then than be promised that (decision 0017).
func (x *ruling) isLateAnyway() bool { return x.round.startsTooFarAhead(x.lot, x.option) }

// deferLate holds a lot until the next full round, with its place in the plan if it
// has one.
func (a *Auction) deferLate(x *ruling) Decision {
	d := Decision{Site: x.option.site, Option: *x.option.BidOption}
	if x.hasPlace() {
		d = a.planPlace(x.lot, x.option)
	}
	d.Until, d.Why.Code = x.round.Next, protocol.Waiting
	return d
}

// isOutbid reports whether others took the room that the lot was offered for now. What
// sites say next is news, so it is called again at once.
func (x *ruling) isOutbid() bool {
	return !x.hasPlace() && slices.ContainsFunc(x.lot.Bids, func(m SiteBids) bool {
		return slices.ContainsFunc(m.Options, func(o protocol.BidOption) bool { return o.Start <= x.round.Now })
	})
}

// startsNow reports whether what the lot chose starts in this round.
func (x *ruling) startsNow() bool { return x.hasPlace() && x.option.Start <= x.round.Now }

// awardNow awards the lot to run at once, and names when to pause it if that pays.
func (x *ruling) awardNow() Decision {
	return Decision{
		Verdict: Award, Site: x.option.site, Option: *x.option.BidOption, Why: protocol.Reason{Code: protocol.Cheapest},
		PauseAt: x.problem.bestPauseTime(x.lot.Job, x.option, x.round.Weights, x.round.forecastOf(x.option.site)),
	}
}

// hasNoTimeToWait reports whether nobody can start the lot now and it cannot do without
// a site that keeps it a place.
func (x *ruling) hasNoTimeToWait() bool {
	return deferToNextRound(x.round, x.lot).Why.Code == protocol.Waiting && x.problem.isUrgent(x.lot.Job, x.option.BidOption)
}

// needsRoomKept reports whether the plan alone cannot keep the lot's place: for several
// GPUs no node would ever come free by itself, only a site can set one aside; a job with
// less than FirmLead to spare has no time for a plan that fails; and a start in a moment
// is too soon to be called again for.
func (x *ruling) needsRoomKept() bool {
	short := x.lot.Job.Deadline.Sub(x.option.Finish) < x.round.Planning.FirmLead
	return x.lot.Job.GPUs > 1 || short && !x.problem.deferrable[x.index] || x.option.Start < x.round.Now.Add(minRecallNotice)
}

// reserveAtSite puts the lot into the queue of the site, which keeps a place for it.
func (x *ruling) reserveAtSite(why protocol.Reason) Decision {
	return Decision{Verdict: Award, Site: x.option.site, Option: *x.option.BidOption, MayQueue: true, Why: why}
}

// deferToStart holds a lot with its place in the plan until that begins, or until the
// next full round if that is sooner.
func (a *Auction) deferToStart(x *ruling) Decision {
	d := a.planPlace(x.lot, x.option)
	d.Until, d.Why = min(x.option.Start, x.round.Next), deferToNextRound(x.round, x.lot).Why
	return d
}

// deferToNextRound holds a lot that has no place in the plan until the first of its options
// can start, or until the next full round.
func deferToNextRound(r Round, l Lot) Decision {
	d := Decision{Verdict: Defer, Until: r.Next, Why: protocol.Reason{Code: protocol.NoBids}}
	for _, m := range l.Bids {
		for _, o := range m.Options {
			switch {
			case o.Start <= r.Now:
				d.Why.Code = protocol.CheaperLater
			case d.Why.Code == protocol.NoBids:
				d.Why.Code = protocol.Waiting
			}
			if o.Start > r.Now {
				d.Until = min(d.Until, o.Start)
			}
		}
	}
	return d
}

// planPlace keeps a place in the plan for a lot that waits.
func (a *Auction) planPlace(l Lot, k *candidate) Decision {
	a.plan[l.Job.ID] = plannedPlace{pool: poolKey{k.site, k.Model}, start: k.Start, finish: k.Finish, gpu: k.gpu}
	return Decision{Site: k.site, Option: *k.BidOption}
}

// startsTooFarAhead reports whether a lot had better ask again in the next full round than be
// promised an option: it would be late, and start after that. What a site has
// promised is not sold again, also if GPUs that come free sooner stand idle beside it.
// A job of several GPUs takes what it can get: only a site can set a node aside.
func (r Round) startsTooFarAhead(l Lot, k *candidate) bool {
	return l.Job.GPUs <= 1 && k.Finish > l.Job.Deadline && k.Start >= r.Next
}

// isUrgent reports whether a job cannot do with a place in the plan alone: it cannot
// wait, or would have less than FirmLead left.
func (p *problem) isUrgent(j protocol.Job, k *protocol.BidOption) bool {
	return !j.Deferrable || j.Deadline.Sub(k.Finish) < p.planning.FirmLead
}

// overlapsWith reports whether k and x are for the same GPUs at the same time.
func (k *candidate) overlapsWith(x *candidate) bool {
	return k.pool == x.pool && k.Start < x.Finish && x.Start < k.Finish
}

// forecastOf returns how a site expects its grid to be.
func (r Round) forecastOf(site string) protocol.GridForecast {
	if i, ok := slices.BinarySearchFunc(r.Sites, site, func(s Site, name string) int { return cmp.Compare(s.Name, name) }); ok {
		return r.Sites[i].Forecast
	}
	return protocol.GridForecast{}
}
