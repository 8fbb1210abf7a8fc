package agents

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
)

// A lendingPlan says how many GPUs jobs of other tenants hold, from an instant on, if they start
// and end as planned. Steps are sorted by time; before the first none is held.
type lendingPlan []lendingStep

// A lendingStep is the GPUs that are held from an instant on, in thousandths.
type lendingStep struct {
	at   protocol.Time
	held protocol.Milli
}

// planLending returns the plan of all running and accepted jobs of other tenants but one. A job past
// its planned end is expected to end within a second.
func (a *Agent) planLending(now protocol.Time, except protocol.JobID) (p lendingPlan) {
	add := func(j protocol.Job, from, until protocol.Time) {
		if gpus := j.TotalGPUMilli(); j.ID != except && gpus > 0 && !a.cfg.Terms.IsOwn(j.Tenant) {
			p = append(p, lendingStep{from, gpus}, lendingStep{max(until, now.Add(time.Second)), -gpus})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.running)) {
		l := a.running[id]
		add(l.launch.Job, min(l.started, now), l.started.Add(l.launch.Run))
	}
	for _, r := range a.queue {
		start := max(r.award.Option.Start, now)
		if at, ok := a.fleet.ReservedFrom(r.job.ID); ok {
			start = max(at, now)
		}
		add(r.job, start, start.Add(r.runTime()))
	}
	// Where one ends as another begins, the end comes first.
	slices.SortFunc(p, func(x, y lendingStep) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.held, y.held)) })
	held := protocol.Milli(0)
	for i := range p {
		held += p[i].held
		p[i].held = held
	}
	return p
}

// mostHeld returns the most GPUs that are held at any time in [from, until).
func (p lendingPlan) mostHeld(from, until protocol.Time) (most protocol.Milli) {
	for _, s := range p {
		if s.at >= until {
			break
		}
		if s.at <= from {
			most = s.held
		} else {
			most = max(most, s.held)
		}
	}
	return most
}

// A termsCheck says when the site's terms allow one job to run. A nil check allows all.
type termsCheck struct {
	terms *terms.Terms
	lent  lendingPlan    // of other jobs; nil if the terms set no limit
	gpus  protocol.Milli // of the job
}

// termsFor returns the check of a job: nil for a job of the site's own tenants, and where the site
// has no terms. The plan is computed by plan, if it is needed.
func (a *Agent) termsFor(j *protocol.Job, plan func() lendingPlan) *termsCheck {
	t := &a.cfg.Terms
	if t.IsZero() || t.IsOwn(j.Tenant) {
		return nil
	}
	c := &termsCheck{terms: t, gpus: j.TotalGPUMilli()}
	if t.MostGPUs != nil && c.gpus > 0 {
		c.lent = plan()
	}
	return c
}

// allows reports whether the job may run from start to finish.
func (c *termsCheck) allows(start, finish protocol.Time) bool {
	return c == nil || c.terms.OpenUntil(start) >= finish && c.hasRoom(start, finish)
}

// hasRoom reports whether the site may lend what the job holds from start to finish.
func (c *termsCheck) hasRoom(start, finish protocol.Time) bool {
	return c.terms.MostGPUs == nil || c.gpus == 0 || c.lent.mostHeld(start, finish)+c.gpus <= *c.terms.MostGPUs
}

// earliest returns the first instant, at or after at, from which the job may run for so long; false
// if the terms never allow it.
func (c *termsCheck) earliest(at protocol.Time, run time.Duration) (protocol.Time, bool) {
	if c == nil {
		return at, true
	}
	at, ok := c.terms.OpenFor(at, run)
	for _, s := range c.lent {
		if !ok || c.hasRoom(at, at.Add(run)) {
			break
		}
		// Room comes only when another job ends.
		if s.at > at {
			at, ok = c.terms.OpenFor(s.at, run)
		}
	}
	return at, ok && c.hasRoom(at, at.Add(run))
}

// mayRun reports whether the site's terms allow a job to run as it was awarded: at its tariff, too.
func (a *Agent) mayRun(now protocol.Time, r reservation) bool {
	start, o := max(r.award.Option.Start, now), &r.award.Option
	return o.Tariff >= a.cfg.Terms.ChargeFor(&r.job, o.Model).PerGPUHour(o.Money, o.Finish.Sub(o.Start)) && a.cfg.Terms.Refusal(&r.job) == "" && a.termsOf(now, r).allows(start, start.Add(r.runTime()))
}

// firstAllowedStart returns the first start of an awarded job that its award and the site's terms
// allow; false if the terms never do. A job is checked once more when it is to start, since that
// may be later than was awarded, and beside other jobs.
func (a *Agent) firstAllowedStart(now protocol.Time, r reservation) (protocol.Time, bool) {
	at, ok := a.termsOf(now, r).earliest(max(r.earliestStart(), now), r.runTime())
	return at, ok && a.cfg.Terms.Refusal(&r.job) == ""
}

// termsOf returns the check of an awarded job beside all others that are here.
func (a *Agent) termsOf(now protocol.Time, r reservation) *termsCheck {
	return a.termsFor(&r.job, func() lendingPlan { return a.planLending(now, r.job.ID) })
}

// lentCapacity returns the capacity profiles of a bid: of the free GPUs, those that the site lends.
// A call without jobs of other tenants is told of all, since the site's own tenants may use them.
func (a *Agent) lentCapacity(now protocol.Time, jobs []protocol.Job, lent func() lendingPlan) []protocol.CapacityProfile {
	free := a.fleet.CapacityProfiles(now, a.planning.Slot, a.planning.SlotCount())
	t := &a.cfg.Terms
	if t.MostGPUs == nil || slices.ContainsFunc(jobs, func(j protocol.Job) bool { return t.IsOwn(j.Tenant) }) {
		return free
	}
	out := slices.Clone(free)
	for i := range out {
		p := &out[i]
		p.Free, p.ForDeferrable = slices.Clone(p.Free), slices.Clone(p.ForDeferrable)
		p.CPUUsed, p.MemoryUsed = 0, 0 // would tell what the site's own jobs use
		for s := range p.Free {
			from := p.From.Add(time.Duration(s) * p.Slot)
			most := max(*t.MostGPUs-lent().mostHeld(max(from, now), from.Add(p.Slot)), 0)
			p.Free[s] = min(p.Free[s], most)
			if s < len(p.ForDeferrable) {
				p.ForDeferrable[s] = min(p.ForDeferrable[s], most)
			}
		}
	}
	return out
}

// runTime returns how long the job of a reservation is planned to run.
func (r reservation) runTime() time.Duration { return r.award.Option.Finish.Sub(r.award.Option.Start) }
