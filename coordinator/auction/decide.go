package auction

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A ruling is a lot with the option that the round chose for it, on its way to a Decision.
type ruling struct {
	round   Round
	lot     Lot
	problem *problem
	index   int        // of the lot in the round
	choice  int        // index into the lot's options by cost; -1: the round found no option that fits
	option  *candidate // the chosen option, or the cheapest if none was chosen
	onOffer *candidate // set by isOnOffer
}

// decideLot turns the chosen option of a lot into a decision. The first case that applies decides,
// so their order matters; each has a predicate of its own. A lot ends in one of four ways: awarded
// now, reserved in a site's queue, deferred with a place in the plan, or left in the backlog
// without a place.
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

// poolWithoutRoom returns the GPUs of the lot's best option, if that would start now; zero if it would not, or
// uses no GPU. A lot that was deferred nevertheless found no room there.
func (p *problem) poolWithoutRoom(lot int) Pool {
	if p.lots[lot].candidateCount() == 0 {
		return Pool{}
	}
	best, _ := p.bestAtPrices(lot)
	k := p.lots[lot].candidateAt(best)
	if k.Start > p.now || k.pool < 0 {
		return Pool{}
	}
	return Pool{k.site, k.Model}
}

// hasPlace reports whether the round found an option for the lot that fits.
func (x *ruling) hasPlace() bool { return x.choice >= 0 }

// shouldWaitForFullRound reports whether a lot with time to spare should wait for the next full
// round: a round in between found nothing for it, or a full one only what costs far more than its
// best option (decision 0012).
func (x *ruling) shouldWaitForFullRound() bool {
	return x.problem.deferrable[x.index] && !x.hasPlace() && (!x.round.Full || x.problem.waits[x.index])
}

// deferToFullRound defers a lot until the next full round, and plans it at the cheapest option
// that begins after that.
func (a *Auction) deferToFullRound(x *ruling) Decision {
	d := a.planPlace(x.lot, x.problem.cheapestFrom(x.index, x.round.Next))
	d.Until, d.Why.Code = x.round.Next, protocol.CheaperLater
	return d
}

// isOnOffer reports whether a lot without time to spare takes an option because the site bid it,
// although the profiles show no capacity for it. Sites bid capacity that they keep from deferrable
// jobs to urgent ones, and their profiles leave it out; the site has looked at its nodes (decision
// 0012, point 10). It applies to a lot that chose nothing, or something far dearer, and takes the
// cheapest such option whose GPUs this round awards to no other lot at that time.
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

// reserveOffered reserves the option found by isOnOffer at its site.
func (x *ruling) reserveOffered() Decision {
	x.problem.sold = append(x.problem.sold, x.onOffer)
	return Decision{Verdict: Award, Site: x.onOffer.site, Option: *x.onOffer.BidOption, MayQueue: true, Why: protocol.Reason{Code: protocol.Cheapest}}
}

// isLateAnyway reports whether the lot would be late and start after the next full round. Asking
// in that round is better than a promise now, which the site could not break (decision 0017).
func (x *ruling) isLateAnyway() bool { return x.round.startsTooFarAhead(x.lot, x.option) }

// deferLate defers a lot until the next full round, with its place in the plan if it has one.
func (a *Auction) deferLate(x *ruling) Decision {
	d := Decision{Site: x.option.site, Option: *x.option.BidOption}
	if x.hasPlace() {
		d = a.planPlace(x.lot, x.option)
	}
	d.Until, d.Why.Code = x.round.Next, protocol.Waiting
	return d
}

// isOutbid reports whether other lots took the capacity that sites bid to this one for now. The
// sites' next bids will know of that, so the lot is called without waiting for the full round.
func (x *ruling) isOutbid() bool {
	return !x.hasPlace() && slices.ContainsFunc(x.lot.Bids, func(m SiteBids) bool {
		return slices.ContainsFunc(m.Options, func(o protocol.BidOption) bool { return o.Start <= x.round.Now })
	})
}

// startsNow reports whether the chosen option starts in this round.
func (x *ruling) startsNow() bool { return x.hasPlace() && x.option.Start <= x.round.Now }

