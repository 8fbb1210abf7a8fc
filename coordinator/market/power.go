package market

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// A use is what one run draws at its site while it is to run.
type use struct {
	job      protocol.JobID
	from, to protocol.Time
	power    protocol.Milliwatts
}

// uses is what runs are to draw, by site; nil if no rule caps power.
type uses map[string][]use

// drawn returns what the runs that were awarded are to draw, as offered; also those whose
// lease ended a moment ago, as their accept may be on its way, and stands.
func (k *Market) drawn(now protocol.Time) uses {
	if !slices.ContainsFunc(k.policy.Rules, func(r protocol.Rule) bool { return r.Power != 0 }) {
		return nil
	}
	u := make(uses)
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		late := (l.state == waiting || l.state == called) && l.site != "" && now < l.lease.Add(grace)
		if l.state == awarded || l.state == accepted || late {
			x := used(id, l.option)
			if x.to <= now { // it goes on longer than planned, or was not heard of
				x.to = now.Add(time.Hour)
			}
			u[l.site] = append(u[l.site], x)
		}
	}
	return u
}

// grace is for how long after its lease an accept is reckoned with.
const grace = time.Minute

// used is the mean draw of an option over its time, the facility's share
// included, as the site counts its bid.
func used(job protocol.JobID, o protocol.Option) use {
	seconds := max(int64(o.Finish.Sub(o.Start)/time.Second), 1)
	return use{job, o.Start, o.Finish, protocol.Milliwatts((int64(o.Energy) + seconds - 1) / seconds)}
}

// fit returns the options with which sites stay under their ceilings beside
// all that was awarded to them, and beside what jobs before this one in the round
// may get there: each keeps its room until the next round, whoever wins it. So
// no clearing can pass the ceiling, at the price that a job may have to wait for
// a round.
func (u uses) fit(k *Market, j protocol.Job, site string, all []protocol.Option) (fitting []protocol.Option) {
	if u == nil {
		return all
	}
	var mine use
	for _, o := range all {
		x := used(j.ID, o)
		if slices.ContainsFunc(policy.Ceilings(k.policy, j, site, o.Start), func(r protocol.Rule) bool { return u.peak(r, x) > r.Power-x.power }) {
			k.counts[string(protocol.Forbidden)]++
			continue
		}
		if len(fitting) == 0 {
			mine = x
		}
		mine = use{j.ID, min(mine.from, x.from), max(mine.to, x.to), max(mine.power, x.power)}
		fitting = append(fitting, o)
	}
	if len(fitting) > 0 {
		u[site] = append(u[site], mine)
	}
	return fitting
}

// peak is the most that is drawn at once, at all sites that a rule covers together,
// while another run is to run. A job that may get room at several of them gets it at
// one: the most that it would draw counts. What the run's own job may get does not.
func (u uses) peak(r protocol.Rule, run use) (most protocol.Milliwatts) {
	var beside []use
	for _, site := range slices.Sorted(maps.Keys(u)) {
		for _, x := range u[site] {
			if policy.Covers(r, site) && x.job != run.job && x.from < run.to && x.to > run.from {
				beside = append(beside, x)
			}
		}
	}
	drawn := make(map[protocol.JobID]protocol.Milliwatts)
	at := func(t protocol.Time) (sum protocol.Milliwatts) {
		clear(drawn)
		for _, x := range beside {
			if x.from <= t && t < x.to {
				sum += max(0, x.power-drawn[x.job])
				drawn[x.job] = max(x.power, drawn[x.job])
			}
		}
		return sum
	}
	most = at(run.from)
	for _, x := range beside {
		if run.from < x.from {
			most = max(most, at(x.from))
		}
	}
	return most
}
