package market

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// Preemption: docs/preemption.md. A call names, for each job that may preempt, the runs that may be stopped
// for it; a site that cannot start the job at once answers which of them it would have to stop. The market
// picks one site, asks it, and calls the job again once the runs are gone.

const (
	// preemptDeadline is how long the room is kept for the job, and how long after it has runs stopped a job
	// may not have others stopped elsewhere. Kueue's orchestrated preemption (KEP-8303) waits as long.
	preemptDeadline = 5 * time.Minute
	// maxPreemptors bounds the jobs of a call for which runs may be stopped, and maxCandidates the runs named
	// for each: a site tries them one by one.
	maxPreemptors = 16
	maxCandidates = 64
)

// A claim is a run that may be stopped for a job, and why.
type claim struct {
	lot  *lot
	why  protocol.Code         // StrongerClaim or QuotaReclaimed
	lost protocol.Microdollars // that would be lost of all that is stopped with it: energy, carbon and tariff since its start or its last checkpoint
}

// mayPreempt reports whether a lot may have others stopped now: its class allows it, it does not wait for a
// cheaper hour by its own choice, and it had none stopped a short while ago.
func (k *Market) mayPreempt(now protocol.Time, l *lot) bool {
	return l.job.PriorityClass != "" && l.whole == nil && now >= l.preemptAfter && l.job.Urgency != protocol.UrgencyFlexible &&
		slices.ContainsFunc(k.policy.Classes, func(c protocol.PriorityClass) bool {
			return c.Name == l.job.PriorityClass && c.MayPreempt()
		})
}

// nameCandidates returns what a call says about preemption: for its jobs that may preempt, those of highest
// priority first, the runs that may be stopped for them.
func (k *Market) nameCandidates(now protocol.Time, r *round) (sets []protocol.PreemptionSet) {
	if len(k.policy.Classes) == 0 {
		return nil
	}
	for _, i := range r.claimOrder() {
		l := r.lots[i]
		if len(sets) == maxPreemptors || !k.mayPreempt(now, l) {
			continue
		}
		all := k.claimsOf(now, l)
		if len(all) == 0 {
			continue
		}
		set := protocol.PreemptionSet{Job: l.job.ID}
		for _, c := range all {
			set.Runs, set.Lost = append(set.Runs, c.lot.job.ID), append(set.Lost, c.lost)
		}
		r.named[l.job.ID] = true
		sets = append(sets, set)
	}
	return sets
}

// claimsOf returns the runs that may be stopped for a job, in the order in which they are tried: those on lent
// room first, then of lower priority, then those of which the least is lost, then the most recent.
//
// Invariant: whichever of them are stopped, none is of equal or higher priority, but for room that was lent and
// that its tenant is guaranteed, and no tenant loses what it is guaranteed itself.
func (k *Market) claimsOf(now protocol.Time, l *lot) (all []claim) {
	tree := k.quotaTree()
	leaf, named := tree.LeafOf(l.submitted.Tenant)
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		v := k.lots[id]
		with := v.stoppedWith()
		if v == l || v.state != accepted || len(with) == 0 {
			continue
		}
		c := claim{lot: v}
		for _, x := range with {
			c.lost += k.lostWork(now, x)
		}
		protected := slices.ContainsFunc(with, func(x *lot) bool { return x.isProtected(now) })
		of, _ := tree.LeafOf(v.submitted.Tenant)
		switch {
		case (tree.IsEmpty() || named && of == leaf) && v.job.Priority < l.job.Priority && !protected && !l.wasPreempted(now):
			c.why = protocol.StrongerClaim
		case !tree.IsEmpty() && named && of != leaf && v.submitted.TotalGPUMilli() > 0 && l.submitted.TotalGPUMilli() > 0:
			c.why = protocol.QuotaReclaimed
		default:
			continue
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y claim) int {
		lent := func(c claim) int {
			if c.why == protocol.QuotaReclaimed {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(lent(x), lent(y)), cmp.Compare(x.lot.job.Priority, y.lot.job.Priority), cmp.Compare(x.lost, y.lost),
			cmp.Compare(y.lot.start, x.lot.start), cmp.Compare(x.lot.job.ID, y.lot.job.ID))
	})
	if !tree.IsEmpty() && named {
		all = k.withoutGuaranteed(now, l, leaf, all)
	}
	return all[:min(len(all), maxCandidates)]
}