// awardNow awards the chosen option, and names the instant of a pause if one pays.
func (x *ruling) awardNow() Decision {
	return Decision{
		Verdict: Award, Site: x.option.site, Option: *x.option.BidOption, Why: protocol.Reason{Code: protocol.Cheapest},
		PauseAt: x.problem.bestPauseTime(x.index, x.lot.Job, x.option, x.round.Weights, x.round.forecastOf(x.option.site)),
	}
}

// hasNoTimeToWait reports whether no site can start the lot now, and it is too urgent for a place
// in the plan alone.
func (x *ruling) hasNoTimeToWait() bool {
	return deferToNextRound(x.round, x.lot).Why.Code == protocol.Waiting && x.problem.isUrgent(x.lot.Job, x.option.BidOption)
}

// needsRoomKept reports whether the plan alone cannot keep the lot's place. Several GPUs of one
// node never become free together unless a site sets the node aside; a job with less than FirmLead
// to spare has no time for a plan that fails; and a start within minRecallNotice is too soon for
// another call.
func (x *ruling) needsRoomKept() bool {
	short := x.lot.Job.Deadline.Sub(x.option.Finish) < x.round.Planning.FirmLead
	return needsNodes(&x.lot.Job) || short && !x.problem.deferrable[x.index] || x.option.Start < x.round.Now.Add(minRecallNotice)
}

// reserveAtSite awards the lot into the queue of the site, which reserves capacity for it.
func (x *ruling) reserveAtSite(why protocol.Reason) Decision {
	return Decision{Verdict: Award, Site: x.option.site, Option: *x.option.BidOption, MayQueue: true, Why: why}
}

// deferToStart defers a lot with its place in the plan, until that begins or until the next full
// round, whichever is sooner.
func (a *Auction) deferToStart(x *ruling) Decision {
	d := a.planPlace(x.lot, x.option)
	d.Until, d.Why = min(x.option.Start, x.round.Next), deferToNextRound(x.round, x.lot).Why
	return d
}

// deferToNextRound defers a lot without a place until the first of its options can start, or until the next
// full round. The reason tells no bids, bids for later only, and bids for now apart.
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

// planPlace keeps a place in the plan for a deferred lot.
func (a *Auction) planPlace(l Lot, k *candidate) Decision {
	if i, known := slices.BinarySearch(a.order, l.Job.ID); !known {
		a.order = slices.Insert(a.order, i, l.Job.ID)
	}
	a.plan[l.Job.ID] = plannedPlace{pool: poolKey{k.site, k.Model}, start: k.Start, finish: k.Finish, gpu: k.gpu}
	return Decision{Site: k.site, Option: *k.BidOption}
}

// needsNodes reports whether only a site can keep a job's place: several GPUs of a node, or several nodes.
func needsNodes(j *protocol.Job) bool { return j.GPUs > 1 || j.IsGang() }

// startsTooFarAhead reports whether a lot should wait for the next full round rather than reserve
// an option now: it would be late, and start after that round. A reservation is not given up when
// GPUs become free sooner, which would then stand idle next to it. Jobs of several GPUs reserve
// whatever they can get, because only a site can set a node aside.
func (r Round) startsTooFarAhead(l Lot, k *candidate) bool {
	return !needsNodes(&l.Job) && k.Finish > l.Job.Deadline && k.Start >= r.Next
}

// isUrgent reports whether a place in the plan is not enough for a job: it is not deferrable, or the
// option leaves less than FirmLead before the deadline.
func (p *problem) isUrgent(j protocol.Job, k *protocol.BidOption) bool {
	return !j.MayWait() || j.Deadline.Sub(k.Finish) < p.planning.FirmLead
}

// overlapsWith reports whether two candidates use the same pool at the same time.
func (k *candidate) overlapsWith(x *candidate) bool {
	return k.pool == x.pool && k.Start < x.Finish && x.Start < k.Finish
}

// forecastOf returns a site's grid forecast, or an empty one.
func (r Round) forecastOf(site string) protocol.GridForecast {
	if i, ok := slices.BinarySearchFunc(r.Sites, site, func(s Site, name string) int { return cmp.Compare(s.Name, name) }); ok {
		return r.Sites[i].Forecast
	}
	return protocol.GridForecast{}
}
