package division

import (
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// mostLoad bounds a load and what a replica serves, in thousandths of a request a second.
const mostLoad = 1_000_000_000

// divideLoad says how many replicas each place gets so that they serve the load, and as much of it as
// Failover asks for if any one site is lost.
func (p *problem) divideLoad() {
	all, largest := int64(0), int64(0) // that all room serves, and the site that serves most
	for _, s := range p.supplies(added, zeroOf, mostOf) {
		_, serves := s.upTo(s.high)
		all, largest = all+serves, max(largest, serves)
	}
	want := (int64(p.Load)*int64(p.Failover) + 999) / 1000
	p.kept = min(want, max(all-largest, 0))
	missing := 0
	switch {
	case all < int64(p.Load):
		each := max(int64(p.Serves), 1)
		missing = int((int64(p.Load) - all + each - 1) / each)
		for _, pl := range p.places {
			pl.n = pl.most
		}
	case p.Rebalance:
		p.coverAnew()
	default:
		p.coverChange()
	}
	if p.kept < want && missing == 0 {
		p.reason = TooLittleFailover
	}
	p.target = sum(p.places, gotOf) + p.silent + missing
	if p.Max == 0 || p.target <= p.Max {
		return
	}
	wanted := p.target
	p.target, p.reason, p.kept = p.Max, AtMost, 0
	p.divide() // as many as may be, where they cost least
	p.target = wanted
}

// coverChange leaves replicas where they are if they serve the load, but for those that it does not need;
// else it adds some. Those that serve nothing any more go.
func (p *problem) coverChange() {
	if !p.cover(removed, zeroOf, keptOf) {
		p.cover(added, func(pl *place) int {
			if pl.Held > 0 && pl.Steps[0].Serves == 0 {
				return 0
			}
			return keptOf(pl)
		}, mostOf)
	}
}

// coverAnew covers the load anew, unless that saves no more than its starts count.
func (p *problem) coverAnew() {
	p.coverChange()
	for _, pl := range p.places {
		pl.steady = pl.n
	}
	p.cover(anew, zeroOf, mostOf)
	saved, raise := int64(0), p.raise()
	for _, pl := range p.places {
		saved += p.worth(pl, pl.steady) - p.worth(pl, pl.n) + raise*int64(pl.steady-pl.n)
	}
	if saved <= 0 {
		for _, pl := range p.places {
			pl.n = pl.steady
		}
	}
}

// cover gives each place from low to high replicas, so that the load is served for the least cost. It reports
// false, and changes nothing, if that is not enough.
func (p *problem) cover(m mode, low, high func(*place) int) bool {
	found, ok := cheapestSafeCover(p.supplies(m, low, high), int64(p.Load), p.kept)
	for i, pl := range p.places {
		if ok {
			pl.n = found.n[i]
		}
	}
	return ok
}

// supplies returns what the places could serve, in their order, and then what silent sites do.
func (p *problem) supplies(m mode, low, high func(*place) int) []supply {
	raise := p.raise()
	all := make([]supply, 0, len(p.Sites))
	for _, pl := range p.places {
		s := supply{low: low(pl), high: high(pl), order: pl.order}
		rate, from := pl.price+p.startRate(m, int64(pl.Start)), 0
		if m == anew {
			rate++ // of equal ones, those that run
		}
		for _, step := range pl.Steps {
			to := from + step.Replicas
			held := min(max(pl.Held-from, 0), step.Replicas)
			s.append(held, int64(step.Cost)+raise, int64(step.Serves))
			s.append(step.Replicas-held, int64(step.Cost)+raise+rate, int64(step.Serves))
			from = to
		}
		all = append(all, s)
	}
	for i := range p.Sites {
		if x := &p.Sites[i]; x.Silent {
			s := supply{low: x.Held, high: x.Held, order: len(all)}
			s.append(x.Held, 1, int64(x.HeldServes))
			all = append(all, s)
		}
	}
	return all
}

// raise returns by how much each replica counts more, so that none costs less than nothing where power is paid
// for: a service takes no replicas that it does not need.
func (p *problem) raise() (by int64) {
	for _, pl := range p.places {
		for _, step := range pl.Steps {
			by = max(by, 1-int64(step.Cost))
		}
	}
	return by
}

// certifyLoad bounds from below what it could cost to serve as much, and to keep as much if a site is lost.
func (p *problem) certifyLoad(d *Division) {
	largest, silent := int64(0), int64(0)
	supplies := p.supplies(removed, zeroOf, mostOf)
	for i, s := range supplies {
		n := s.low
		if i < len(p.places) {
			n = p.places[i].n
		} else {
			silent += int64(n)
		}
		_, serves := s.upTo(n)
		d.Serves, largest = d.Serves+protocol.Milli(serves), max(largest, serves)
		if i < len(p.places) {
			supplies[i].low = 0
		}
	}
	load := min(int64(p.Load), int64(d.Serves))
	found, ok := cheapestSafeCover(supplies, load, min(p.kept, int64(d.Serves)-largest))
	if !ok {
		return // it has no replicas at all
	}
	d.LowerBound = protocol.Microdollars(found.bound - silent - p.raise()*int64(sum(p.places, gotOf)))
	d.Unrestricted = d.LowerBound
	if found.bound < found.cost {
		d.Relaxed = append(d.Relaxed, PartOfReplica)
	}
}

// zeroOf returns 0 of any place.
func zeroOf(*place) int { return 0 }

// checkLoad returns an error for a load that is out of bounds, or that comes with what counts replicas.
func (r *Request) checkLoad() error {
	for _, f := range []struct {
		name        string
		value, most int64
	}{
		{"load", int64(r.Load), mostLoad}, {"failover", int64(r.Failover), 1000}, {"serves", int64(r.Serves), mostLoad},
	} {
		if err := within(f.name, f.value, f.most); err != nil {
			return fmt.Errorf("division: %w", err)
		}
	}
	switch {
	case r.Load == 0 && r.Failover > 0:
		return fmt.Errorf("division: failover is %d without a load: name the load", r.Failover)
	case r.Load == 0:
		return nil
	case r.Kind != ByCost && r.Kind != "":
		return fmt.Errorf("division: a load with kind %q: want %s", r.Kind, ByCost)
	case r.Wanted > 0 || r.Min > 0 || r.MinPerSite > 0 || r.AllOrNothing || r.ExclusiveTiers || len(r.SpreadConstraints) > 0 || r.Move.Most > 0:
		return fmt.Errorf("division: a load with wanted, min, minPerSite, allOrNothing, exclusiveTiers, spread constraints or most moves: leave these out, as the load says how many replicas there are")
	case slices.ContainsFunc(r.Sites, func(s Site) bool { return s.Tier != r.Sites[0].Tier }):
		return fmt.Errorf("division: a load with tiers: name sites of one tier")
	}
	for i := range r.Sites {
		s := &r.Sites[i]
		if err := within("heldServes", int64(s.HeldServes), mostLoad); err != nil {
			return fmt.Errorf("division: site %s: %w", s.Name, err)
		}
		at := 0
		for k, step := range s.Steps {
			at += step.Replicas
			least := int64(r.Load/mostReplicas) + 1
			if k == 0 && s.Held > 0 || at <= s.Held { // what runs may serve nothing any more
				least = 0
			}
			if int64(step.Serves) < least || step.Serves > mostLoad {
				return fmt.Errorf("division: site %s: step %d serves %d: want %d to %d", s.Name, k, step.Serves, least, mostLoad)
			}
		}
	}
	return nil
}