// lostWork returns what would be lost of a run, were it stopped now, by its bid: energy, carbon and tariff of the
// time since it started, or since the checkpoint that it started from. Of a run that can save a checkpoint now, the
// time that saving and loading take.
func (k *Market) lostWork(now protocol.Time, v *lot) protocol.Microdollars {
	part := v.partOfBid(v.start, now)
	if v.job.Pause > 0 && v.job.Run > 0 {
		part = min(part, float64(v.job.Pause)/float64(v.job.Run))
	}
	whole := max(v.option.Money, 0) + k.cfg.Terms.CarbonCost(v.option.Carbon) + v.job.TariffCost(v.option.Finish.Sub(v.option.Start), v.option.Tariff)
	return protocol.Microdollars(float64(whole) * part)
}

// partOfBid returns which part of the time of its bid a run was between two instants.
func (l *lot) partOfBid(from, to protocol.Time) float64 {
	span := l.option.Finish - l.option.Start
	if span <= 0 || to <= from {
		return 0
	}
	return min(float64(to-from)/float64(span), 1)
}

const (
	// After a preemption a job has none stopped by its class, and from its next start none has it stopped by
	// theirs, for preemptRest; and none at all once it was stopped mostPreempted times within a day. What its
	// tenant is guaranteed a job may take back all the same.
	preemptRest   = 30 * time.Minute
	mostPreempted = 3
)

// wasPreempted reports whether the lot was stopped to make room a short while ago.
func (l *lot) wasPreempted(now protocol.Time) bool {
	n := len(l.preempted)
	return n > 0 && now < l.preempted[n-1].Add(preemptRest)
}

// isProtected reports whether no job of a higher class may have the lot stopped now.
func (l *lot) isProtected(now protocol.Time) bool {
	n := len(l.preempted)
	return n > 0 && now < max(l.start, l.preempted[n-1]).Add(preemptRest) || n >= mostPreempted && now < l.preempted[n-mostPreempted].Add(24*time.Hour)
}

// A preemption is a site at which runs are to be stopped for a job, and which.
type preemption struct {
	job    *lot
	site   string
	claims []claim
	lost   protocol.Microdollars
}

// choosePreemptions returns for which jobs of a round runs are to be stopped, and defers these jobs until that
// is done. A job that some site could start soon has none stopped. Of several sites the one is asked at which
// the least is lost, then the one with the fewest runs, then the first by name.
func (k *Market) choosePreemptions(now protocol.Time, r *round, in auction.Round, decisions []auction.Decision) (chosen []preemption) {
	for _, i := range r.claimOrder() {
		l := r.lots[i]
		soon := func(o protocol.BidOption) bool { return o.Start <= now.Add(protocol.PreemptAfter) }
		if !r.named[l.job.ID] || decisions[i].Verdict == auction.Reject ||
			slices.ContainsFunc(in.Lots[i].Bids, func(b auction.SiteBids) bool { return slices.ContainsFunc(b.Options, soon) }) {
			continue
		}
		claims := k.claimsOf(now, l) // anew: others of the round may have had some stopped
		var best *preemption
		for _, s := range in.Sites { // by name
			p := k.preemptionAt(now, r, l, s.Name, claims)
			if len(k.policy.Rules) > 0 && !slices.ContainsFunc(in.Lots[i].Bids, func(b auction.SiteBids) bool { return b.Site == s.Name }) {
				continue // the rules allow it nothing there
			}
			if p != nil && (best == nil || p.lost < best.lost || p.lost == best.lost && len(p.claims) < len(best.claims)) {
				best = p
			}
		}
		if best == nil {
			continue
		}
		var ids []string
		for _, c := range best.claims {
			c.lot.preempt = &protocol.Preempt{Job: c.lot.job.ID, Epoch: c.lot.epoch, For: l.job.ID, Why: l.reasonToStop(c), Until: now.Add(preemptDeadline)}
			ids = append(ids, format.CleanText(string(c.lot.job.ID)))
		}
		l.preemptAfter, l.roomOn = now.Add(preemptDeadline), best.model()
		decisions[i] = auction.Decision{
			Verdict: auction.Defer, Until: l.preemptAfter, Site: best.site, Option: protocol.BidOption{Start: now},
			Why: protocol.Reason{Code: protocol.Preempting, Note: strings.Join(ids[:min(len(ids), 8)], ", ")},
		}
		chosen = append(chosen, *best)
	}
	return chosen
}

