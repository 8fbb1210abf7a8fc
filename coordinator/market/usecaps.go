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
}

// amountUnder returns what a run takes of what a rule caps: milliwatts of every run at the rule's
// sites, or thousandths of a GPU of the runs that the rule is about.
func (x *runUse) amountUnder(r protocol.Rule) int64 {
	switch {
	case r.Power != 0 && r.CoversSite(x.site):
		return int64(x.power)
	case r.GPUs != 0 && policy.IsAboutJob(r, *x.job, x.site):
		return int64(x.job.TotalGPUMilli())
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
// expired less than leaseGrace ago count too: their Accept may still arrive, and then it stands. The round's bids say which of its jobs could run.
func (k *Market) plannedUse(now protocol.Time, r *round, answers [][]siteAnswer) *plannedUse {
	tree := k.quotaTree()
	if tree.IsEmpty() && !slices.ContainsFunc(k.policy.Rules, func(r protocol.Rule) bool { return useLimit(r) != 0 }) {
		return nil
	}
	u := &plannedUse{jobs: make(map[protocol.JobID][]runUse), profiles: make(map[string]*useProfile)}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		late := (l.state == waiting || l.state == called) && l.site != "" && now < l.lease.Add(leaseGrace)
		if l.state == awarded || l.state == accepted || late {
			x := useOf(&l.submitted, l.site, l.option)
			if x.to <= now { // overran its plan, or its end was not reported yet: assume another hour
				x.to = now.Add(time.Hour)
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
func useOf(j *protocol.Job, site string, o protocol.BidOption) runUse {
	seconds := max(int64(o.Finish.Sub(o.Start)/time.Second), 1)
	return runUse{j, site, o.Start, o.Finish, protocol.Milliwatts((int64(o.Energy) + seconds - 1) / seconds)}
}

// withinUseCaps returns the options that keep every cap of power and of GPUs of the policy and the
// quota of the job's tenant, next to all awarded runs and to whatever earlier jobs of this round may
// get, and why others are left out, if any are. Each job keeps its possible use until the next round, whichever site wins it.
// Invariant: so no outcome of the clearing can exceed a cap (decision 0312); the price is that a job
// may have to wait for another round.
func (u *plannedUse) withinUseCaps(k *Market, j *protocol.Job, site string, all []protocol.BidOption) (fitting []protocol.BidOption, against protocol.Reason) {
	if u == nil {
		return all, against
	}
	own := u.jobs[j.ID]
	delete(u.jobs, j.ID)
	u.updateProfiles(k, own, -1) // the job runs at one site: its other possible uses do not add to this one
	var mine, overQuota runUse
	var capped protocol.Rule
	for _, o := range all {
		x := useOf(j, site, o)
		caps := policy.UseCapsFor(k.policy, *j, site, o.Start)
		if i := slices.IndexFunc(caps, func(r protocol.Rule) bool {
			return u.profileUnderRule(r).peakBetween(x.from, x.to) > useLimit(r)-x.amountUnder(r)
		}); i >= 0 {
			k.counts[string(protocol.Forbidden)]++
			capped, overQuota = caps[i], runUse{}
			continue
		}
		if !u.quotas.hasRoom(x) {
			k.counts[string(protocol.OverQuota)]++
			overQuota = x
			continue
		}
		if len(fitting) == 0 {
			mine = x
		}
		mine = runUse{j, site, min(mine.from, x.from), max(mine.to, x.to), max(mine.power, x.power)}
		fitting = append(fitting, o)
	}
	if len(fitting) > 0 {
		own = append(own, mine)
	}
	if len(own) > 0 {
		u.jobs[j.ID] = own
		u.updateProfiles(k, own, 1)
	}
	switch {
	case overQuota.job != nil:
		against = u.quotas.reason(overQuota)
	case capped.ID != "":
		against = reasonOfRule(capped)
	}
	return fitting, against
}

// updateProfiles adds a job's possible uses to each profile built so far, or with sign -1
// subtracts them.
func (u *plannedUse) updateProfiles(k *Market, own []runUse, sign int64) {
	for _, r := range k.policy.Rules {
		if d := u.profiles[r.ID]; d != nil {
			d.addUses(func(x *runUse) int64 { return x.amountUnder(r) }, own, sign)
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
			d.addUses(func(x *runUse) int64 { return x.amountUnder(r) }, u.jobs[id], 1)
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

// addUses adds the amounts that a job takes: at any time the largest of its possible uses that
// count, because only one of them can happen.
func (d *useProfile) addUses(amountOf func(*runUse) int64, own []runUse, sign int64) {
	var alone useProfile
	for i := range own {
		x := &own[i]
		if amount := amountOf(x); amount != 0 {
			from, to := alone.splitAt(x.from), alone.splitAt(x.to)
			for i := from; i < to; i++ {
				alone[i].sum = max(alone[i].sum, amount)
			}
		}
	}
	for i := range alone[:max(len(alone)-1, 0)] {
		from, to := d.splitAt(alone[i].at), d.splitAt(alone[i+1].at)
		for k := from; k < to; k++ {
			(*d)[k].sum += sign * alone[i].sum
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
