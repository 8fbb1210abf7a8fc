package division

import (
	"cmp"
	"slices"
)

// mostTrials is how many sets of groups are tried before MaxGroups is kept by rules of thumb.
const mostTrials = 64

// groupName returns the group of a site.
func groupName(s *Site, by Group) string {
	switch by {
	case ByRegion:
		return s.Region
	case ByProvider:
		return s.Provider
	}
	return s.Name
}

// A group is the places that share a region or a provider, or one place alone.
type group struct {
	name   string
	places []*place
	silent int // replicas at its silent sites
}

// groups returns the groups of all sites, by name.
func (p *problem) groups(by Group) (out []*group) {
	at := make(map[string]*group)
	find := func(name string) *group {
		if at[name] == nil {
			at[name] = &group{name: name}
			out = append(out, at[name])
		}
		return at[name]
	}
	for _, pl := range p.places {
		g := find(groupName(pl.Site, by))
		g.places = append(g.places, pl)
	}
	for i := range p.Sites {
		if s := &p.Sites[i]; s.Silent && s.Held > 0 {
			find(groupName(s, by)).silent += s.Held
		}
	}
	slices.SortFunc(out, func(a, b *group) int { return cmp.Compare(a.name, b.name) })
	return out
}

// divideSpread divides within the spread constraints as far as that is possible.
func (p *problem) divideSpread() {
	for _, s := range p.SpreadConstraints {
		if s.MaxGroups > 0 {
			p.keepGroups(s)
		}
	}
	if p.fillGroups() == 0 {
		return
	}
	p.reason = cmp.Or(p.reason, TooFewGroups)
	if p.AllOrNothing {
		p.keepHeld()
	}
}

// fillGroups divides, and where the replicas are in fewer groups than they must be, once more
// with a replica asked for in as many. It returns how many groups are missing.
func (p *problem) fillGroups() (missing int) {
	for _, pl := range p.places {
		pl.asked = 0
	}
	p.divide()
	for _, s := range p.SpreadConstraints {
		need := min(s.MinGroups, p.silent+sum(p.places, gotOf))
		var empty []*place // the best of each group that has nothing
		for _, g := range p.groups(s.By) {
			if best := p.bestOf(g); sum(g.places, gotOf)+g.silent > 0 {
				need--
				if g.silent == 0 && best != nil {
					best.asked = 1
				}
			} else if best != nil {
				empty = append(empty, best)
			}
		}
		if need <= 0 {
			continue
		}
		slices.SortStableFunc(empty, func(a, b *place) int { return cmp.Or(cmp.Compare(a.Tier, b.Tier), p.favoured(a, b)) })
		for _, pl := range empty[:min(need, len(empty))] {
			pl.asked = 1
		}
		p.divide()
	}
	for _, s := range p.SpreadConstraints {
		missing += max(min(s.MinGroups, p.silent+sum(p.places, gotOf))-p.groupsUsed(s.By), 0)
	}
	return missing
}

// bestOf returns the place of a group that has the most, or else is favoured; nil if none has
// room.
func (p *problem) bestOf(g *group) (best *place) {
	for _, pl := range g.places {
		if pl.most > 0 && (best == nil || cmp.Or(cmp.Compare(best.n, pl.n), cmp.Compare(pl.Tier, best.Tier), p.favoured(pl, best)) < 0) {
			best = pl
		}
	}
	return best
}

// keepGroups rules out all groups but MaxGroups of them: those with which the fewest spread
// constraints are broken; then, unless all is divided anew, the fewest replicas move; then the
// fewest are pending, and the cost is least or the room largest. All sets are tried if they are
// few. Otherwise it tries the cheapest groups, the roomiest, and those in use.
func (p *problem) keepGroups(s SpreadConstraint) {
	var open []*group
	slots := s.MaxGroups
	for _, g := range p.groups(s.By) {
		if g.silent > 0 {
			slots--
		} else if sum(g.places, mostOf) > 0 {
			open = append(open, g)
		}
	}
	slots = max(slots, 0)
	if len(open) <= slots {
		return
	}
	held := func(g *group) int { return sum(g.places, keptOf) }
	room := func(g *group) int { return sum(g.places, mostOf) }
	slices.SortStableFunc(open, func(a, b *group) int { return cmp.Or(cmp.Compare(held(b), held(a)), cmp.Compare(room(b), room(a))) })
	sets := subsets(len(open), slots, mostTrials)
	if sets == nil {
		sets = p.thumbSets(open, slots)
	}
	best := slices.MinFunc(p.trials(open, sets), func(a, b trial) int {
		return cmp.Or(cmp.Compare(a.broken, b.broken), cmp.Compare(a.moved, b.moved),
			cmp.Compare(a.pending, b.pending), cmp.Compare(a.worth, b.worth))
	})
	for i, g := range open {
		if !best.kept[i] {
			for _, pl := range g.places {
				pl.most = 0
			}
		}
	}
}

