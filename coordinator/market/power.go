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
	from, to protocol.Time
	power    protocol.Milliwatts
}

// uses is what runs are to draw, by site; nil if no rule caps power.
type uses map[string][]use

// drawn returns what the runs that were awarded are to draw, as offered.
func (k *Market) drawn(now protocol.Time) uses {
	if !slices.ContainsFunc(k.policy.Rules, func(r protocol.Rule) bool { return r.Power != 0 }) {
		return nil
	}
	u := make(uses)
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		if l.state == awarded || l.state == accepted {
			x := used(l.option)
			if x.to <= now { // it goes on longer than planned, or was not heard of
				x.to = now.Add(time.Hour)
			}
			u[l.site] = append(u[l.site], x)
		}
	}
	return u
}

// used is the mean draw of an option over its time, the facility's share
// included, as the site counts its bid.
func used(o protocol.Option) use {
	seconds := max(int64(o.Finish.Sub(o.Start)/time.Second), 1)
	return use{o.Start, o.Finish, protocol.Milliwatts((int64(o.Energy) + seconds - 1) / seconds)}
}

// fit returns the options with which a site stays under its ceiling beside
// all that was awarded to it, and beside what jobs before this one in the round
// may get there: each keeps its room until the next round, whoever wins it. So
// no clearing can pass the ceiling, at the price that a job may have to wait for
// a round.
func (u uses) fit(k *Market, j protocol.Job, site string, all []protocol.Option) (fitting []protocol.Option) {
	if u == nil {
		return all
	}
	var mine use
	for _, o := range all {
		x := used(o)
		if most, _ := policy.Ceiling(k.policy, j, site, o.Start); most != 0 && u.peak(site, x) > most-x.power {
			k.counts[string(protocol.Forbidden)]++
			continue
		}
		if len(fitting) == 0 {
			mine = x
		}
		mine = use{min(mine.from, x.from), max(mine.to, x.to), max(mine.power, x.power)}
		fitting = append(fitting, o)
	}
	if len(fitting) > 0 {
		u[site] = append(u[site], mine)
	}
	return fitting
}

// capped reports whether a rule caps what a site draws at an instant. A job that
// starts sooner there than it was sold for would draw when others were let to.
func (k *Market) capped(j protocol.Job, site string, at protocol.Time) bool {
	most, _ := policy.Ceiling(k.policy, j, site, at)
	return most != 0
}

// peak is the most that is drawn at a site at once while another run is to run.
func (u uses) peak(site string, run use) (most protocol.Milliwatts) {
	at := func(t protocol.Time) (sum protocol.Milliwatts) {
		for _, x := range u[site] {
			if x.from <= t && t < x.to {
				sum += x.power
			}
		}
		return sum
	}
	most = at(run.from)
	for _, x := range u[site] {
		if run.from < x.from && x.from < run.to {
			most = max(most, at(x.from))
		}
	}
	return most
}
