package market

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// A runUse is what one run takes at its site, and when: its mean power and its GPUs.
type runUse struct {
	job      *protocol.Job // as submitted
	site     string
	from, to protocol.Time
	power    protocol.Milliwatts
	gpus     protocol.Milli
	model    string      // of the GPUs
	costs    []monthCost // by month; none unless its tenant has a budget
}

// amountUnder returns what a run takes of what a rule caps: milliwatts of every run at the rule's
// sites, or thousandths of a GPU of the runs that the rule is about.
func (x *runUse) amountUnder(r protocol.Rule) int64 {
	switch {
	case r.Power != 0 && r.CoversSite(x.site):
		return int64(x.power)
	case r.GPUs != 0 && policy.IsAboutJob(r, *x.job, x.site):
		return int64(x.gpus)
	}
	return 0
}

// useLimit returns the most that a rule allows to be taken at a time, in the unit of amountUnder; 0
// if it caps neither power nor GPUs.
func useLimit(r protocol.Rule) int64 { return max(int64(r.Power), int64(r.GPUs)) }

// plannedUse is the power and the GPUs that runs are planned to take; nil if no rule or quota caps either. A
// job that may win at several sites runs at one of them, so the largest of its possible uses counts.
type plannedUse struct {
	jobs     map[protocol.JobID][]runUse
	profiles map[string]*useProfile // total over time, by the id of the rule that caps it
	quotas   *quotaUse              // nil: no quotas are in force
}

// plannedUse returns what awarded runs are planned to take, as their bids said. Awards whose lease
// expired less than leaseGrace ago count too: their Accept may still arrive, and then it stands. The round's bids
// say which of its jobs could run.
func (k *Market) plannedUse(now protocol.Time, r *round, answers [][]siteAnswer) *plannedUse {
	tree := k.quotaTree()
	if tree.IsEmpty() && !slices.ContainsFunc(k.policy.Rules, func(r protocol.Rule) bool { return useLimit(r) != 0 }) {
		return nil
	}
	u := &plannedUse{jobs: make(map[protocol.JobID][]runUse), profiles: make(map[string]*useProfile)}
	var month monthSpan
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		late := (l.state == waiting || l.state == called) && l.site != "" && now < l.lease.Add(leaseGrace)
		if l.state == awarded || l.state == accepted || late {
			at := l.submitted.AtPlaces(l.places)
			x := useOf(&l.submitted, l.site, &l.option, at.TotalGPUMilli())
			if x.to <= now { // overran its plan, or its end was not reported yet: assume another hour
				x.to = now.Add(time.Hour)
			}
			if tree.HasBudgets() && len(tree.BudgetedPathOf(l.submitted.Tenant)) > 0 {
				option, off := l.reservedAs(now)
				x.costs = k.costsOf(nil, &month, &at, x.gpus, &option, off)
			}
			u.jobs[id] = []runUse{x}
		}
	}
	if !tree.IsEmpty() {
		u.quotas = k.quotaUseOf(now, tree, u, r, answers)
	}
	return u
}

// leaseGrace is how long after the end of a lease the market still reserves power and GPUs for an
// Accept that is on its way.
const leaseGrace = time.Minute

// useOf returns what an option takes. Its power is the mean over its time, rounded up, and includes
// the facility's overhead (PUE), as the bid's energy does.
func useOf(j *protocol.Job, site string, o *protocol.BidOption, gpus protocol.Milli) runUse {
	seconds := max(int64(o.Finish.Sub(o.Start)/time.Second), 1)
	return runUse{job: j, site: site, from: o.Start, to: o.Finish, power: protocol.Milliwatts((int64(o.Energy) + seconds - 1) / seconds), gpus: gpus, model: o.Model}
}

// A jobClaim is what one job may use in a round. While it is open, the job's own possible uses do not
// count beside its options: it runs at one site. A nil claim allows everything.
type jobClaim struct {
	use    *plannedUse
	market *Market
	job    *protocol.Job
	own    []runUse    // possible so far; of an award whose Accept may still arrive, too
	quotas quotaLimits // of its tenant, beside what others may use

	refused *runUse // the last that found no room in GPU quotas; nil: none

	costs   []monthCost  // of own
	scratch [2]monthCost // of the option that is looked at
}

// openClaim takes a job's possible uses out of the totals until its claim is closed.
func (u *plannedUse) openClaim(k *Market, j *protocol.Job) *jobClaim {
	if u == nil {
		return nil
	}
	c := &jobClaim{use: u, market: k, job: j, own: slices.Clone(u.jobs[j.ID])}
	delete(u.jobs, j.ID)
	u.updateProfiles(k, c.own, -1)
	c.quotas = u.quotas.limitsOf(j)
	return c
}

