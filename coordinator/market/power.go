package market

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// A use is what one run draws at its site while it is to run.
type use struct {
	site     string
	from, to protocol.Time
	power    protocol.Milliwatts
}

// uses is what runs are to draw; nil if no rule caps power. A job that may get room at
// several sites gets it at one: the most that it would draw counts.
type uses struct {
	jobs  map[protocol.JobID][]use
	draws map[string]*draw // by the rule that caps them
}

// drawn returns what the runs that were awarded are to draw, as offered; also those whose
// lease ended a moment ago, as their accept may be on its way, and stands.
func (k *Market) drawn(now protocol.Time) *uses {
	if !slices.ContainsFunc(k.policy.Rules, func(r protocol.Rule) bool { return r.Power != 0 }) {
		return nil
	}
	u := &uses{jobs: make(map[protocol.JobID][]use), draws: make(map[string]*draw)}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		late := (l.state == waiting || l.state == called) && l.site != "" && now < l.lease.Add(grace)
		if l.state == awarded || l.state == accepted || late {
			x := used(l.site, l.option)
			if x.to <= now { // it goes on longer than planned, or was not heard of
				x.to = now.Add(time.Hour)
			}
			u.jobs[id] = []use{x}
		}
	}
	return u
}

// grace is for how long after its lease an accept is reckoned with.
const grace = time.Minute

// used is the mean draw of an option over its time, the facility's share
// included, as the site counts its bid.
func used(site string, o protocol.Option) use {
	seconds := max(int64(o.Finish.Sub(o.Start)/time.Second), 1)
	return use{site, o.Start, o.Finish, protocol.Milliwatts((int64(o.Energy) + seconds - 1) / seconds)}
}

// fit returns the options with which sites stay under their ceilings beside
// all that was awarded to them, and beside what jobs before this one in the round
// may get there: each keeps its room until the next round, whoever wins it. So
// no clearing can pass the ceiling, at the price that a job may have to wait for
// a round.
func (u *uses) fit(k *Market, j protocol.Job, site string, all []protocol.Option) (fitting []protocol.Option) {
	if u == nil {
		return all
	}
	own := u.jobs[j.ID]
	delete(u.jobs, j.ID)
	u.count(k, own, -1) // what the job may get elsewhere is not beside it
	var mine use
	for _, o := range all {
		x := used(site, o)
		if slices.ContainsFunc(policy.Ceilings(k.policy, j, site, o.Start), func(r protocol.Rule) bool { return u.draw(r).peak(x.from, x.to) > r.Power-x.power }) {
			k.counts[string(protocol.Forbidden)]++
			continue
		}
		if len(fitting) == 0 {
			mine = x
		}
		mine = use{site, min(mine.from, x.from), max(mine.to, x.to), max(mine.power, x.power)}
		fitting = append(fitting, o)
	}
	if len(fitting) > 0 {
		own = append(own, mine)
	}
	if len(own) > 0 {
		u.jobs[j.ID] = own
		u.count(k, own, 1)
	}
	return fitting
}

// count adds what a job may draw to each draw that is known, or takes it away.
func (u *uses) count(k *Market, own []use, sign protocol.Milliwatts) {
	for _, r := range k.policy.Rules {
		if d := u.draws[r.ID]; d != nil {
			d.add(r, own, sign)
		}
	}
}

// draw returns what is drawn at all sites that a rule covers together.
func (u *uses) draw(r protocol.Rule) *draw {
	d := u.draws[r.ID]
	if d == nil {
		d = &draw{}
		u.draws[r.ID] = d
		for _, id := range slices.Sorted(maps.Keys(u.jobs)) {
			d.add(r, u.jobs[id], 1)
		}
	}
	return d
}

// A draw is a sum over time: each step holds until the next. Rounds look at it for each of
// thousands of options, so it is kept up and not made anew.
type draw []step

type step struct {
	at  protocol.Time
	sum protocol.Milliwatts
}

// add adds what a job may draw where a rule covers it: at any time the most of its uses.
func (d *draw) add(r protocol.Rule, own []use, sign protocol.Milliwatts) {
	var alone draw
	for _, x := range own {
		if policy.Covers(r, x.site) {
			from, to := alone.cut(x.from), alone.cut(x.to)
			for i := from; i < to; i++ {
				alone[i].sum = max(alone[i].sum, x.power)
			}
		}
	}
	for i := range alone[:max(len(alone)-1, 0)] {
		from, to := d.cut(alone[i].at), d.cut(alone[i+1].at)
		for k := from; k < to; k++ {
			(*d)[k].sum += sign * alone[i].sum
		}
	}
}

// cut has a step begin at t, and returns which.
func (d *draw) cut(t protocol.Time) int {
	i, ok := d.find(t)
	if !ok {
		s := step{at: t}
		if i > 0 {
			s.sum = (*d)[i-1].sum
		}
		*d = slices.Insert(*d, i, s)
	}
	return i
}

// find returns the first step that begins at t or later, and whether that is at t.
func (d *draw) find(t protocol.Time) (int, bool) {
	return slices.BinarySearchFunc(*d, t, func(s step, t protocol.Time) int { return cmp.Compare(s.at, t) })
}

// peak returns the most that is drawn at once between two times.
func (d *draw) peak(from, to protocol.Time) (most protocol.Milliwatts) {
	i, ok := d.find(from)
	if !ok {
		i = max(i-1, 0) // it holds from before
	}
	for ; i < len(*d) && (*d)[i].at < to; i++ {
		most = max(most, (*d)[i].sum)
	}
	return most
}