// preemptionAt returns what a site would have to stop for a job, if all of it may be, and the quotas let the job
// start then; else nil.
func (k *Market) preemptionAt(now protocol.Time, r *round, l *lot, site string, claims []claim) *preemption {
	sets := r.offers[site].Preemptions
	i := slices.IndexFunc(sets, func(s protocol.PreemptionSet) bool { return s.Job == l.job.ID })
	if i < 0 || k.mayStillRun(site, l.job.ID) {
		return nil
	}
	p := &preemption{job: l, site: site}
	for _, id := range sets[i].Runs {
		c := slices.IndexFunc(claims, func(c claim) bool { return c.lot.job.ID == id })
		again := slices.ContainsFunc(p.claims, func(c claim) bool { return c.lot.job.ID == id })
		if c < 0 || again || claims[c].lot.site != site { // it has ended meanwhile, say
			k.counts["preemption-void"]++
			return nil
		}
		if model := claims[c].lot.option.Model; p.model() != "" && model != "" && model != p.model() {
			k.counts["preemption-void"]++
			return nil // the job runs on GPUs of one model: see withoutGuaranteed
		}
		p.claims = append(p.claims, claims[c])
	}
	for _, x := range p.stopped() {
		p.lost += k.lostWork(now, x)
	}
	if len(p.claims) == 0 || !k.quotasLetStart(now, r, p) {
		return nil
	}
	return p
}

// reasonToStop returns why a run is stopped for a job.
func (l *lot) reasonToStop(c claim) protocol.Reason {
	if c.why == protocol.QuotaReclaimed {
		return protocol.Reason{Code: c.why, Note: fmt.Sprintf("lent to %s, guaranteed to %s", format.CleanText(c.lot.submitted.Tenant), format.CleanText(l.submitted.Tenant))}
	}
	return protocol.Reason{Code: c.why, Note: fmt.Sprintf("priority %d over %d", l.job.Priority, c.lot.job.Priority)}
}

// requestPreemptions asks sites to stop the runs that were chosen in a round. It comes before the awards of
// the round, so that none of these takes the room.
func (k *Market) requestPreemptions(now protocol.Time, chosen []preemption) (msgs []protocol.Message) {
	for _, p := range chosen {
		for _, c := range p.claims {
			v := c.lot
			switch {
			case v.state != accepted || v.preempt == nil || v.preempt.For != p.job.job.ID: // it has ended meanwhile
				continue
			case p.job.state != called:
				v.preempt = nil
				continue
			}
			m := k.requestPreempt(now, v)
			k.recordEvent(m)
			msgs = append(msgs, m)
		}
	}
	return msgs
}

// requestPreempt returns the Preempt for a lot's run, and schedules its repetition.
func (k *Market) requestPreempt(now protocol.Time, v *lot) protocol.Message {
	if v.due = now.Add(stopRetryInterval); v.preempt.IsForBudget() { // a site that cannot pause it lets it run out
		v.due = now.Add(k.cfg.Replan)
	}
	k.timers.addToTimerQueue(v)
	return k.sender.NewMessage(now, protocol.AgentParty(v.site), *v.preempt)
}