// closeClaim adds the job's possible uses to the totals. Each job keeps its possible use until the
// next round, whichever site wins it. Invariant: so no outcome of the clearing can exceed a cap or a
// share (decision 0312); the price is that a job may have to wait for another round.
func (c *jobClaim) closeClaim() {
	if c != nil && len(c.own) > 0 {
		c.use.jobs[c.job.ID] = c.own
		c.use.updateProfiles(c.market, c.own, 1)
	}
}

// withinUseCaps returns the options at a site that keep every cap of power and of GPUs of the policy
// and the quota of the job's tenant, next to all awarded runs and to whatever earlier jobs of this
// round may get, and why others are left out, if any are. Gpus is what each takes; nil: all of the job's.
func (c *jobClaim) withinUseCaps(site string, all []protocol.BidOption, gpus []protocol.Milli, grid *protocol.GridForecast) (fitting []protocol.BidOption, against protocol.Reason) {
	if c == nil {
		return all, against
	}
	k, u := c.market, c.use
	first := len(c.own) // of what it may use at this site
	if most, ok := c.mostOf(site, all, gpus, grid); ok && c.quotas.haveRoom(&most) {
		c.mergeUse(first, &most)
		c.joinUses(first)
		return all, against
	}
	var overQuota runUse
	var capped protocol.Rule
	n := 0 // options that fit
	whole := c.job.TotalGPUMilli()
	for i := range all {
		size := whole
		if gpus != nil {
			size = gpus[i]
		}
		x := runUse{job: c.job, site: site, from: all[i].Start, to: all[i].Finish, gpus: size, model: all[i].Model}
		var caps []protocol.Rule
		if len(k.policy.Rules) > 0 {
			x = useOf(c.job, site, &all[i], size)
			caps = policy.UseCapsFor(k.policy, *c.job, site, x.from)
		}
		if i := slices.IndexFunc(caps, func(r protocol.Rule) bool {
			return u.profileUnderRule(r).peakBetween(x.from, x.to) > useLimit(r)-x.amountUnder(r)
		}); i >= 0 {
			k.counts[string(protocol.Forbidden)]++
			capped, overQuota = caps[i], runUse{}
			continue
		}
		if c.quotas.budgets != nil {
			x.costs = k.costsOf(c.scratch[:0], &c.quotas.budgets.use.month, c.job, size, &all[i], k.offOf(&all[i], grid))
		}
		if !c.quotas.haveRoom(&x) {
			k.counts[string(protocol.OverQuota)]++
			overQuota = x
			overQuota.costs = slices.Clone(x.costs)
			if c.job.MinPods > 0 && !c.quotas.unnamed && c.quotas.exceededBy(&x) != nil {
				refused := overQuota
				c.refused = &refused
			}
			continue
		}
		c.mergeUse(first, &x)
		if n++; n < i+1 { // some did not fit: the others are copied
			fitting = append(slices.Grow(fitting, len(all)-1), all[i])
		} else {
			fitting = all[:n:n]
		}
	}
	c.joinUses(first)
	switch {
	case overQuota.job != nil:
		against = c.quotas.reason(&overQuota)
	case capped.ID != "":
		against = reasonOfRule(capped)
	}
	return fitting, against
}

// mostOf returns the most that any of a site's options takes, at any time that one of them runs: if that has room, so
// has each. There is no such use where a rule caps something, where quotas tell the models of the options apart, or
// where these cost in several months.
func (c *jobClaim) mostOf(site string, all []protocol.BidOption, gpus []protocol.Milli, grid *protocol.GridForecast) (most runUse, ok bool) {
	k, budgets := c.market, c.quotas.budgets
	if len(all) == 0 || len(k.policy.Rules) > 0 {
		return most, false
	}
	size := c.job.TotalGPUMilli()
	most = runUse{job: c.job, site: site, from: all[0].Start, to: all[0].Finish, model: all[0].Model}
	var cost monthCost
	for i := range all {
		o := &all[i]
		if gpus != nil {
			size = gpus[i]
		}
		if o.Model != most.model && c.use.quotas.namesModels() {
			return most, false
		}
		most.from, most.to, most.gpus = min(most.from, o.Start), max(most.to, o.Finish), max(most.gpus, size)
		if budgets != nil {
			money, carbon := k.estimatesOf(c.job, size, o, k.offOf(o, grid))
			cost.money, cost.carbon = cost.money.most(money), cost.carbon.most(carbon)
		}
	}
	if budgets == nil {
		return most, true
	}
	month := &budgets.use.month
	ok = month.holds(most.from, most.to)
	cost.month = month.begin
	most.costs = append(c.scratch[:0], cost)
	return most, ok
}

// mergeUse adds a use to the job's own at a site, which are from an index on: one for all of its options, or one
// for each model.
func (c *jobClaim) mergeUse(first int, x *runUse) {
	for i := first; i < len(c.own); i++ {
		if m := &c.own[i]; c.countsAs(m, x) {
			m.from, m.to, m.power, m.gpus = min(m.from, x.from), max(m.to, x.to), max(m.power, x.power), max(m.gpus, x.gpus)
			m.costs = mostCosts(m.costs, x.costs)
			return
		}
	}
	n := len(c.costs)
	c.costs = append(c.costs, x.costs...)
	c.own = append(c.own, *x)
	c.own[len(c.own)-1].costs = c.costs[n:len(c.costs):len(c.costs)]
}

