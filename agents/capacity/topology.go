package capacity

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/protocol"
)

// A gang with a topology wish goes into one domain of a level: the one with the least free room of those
// that hold it, as Kueue's best fit does, so that large domains stay whole for large gangs. Nodes without
// the level's label take no part. A wish that is only preferred widens from level to level, and at last
// to all nodes.

// anywhere is the one domain of a gang without a wish: all nodes.
var anywhere = []fgd.NodeSet{nil}

// A roomMeasure says how much room for a gang node i has, 0 if none, and how much a domain needs at least.
type roomMeasure struct {
	of    func(i int) int64
	least int64
}

// freeNow measures GPUs that are free now, of a gang without GPUs cores.
func (f *Fleet) freeNow(j *protocol.Job, model string) roomMeasure {
	m := roomMeasure{least: int64(j.TotalGPUMilli())}
	if j.GPUs == 0 {
		m.least = int64(j.CPU)
	}
	m.of = func(i int) int64 {
		n := &f.nodes[i]
		if n.removed || n.unschedulable || j.GPUs > 0 && !allowsNode(j, model, n) {
			return 0
		}
		if j.GPUs > 0 {
			return f.cluster.FreeMilli(i)
		}
		cpu, _, _, _ := f.cluster.FreeResources(i)
		return cpu
	}
	return m
}

// overDomains calls try with the domains in which a gang may stand, those with the least room first,
// until it returns true: for a wish that is only preferred once for each level, and at last with anywhere.
func (f *Fleet) overDomains(j *protocol.Job, room roomMeasure, try func(domains []fgd.NodeSet) bool) bool {
	if !j.WantsTopology() {
		return try(anywhere)
	}
	for wider := 0; ; wider++ {
		domains, known := f.domainsFor(j, wider, room)
		switch {
		case try(domains):
			return true
		case j.RequiredTopology != "":
			return false
		case !known:
			return try(anywhere)
		}
	}
}

// A levelAbove is the level of a wish, or one that is so many levels wider.
type levelAbove struct {
	level string
	wider int
}

// A domainIndex says which nodes stand in which domain of a level. It holds until a node comes, goes or moves.
type domainIndex struct {
	names   []string // of the domains, in order
	of      []int32  // by node; -1: in none
	members []fgd.NodeSet
	rooms   []int64 // scratch of a search
}

// domainsAt returns the domains of a level.
func (f *Fleet) domainsAt(at levelAbove) *domainIndex {
	if x := f.domains[at]; x != nil {
		return x
	}
	x := &domainIndex{of: make([]int32, len(f.nodes))}
	names := make([]string, len(f.nodes))
	for i := range f.nodes {
		if name, ok := f.nodes[i].domainAt(at.level, at.wider); ok && !f.nodes[i].removed {
			names[i] = name
			x.names = append(x.names, name)
		}
	}
	slices.Sort(x.names)
	x.names = slices.Compact(x.names)
	x.members, x.rooms = make([]fgd.NodeSet, len(x.names)), make([]int64, len(x.names))
	for i, name := range names {
		d, found := slices.BinarySearch(x.names, name)
		if x.of[i] = -1; found {
			x.of[i], x.members[d] = int32(d), x.members[d].Add(i)
		}
	}
	if f.domains == nil || len(f.domains) > protocol.MaxLevels*protocol.MaxLevels { // wishes name levels as they like
		f.domains = make(map[levelAbove]*domainIndex)
	}
	f.domains[at] = x
	return x
}

// domainsFor returns the domains with enough room at the level of a gang's wish, or at one that is so many
// levels wider, the least room first. Known is whether any node stands at that level.
func (f *Fleet) domainsFor(j *protocol.Job, wider int, room roomMeasure) (domains []fgd.NodeSet, known bool) {
	x := f.domainsAt(levelAbove{j.TopologyLevel(), wider})
	clear(x.rooms)
	for i, d := range x.of {
		if d >= 0 {
			x.rooms[d] += room.of(i)
		}
	}
	var all []int
	for d, has := range x.rooms {
		if has > 0 && has >= room.least {
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(x.rooms[a], x.rooms[b]) }) // else by name
	for _, d := range all {
		domains = append(domains, x.members[d])
	}
	return domains, len(x.names) > 0
}

// domainAt returns the domain in which n stands at a level, or at one that is so many levels wider. False
// if n lacks either.
func (n *node) domainAt(level string, wider int) (name string, ok bool) {
	if name, ok = protocol.DomainOf(n.Name, n.Topology, level); !ok || wider == 0 {
		return name, ok
	}
	at := len(n.Topology) // that of the host name, which is no label
	if i := slices.IndexFunc(n.Topology, func(l protocol.Label) bool { return l.Key == level }); i >= 0 {
		at = i
	}
	if at < wider {
		return "", false
	}
	return protocol.DomainOf(n.Name, n.Topology, n.Topology[at-wider].Key)
}

// tryWithin calls try with limits, in one domain after the other, until it returns true.
func (f *Fleet) tryWithin(domains []fgd.NodeSet, limits []fgd.NodeLimit, try func([]fgd.NodeLimit) bool) bool {
	return slices.ContainsFunc(domains, func(domain fgd.NodeSet) bool {
		if domain == nil {
			return try(limits)
		}
		within := f.within[:0]
		for _, l := range limits {
			if domain.Has(l.Node) {
				within = append(within, l)
			}
		}
		for i := range f.nodes {
			if !domain.Has(i) {
				within = append(within, fgd.NodeLimit{Node: i})
			}
		}
		f.within = within
		return try(within)
	})
}

// SetTopology sets where nodes stand, of all that UpdateNodes reports from now on.
func (f *Fleet) SetTopology(all []protocol.NodeTopology) {
	f.topology = make(map[string][]protocol.Label, len(all))
	for _, n := range all {
		f.topology[n.Node] = n.Labels
	}
}

// DomainOf returns the domain of the level of a gang's wish that has all of some places; "" if there is
// none, or no wish.
func (f *Fleet) DomainOf(j *protocol.Job, places []protocol.Place) (domain string) {
	if !j.WantsTopology() {
		return ""
	}
	for k, p := range places {
		i := slices.IndexFunc(f.nodes, func(n node) bool { return !n.removed && n.Name == p.Node })
		if i < 0 {
			return ""
		}
		name, ok := f.nodes[i].domainAt(j.TopologyLevel(), 0)
		if !ok || k > 0 && name != domain {
			return ""
		}
		domain = name
	}
	return domain
}