// preemptionOver forgets that a run is being stopped, since it is gone, and calls the job for which it was the
// last one.
func (k *Market) preemptionOver(now protocol.Time, v *lot) {
	p := v.preempt
	if v.preempt = nil; p == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		if x := k.lots[id]; x.preempt != nil && x.preempt.For == p.For {
			return
		}
	}
	if l := k.lots[p.For]; l != nil && l.state == waiting && l.due > now.Add(k.cfg.Gather) {
		l.due = now.Add(k.cfg.Gather)
		k.timers.addToTimerQueue(l)
	}
}

// handlePreempted requeues a job whose run its site stopped to make room, and settles what the run used: see
// payerOf. A run that the market did not ask for is not paid.
func (k *Market) handlePreempted(now protocol.Time, m protocol.Message, p protocol.Preempted) []protocol.Message {
	msgs := []protocol.Message{k.sendAndRecord(now, m.From, protocol.Confirm{Job: p.Job, Epoch: p.Epoch, Code: protocol.JobClosed})}
	l := k.lotAwardedTo(m.From, p.Job, p.Epoch)
	if l == nil || l.state != accepted {
		if k.clearOrphanedRun(m.From, p.Job, p.Epoch) {
			k.recordEvent(m)
		}
		k.counts["preempted-of-nothing"]++
		return msgs
	}
	if p.Ended > now && p.Ended < now.Add(maxReportAhead) {
		k.counts[string(protocol.ImpossibleBid)]++
		return nil // the site's clock is ahead: it repeats the report
	}
	if !m.IsPlausible() || p.Ended > now || p.Left > l.awardedJob().Run || p.Left > 0 && l.job.Pause == 0 {
		return k.closeUnpaid(now, m, l, msgs[0].Body.(protocol.Confirm))
	}
	k.recordEvent(m)
	site := l.site
	if report, ok := p.Report(); ok && l.preempt != nil {
		bid := l.bidForPart(p.Left)
		if p.Left == 0 {
			bid = l.scaledBid(l.partOfBid(p.Started, p.Ended))
		}
		msgs = append(msgs, k.settleRun(now, l, report, protocol.Settlement{Payer: k.payerOf(l, p), BidFor: bid, Part: true}))
	}
	k.requeuePreempted(now, l, p)
	k.wakeForRoom(now, auction.Pool{Site: site, Model: l.option.Model}, l.awardedJob().TotalGPUMilli())
	if l.whole != nil {
		return append(msgs, k.partLost(now, l, p.Why)...)
	}
	if l.cancelRequested {
		return append(msgs, k.rejectLot(now, l, reasonCancelled)...)
	}
	return append(msgs, k.reportStatus(now, l, protocol.JobStatus{State: protocol.Waiting, Site: site, Why: p.Why})...)
}

// requeuePreempted puts what is left of a preempted job back on sale: the rest by its checkpoint, or all that
// its run was to do. A site that stopped it unasked has not kept its award.
func (k *Market) requeuePreempted(now protocol.Time, l *lot, p protocol.Preempted) {
	if l.preempt == nil {
		l.countRenege(l.site)
	} else if !l.preempt.IsForBudget() {
		at := p.Ended
		if at == 0 { // without a report of the run
			at = now
		}
		if l.preempt.For != "" { // else it is a part that went with another
			l.preempted = append(l.preempted, at)
			l.preempted = l.preempted[max(0, len(l.preempted)-mostPreempted):]
		}
	}
	switch {
	case l.whole != nil:
		k.takePartBack(now, l)
		return
	case p.Left > 0:
		k.requeueRemainder(now, l, p.Left)
	default:
		k.requeueLot(now, l)
	}
	k.preemptionOver(now, l)
}

// payerOf returns who pays for a preempted run: the tenant of the job with the higher priority, if the work is
// lost; else the run's own, which keeps it by its checkpoint or had borrowed the room.
func (k *Market) payerOf(l *lot, p protocol.Preempted) string {
	made := p.For
	if l.preempt.Why.Code == protocol.PartLost {
		made = l.whole.roomFor
	} else if l.preempt.Why.Code != protocol.StrongerClaim {
		made = ""
	}
	if by := k.lots[made]; by != nil && p.Left == 0 {
		return by.submitted.Tenant
	}
	return l.job.Tenant
}