// countsAs reports whether two uses are of the same GPUs for all quotas.
func (c *jobClaim) countsAs(x, y *runUse) bool {
	return !c.use.quotas.namesModels() || x.model == y.model
}

// joinUses joins the job's uses at a site, which are from an index on, with those at others that overlap them: quotas
// count all of a job's uses with the GPUs of the largest, at any time that one of them holds. Rules count by site.
func (c *jobClaim) joinUses(first int) {
	if len(c.market.policy.Rules) > 0 {
		return
	}
	kept := first
	for i := first; i < len(c.own); i++ {
		x := &c.own[i]
		at := slices.IndexFunc(c.own[:kept], func(m runUse) bool { return m.from <= x.to && x.from <= m.to && c.countsAs(&m, x) })
		if at < 0 {
			c.own[kept] = *x
			kept++
			continue
		}
		m := &c.own[at]
		m.from, m.to, m.gpus = min(m.from, x.from), max(m.to, x.to), max(m.gpus, x.gpus)
		m.costs = mostCosts(m.costs, x.costs)
	}
	c.own = c.own[:kept]
}

// updateProfiles adds a job's possible uses to each profile built so far, or with sign -1
// subtracts them.
func (u *plannedUse) updateProfiles(k *Market, own []runUse, sign int64) {
	for _, r := range k.policy.Rules {
		if d := u.profiles[r.ID]; d != nil {
			d.addUses(r, own, sign)
		}
	}
	u.quotas.addUses(own, sign)
}

// profileUnderRule returns the total of all runs that count under a rule, and builds it at first use.
func (u *plannedUse) profileUnderRule(r protocol.Rule) *useProfile {
	d := u.profiles[r.ID]
	if d == nil {
		d = &useProfile{}
		u.profiles[r.ID] = d
		for _, id := range slices.Sorted(maps.Keys(u.jobs)) {
			d.addUses(r, u.jobs[id], 1)
		}
	}
	return d
}

// A useProfile is an amount over time: each step holds until the next one begins. A round reads it
// for thousands of options, so it is updated in place and not rebuilt.
type useProfile []useStep

type useStep struct {
	at  protocol.Time
	sum int64
}

// addUses adds what a job takes under a rule: at any time the largest of its possible uses that
// count, because only one of them can happen.
func (d *useProfile) addUses(r protocol.Rule, own []runUse, sign int64) {
	var alone useProfile
	for i := range own {
		x := &own[i]
		if amount := x.amountUnder(r); amount != 0 {
			from, to := alone.splitAt(x.from), alone.splitAt(x.to)
			for i := from; i < to; i++ {
				alone[i].sum = max(alone[i].sum, amount)
			}
		}
	}
	for i := range alone[:max(len(alone)-1, 0)] {
		d.addSpans([]span{{alone[i].at, alone[i+1].at}}, sign*alone[i].sum)
	}
}

// addSpans adds an amount in some spans of time.
func (d *useProfile) addSpans(all []span, amount int64) {
	for _, x := range all {
		from, to := d.splitAt(x.from), d.splitAt(x.to)
		for k := from; k < to; k++ {
			(*d)[k].sum += amount
		}
	}
}

// splitAt makes a step begin at t, and returns its index.
func (d *useProfile) splitAt(t protocol.Time) int {
	i, ok := d.indexAt(t)
	if !ok {
		s := useStep{at: t}
		if i > 0 {
			s.sum = (*d)[i-1].sum
		}
		*d = slices.Insert(*d, i, s)
	}
	return i
}

// indexAt returns the index of the first step that begins at t or later, and whether it begins at
// t.
func (d *useProfile) indexAt(t protocol.Time) (int, bool) {
	return slices.BinarySearchFunc(*d, t, func(s useStep, t protocol.Time) int { return cmp.Compare(s.at, t) })
}

// peak returns the largest amount at any time.
func (d *useProfile) peak() (most int64) {
	for i := range *d {
		most = max(most, (*d)[i].sum)
	}
	return most
}

// peakBetween returns the largest amount in [from, to).
func (d *useProfile) peakBetween(from, to protocol.Time) (most int64) {
	i, ok := d.indexAt(from)
	if !ok {
		i = max(i-1, 0) // the step that began before from still holds
	}
	for ; i < len(*d) && (*d)[i].at < to; i++ {
		most = max(most, (*d)[i].sum)
	}
	return most
}

// reasonOfRule returns why a job waits that a cap left no option.
func reasonOfRule(r protocol.Rule) protocol.Reason {
	return protocol.Reason{Code: protocol.Forbidden, Note: r.ID + ": " + policy.DescribeRule(r)}
}
