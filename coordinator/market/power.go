package market

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// A powerUse is the mean power that one run draws at its site, and when.
type powerUse struct {
	site     string
	from, to protocol.Time
	power    protocol.Milliwatts
}

// plannedPower is the power that runs are planned to draw; nil if no rule caps power. A job that
// may win at several sites runs at one of them, so the largest of its possible draws counts.
type plannedPower struct {
	jobs  map[protocol.JobID][]powerUse
	draws map[string]*powerProfile // total over time, by the id of the rule that caps it
}

// plannedPowerDraw returns the power that awarded runs are planned to draw, as their bids said.
// Awards whose lease expired less than leaseGrace ago count too: their Accept may still arrive,
// and then it stands.
func (k *Market) plannedPowerDraw(now protocol.Time) *plannedPower {
	if !slices.ContainsFunc(k.policy.Rules, func(r protocol.Rule) bool { return r.Power != 0 }) {
		return nil
	}
	u := &plannedPower{jobs: make(map[protocol.JobID][]powerUse), draws: make(map[string]*powerProfile)}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		late := (l.state == waiting || l.state == called) && l.site != "" && now < l.lease.Add(leaseGrace)
		if l.state == awarded || l.state == accepted || late {
			x := optionPower(l.site, l.option)
			if x.to <= now { // overran its plan, or its end was not reported yet: assume another hour
				x.to = now.Add(time.Hour)
			}
			u.jobs[id] = []powerUse{x}
		}
	}
	return u
}

// leaseGrace is how long after the end of a lease the market still reserves power for an Accept
// that is on its way.
const leaseGrace = time.Minute

// optionPower returns the mean power of an option over its time, rounded up. It includes the
// facility's overhead (PUE), as the bid's energy does.
func optionPower(site string, o protocol.BidOption) powerUse {
	seconds := max(int64(o.Finish.Sub(o.Start)/time.Second), 1)
	return powerUse{site, o.Start, o.Finish, protocol.Milliwatts((int64(o.Energy) + seconds - 1) / seconds)}
}

// withinPowerCaps returns the options that keep every power cap of the policy, next to all awarded
// runs and to whatever earlier jobs of this round may get. Each job keeps its possible draw until
// the next round, whichever site wins it. Invariant: so no outcome of the clearing can exceed a
// cap (decision 0312); the price is that a job may have to wait for another round.
func (u *plannedPower) withinPowerCaps(k *Market, j protocol.Job, site string, all []protocol.BidOption) (fitting []protocol.BidOption) {
	if u == nil {
		return all
	}
	own := u.jobs[j.ID]
	delete(u.jobs, j.ID)
	u.updateProfiles(k, own, -1) // the job runs at one site: its other possible draws do not add to this one
	var mine powerUse
	for _, o := range all {
		x := optionPower(site, o)
		if slices.ContainsFunc(policy.PowerCapsFor(k.policy, j, site, o.Start), func(r protocol.Rule) bool { return u.profileUnderRule(r).peakBetween(x.from, x.to) > r.Power-x.power }) {
			k.counts[string(protocol.Forbidden)]++
			continue
		}
		if len(fitting) == 0 {
			mine = x
		}
		mine = powerUse{site, min(mine.from, x.from), max(mine.to, x.to), max(mine.power, x.power)}
		fitting = append(fitting, o)
	}
	if len(fitting) > 0 {
		own = append(own, mine)
	}
	if len(own) > 0 {
		u.jobs[j.ID] = own
		u.updateProfiles(k, own, 1)
	}
	return fitting
}

// updateProfiles adds a job's possible draws to each profile built so far, or with sign -1
// subtracts them.
func (u *plannedPower) updateProfiles(k *Market, own []powerUse, sign protocol.Milliwatts) {
	for _, r := range k.policy.Rules {
		if d := u.draws[r.ID]; d != nil {
			d.addUses(r, own, sign)
		}
	}
}

// profileUnderRule returns the total draw of all sites that a rule covers, and builds it at first
// use.
func (u *plannedPower) profileUnderRule(r protocol.Rule) *powerProfile {
	d := u.draws[r.ID]
	if d == nil {
		d = &powerProfile{}
		u.draws[r.ID] = d
		for _, id := range slices.Sorted(maps.Keys(u.jobs)) {
			d.addUses(r, u.jobs[id], 1)
		}
	}
	return d
}

// A powerProfile is power over time: each step holds until the next one begins. A round reads it
// for thousands of options, so it is updated in place and not rebuilt.
type powerProfile []powerStep

type powerStep struct {
	at  protocol.Time
	sum protocol.Milliwatts
}

// addUses adds a job's draw under a rule: at any time the largest of its possible uses that the
// rule covers, because only one of them can happen.
func (d *powerProfile) addUses(r protocol.Rule, own []powerUse, sign protocol.Milliwatts) {
	var alone powerProfile
	for _, x := range own {
		if r.CoversSite(x.site) {
			from, to := alone.splitAt(x.from), alone.splitAt(x.to)
			for i := from; i < to; i++ {
				alone[i].sum = max(alone[i].sum, x.power)
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
func (d *powerProfile) splitAt(t protocol.Time) int {
	i, ok := d.indexAt(t)
	if !ok {
		s := powerStep{at: t}
		if i > 0 {
			s.sum = (*d)[i-1].sum
		}
		*d = slices.Insert(*d, i, s)
	}
	return i
}

// indexAt returns the index of the first step that begins at t or later, and whether it begins at
// t.
func (d *powerProfile) indexAt(t protocol.Time) (int, bool) {
	return slices.BinarySearchFunc(*d, t, func(s powerStep, t protocol.Time) int { return cmp.Compare(s.at, t) })
}

// peakBetween returns the highest power in [from, to).
func (d *powerProfile) peakBetween(from, to protocol.Time) (most protocol.Milliwatts) {
	i, ok := d.indexAt(from)
	if !ok {
		i = max(i-1, 0) // the step that began before from still holds
	}
	for ; i < len(*d) && (*d)[i].at < to; i++ {
		most = max(most, (*d)[i].sum)
	}
	return most
}
