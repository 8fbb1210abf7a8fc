package capacity

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// The pods of a component may be wanted in groups of so many, each in one domain of a level (protocol.PodGroup).
// A domain then counts for as many pods as whole groups fit into it, and groups go to the domains that hold most
// of them first, the last ones as tightly as possible, as Kueue's best fit does. Where F grows least is not
// asked for.

// limitToGroups sets on which nodes placement may put the pods of a gang with groups now, and how many on each.
// False if they find no room.
func (f *Fleet) limitToGroups(now protocol.Time, j *protocol.Job, model string, run time.Duration, sets []fgd.PodSet) bool {
	parts, ok := f.setAt(now, j, model, now, run, nil)
	if !ok && f.cfg.HeadroomOneIn > 0 && !hasTimeToWait(now, *j, run) && len(f.reservedOn) > 0 {
		parts, ok = f.setAt(now, j, model, now, run, atLeastAsUrgent(now, *j, run))
	}
	if !ok {
		return false
	}
	for c := range sets {
		pods := make(map[int]int)
		for _, p := range parts {
			if p.component == c {
				pods[p.node] += p.pods
			}
		}
		sets[c].Limits = make([]fgd.NodeLimit, len(f.nodes))
		for i := range f.nodes {
			sets[c].Limits[i] = fgd.NodeLimit{Node: i, Pods: pods[i]}
		}
	}
	return true
}

// groupsOf returns how many pods of a component with groups go to each of the packer's nodes, beside what is used
// of them, and how many find room in whole groups: if these are too few, none goes anywhere. Without groups it
// returns nil, and all.
func (p *podPacker) groupsOf(c int, used map[int]protocol.Job) (pods []int, whole int) {
	groups, want := p.job.GroupsOf(c), p.job.Pods[c].Pods
	if len(groups) == 0 {
		return nil, want
	}
	g := groupPacker{nodes: p.nodes, room: make([]int, len(p.nodes)), pods: make([]int, len(p.nodes))}
	for _, l := range groups {
		g.levels = append(g.levels, groupLevel{l.Pods, p.fleet.domainsAt(levelAbove{level: l.Level})})
	}
	all := make([]int, len(p.nodes))
	for at, i := range p.nodes {
		all[at], g.room[at] = at, p.podsBeside(used[i], i, c, want)
	}
	if whole = g.wholeRoom(all, 0); whole >= want {
		g.place(all, want, 0)
	}
	return g.pods, whole
}

// A groupPacker divides pods in groups over nodes, which it knows by their position in nodes.
type groupPacker struct {
	levels []groupLevel // from wide to narrow
	nodes  []int
	room   []int // pods that each node takes
	pods   []int // what each gets
}

// A groupLevel is groups of so many pods, each in one domain.
type groupLevel struct {
	pods    int
	domains *domainIndex
}

// A groupDomain is the nodes of a domain, how many pods it takes in whole groups, and how many without.
type groupDomain struct {
	index       int
	nodes       []int
	whole, room int
}

// domains divides nodes by their domain at a level. Nodes that stand in none are left out.
func (g *groupPacker) domains(nodes []int, at int) (all []groupDomain) {
	of := make(map[int32]int)
	for _, i := range nodes {
		d := g.levels[at].domains.of[g.nodes[i]]
		if d < 0 || g.room[i] == 0 {
			continue
		}
		k, known := of[d]
		if !known {
			k = len(all)
			of[d], all = k, append(all, groupDomain{index: int(d)})
		}
		all[k].nodes, all[k].room = append(all[k].nodes, i), all[k].room+g.room[i]
	}
	size := g.levels[at].pods
	for k := range all {
		all[k].whole = g.wholeRoom(all[k].nodes, at+1) / size * size
	}
	return all
}

// wholeRoom returns how many pods some nodes take, in whole groups of all levels from one on.
func (g *groupPacker) wholeRoom(nodes []int, at int) (sum int) {
	if at == len(g.levels) {
		for _, i := range nodes {
			sum += g.room[i]
		}
		return sum
	}
	for _, d := range g.domains(nodes, at) {
		sum += d.whole
	}
	return sum
}

// place gives some nodes so many pods, of which they have room: to the domains that take most first, and the
// last ones to the domain with the least room that takes them. Ties go by less room, then name.
func (g *groupPacker) place(nodes []int, want, at int) {
	if at == len(g.levels) {
		for _, i := range nodes {
			n := min(want, g.room[i])
			g.pods[i] += n
			want -= n
		}
		return
	}
	all := g.domains(nodes, at)
	slices.SortFunc(all, func(x, y groupDomain) int {
		return cmp.Or(cmp.Compare(y.whole, x.whole), cmp.Compare(x.room, y.room), cmp.Compare(x.index, y.index))
	})
	for len(all) > 0 && want > 0 {
		next := 0
		if all[0].whole >= want {
			for k := range all {
				if all[k].whole >= want && cmp.Or(cmp.Compare(all[k].whole, all[next].whole), cmp.Compare(all[k].room, all[next].room)) < 0 {
					next = k
				}
			}
		}
		n := min(want, all[next].whole)
		g.place(all[next].nodes, n, at+1)
		want -= n
		all = slices.Delete(all, next, next+1)
	}
}

// PlacesByDomain returns the places of a gang in an order in which the pods of each of its groups, counted
// within their component, stand in one domain: pods fill the places of their component in that order. Each
// domain of a group's level has whole groups, so it suffices that no domain of any level is left and
// entered again.
func (f *Fleet) PlacesByDomain(j *protocol.Job, places []protocol.Place) []protocol.Place {
	if len(j.Groups) == 0 {
		return places
	}
	values := make(map[string][]string, len(places))
	for i := range f.nodes {
		for _, l := range f.nodes[i].Topology {
			values[f.nodes[i].Name] = append(values[f.nodes[i].Name], l.Value)
		}
	}
	slices.SortStableFunc(places, func(x, y protocol.Place) int {
		return cmp.Or(cmp.Compare(x.Component, y.Component), slices.Compare(values[x.Node], values[y.Node]), cmp.Compare(x.Node, y.Node))
	})
	return places
}