// A trial is what comes of one set of groups.
type trial struct {
	kept    []bool
	broken  int // groups that are missing or too many, by all spread constraints
	moved   int // replicas that leave a site, unless all is divided anew
	pending int
	worth   int64 // cost per hour, or less than zero by the room
}

// trials divides once for each set of groups.
func (p *problem) trials(open []*group, sets [][]int) (out []trial) {
	before := make([]int, len(p.places))
	for i, pl := range p.places {
		before[i] = pl.most
	}
	for _, set := range sets {
		t := trial{kept: make([]bool, len(open))}
		for _, i := range set {
			t.kept[i] = true
		}
		for i, g := range open {
			for _, pl := range g.places {
				if !t.kept[i] {
					pl.most = 0
				}
			}
		}
		p.fillGroups()
		t.broken = p.brokenGroups()
		t.pending = max(p.wanted()-sum(p.places, mostOf), 0)
		for _, pl := range p.places {
			if !p.Rebalance {
				t.moved += max(pl.Held-pl.n, 0)
			}
			if p.Kind == ByCost {
				t.worth += p.worth(pl, pl.n)
			} else {
				t.worth -= int64(pl.most)
			}
		}
		for i, pl := range p.places {
			pl.most = before[i]
		}
		out = append(out, t)
	}
	return out
}

// brokenGroups returns how many groups are missing or too many by all spread constraints. Replicas
// that are pending count as missing, too, so that no constraint is met by placing fewer.
func (p *problem) brokenGroups() (broken int) {
	for _, s := range p.SpreadConstraints {
		used := p.groupsUsed(s.By)
		broken += max(min(s.MinGroups, p.target)-used, 0)
		if s.MaxGroups > 0 {
			broken += max(used-s.MaxGroups, 0)
		}
	}
	return broken
}

// groupsUsed returns how many groups have replicas.
func (p *problem) groupsUsed(by Group) (used int) {
	for _, g := range p.groups(by) {
		if sum(g.places, gotOf)+g.silent > 0 {
			used++
		}
	}
	return used
}

// thumbSets returns sets of groups that are likely good: the first, which are those in use and the
// roomiest, and those with the site at which as many replicas as are wanted cost least each.
func (p *problem) thumbSets(open []*group, slots int) (sets [][]int) {
	mean := make([]int64, len(open))
	for i, g := range open {
		mean[i] = mostCost
		for _, pl := range g.places {
			if n := min(pl.most, max(p.wanted(), 1)); n > 0 {
				mean[i] = min(mean[i], int64(pl.costOf(n))/int64(n))
			}
		}
	}
	byRoom, byCost := make([]int, len(open)), make([]int, len(open))
	for i := range open {
		byRoom[i], byCost[i] = i, i
	}
	sets = append(sets, slices.Clone(byRoom[:slots]))
	slices.SortStableFunc(byRoom, func(a, b int) int {
		return cmp.Compare(sum(open[b].places, mostOf), sum(open[a].places, mostOf))
	})
	slices.SortStableFunc(byCost, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	return append(sets, byRoom[:slots], byCost[:slots])
}

// subsets returns all sets of k of 0..n-1 in ascending order, or nil if there are more than most.
func subsets(n, k, most int) (out [][]int) {
	set := make([]int, k)
	for i := range set {
		set[i] = i
	}
	for {
		if len(out) == most {
			return nil
		}
		out = append(out, slices.Clone(set))
		i := k - 1
		for i >= 0 && set[i] == n-k+i {
			i--
		}
		if i < 0 {
			return out
		}
		for set[i]++; i+1 < k; i++ {
			set[i+1] = set[i] + 1
		}
	}
}
