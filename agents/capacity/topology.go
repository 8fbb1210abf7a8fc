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
	m.of = func(i int) (room int64) {
		n := &f.nodes[i]
		if n.removed || n.unschedulable || j.GPUs > 0 && !allowsNode(j, model, n) {
			return 0
		}
		cpu, _, gpus, _ := f.cluster.FreeResources(i)
		if j.GPUs == 0 {
			return cpu
		}
		for _, milli := range gpus {
			room += int64(milli)
		}
		return room
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

// domainsFor returns the domains with enough room at the level of a gang's wish, or at one that is so many
// levels wider, the least room first. Known is whether any node stands at that level.
func (f *Fleet) domainsFor(j *protocol.Job, wider int, room roomMeasure) (domains []fgd.NodeSet, known bool) {
	type domain struct {
		name  string
		nodes fgd.NodeSet
		room  int64
	}
	var all []domain
	index := make(map[string]int)
	for i := range f.nodes {
		name, ok := f.nodes[i].domainAt(j.TopologyLevel(), wider)
		if !ok || f.nodes[i].removed {
			continue
		}
		known = true
		has := room.of(i)
		if has == 0 {
			continue
		}
		at, seen := index[name]
		if !seen {
			at = len(all)
			index[name] = at
			all = append(all, domain{name: name})
		}
		all[at].nodes, all[at].room = all[at].nodes.Add(i), all[at].room+has
	}
	slices.SortFunc(all, func(x, y domain) int { return cmp.Or(cmp.Compare(x.room, y.room), cmp.Compare(x.name, y.name)) })
	for _, d := range all {
		if d.room >= room.least {
			domains = append(domains, d.nodes)
		}
	}
	return domains, known
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
		var within []fgd.NodeLimit
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
