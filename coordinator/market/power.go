package market

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// A powerUse is what one run draws at its site while it is to run.
type powerUse struct {
	site     string
	from, to protocol.Time
	power    protocol.Milliwatts
}

// plannedPower is what runs are to draw; nil if no rule caps power. A job that may get room at
// several sites gets it at one: the most that it would draw counts.
type plannedPower struct {
	jobs  map[protocol.JobID][]powerUse
	draws map[string]*powerProfile // by the rule that caps them
}

// plannedPowerDraw returns what the runs that were awarded are to draw, as offered; also those whose
// lease ended a moment ago, as their accept may be on its way, and stands.
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
			if x.to <= now { // it goes on longer than planned, or was not heard of
				x.to = now.Add(time.Hour)
			}
			u.jobs[id] = []powerUse{x}
		}
	}
	return u
}

// leaseGrace is for how long after its lease an accept is reckoned with.
const leaseGrace = time.Minute

// optionPower is the mean draw of an option over its time, the facility's share
// included, as the site counts its bid.
func optionPower(site string, o protocol.BidOption) powerUse {
	seconds := max(int64(o.Finish.Sub(o.Start)/time.Second), 1)
	return powerUse{site, o.Start, o.Finish, protocol.Milliwatts((int64(o.Energy) + seconds - 1) / seconds)}
}

// withinPowerCaps returns the options with which sites stay under their ceilings beside
// all that was awarded to them, and beside what jobs before this one in the round
// may get there: each keeps its room until the next round, whoever wins it. So
// no clearing can pass the ceiling, at the price that a job may have to wait for
// a round.
func (u *plannedPower) withinPowerCaps(k *Market, j protocol.Job, site string, all []protocol.BidOption) (fitting []protocol.BidOption) {
	if u == nil {
		return all
	}
	own := u.jobs[j.ID]
	delete(u.jobs, j.ID)
	u.updateProfiles(k, own, -1) // what the job may get elsewhere is not beside it
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

// updateProfiles adds what a job may draw to each draw that is known, or takes it away.
func (u *plannedPower) updateProfiles(k *Market, own []powerUse, sign protocol.Milliwatts) {
	for _, r := range k.policy.Rules {
		if d := u.draws[r.ID]; d != nil {
			d.addUses(r, own, sign)
		}
	}
}

// profileUnderRule returns what is drawn at all sites that a rule covers together.
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

// A powerProfile is a sum over time: each step holds until the next. Rounds look at it for each of
// thousands of options, so it is kept up and not made anew.
type powerProfile []powerStep

type powerStep struct {
	at  protocol.Time
	sum protocol.Milliwatts
}

// addUses adds what a job may draw where a rule covers it: at any time the most of its uses.
func (d *powerProfile) addUses(r protocol.Rule, own []powerUse, sign protocol.Milliwatts) {
	var alone powerProfile
	for _, x := range own {
		if policy.CoversSite(r, x.site) {
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

// splitAt has a step begin at t, and returns which.
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

// indexAt returns the first step that begins at t or later, and whether that is at t.
func (d *powerProfile) indexAt(t protocol.Time) (int, bool) {
	return slices.BinarySearchFunc(*d, t, func(s powerStep, t protocol.Time) int { return cmp.Compare(s.at, t) })
}

// peakBetween returns the most that is drawn at once between two times.
func (d *powerProfile) peakBetween(from, to protocol.Time) (most protocol.Milliwatts) {
	i, ok := d.indexAt(from)
	if !ok {
		i = max(i-1, 0) // it holds from before
	}
	for ; i < len(*d) && (*d)[i].at < to; i++ {
		most = max(most, (*d)[i].sum)
	}
	return most
}
