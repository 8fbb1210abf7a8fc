package spec

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// checkLabels checks the labels of an entry of a site's fleet: each is for a level of its topology.
func (s scenarioSpec) checkLabels(site, entry int) error {
	x := &s.Sites[site]
	if i := slices.Index(x.Topology, protocol.HostnameLevel); i >= 0 {
		return s.where("sites", site, "topology", i)("is %s: every node stands alone there; leave it out", protocol.HostnameLevel)
	}
	for _, key := range slices.Sorted(maps.Keys(x.Fleet[entry].Labels)) {
		if len(x.Topology) == 0 {
			return s.where("sites", site, "fleet", entry, "labels", key)("is for a level, and the site has none: add topology: [%s] to the site, the widest level first", key)
		}
		if !slices.Contains(x.Topology, key) {
			return s.where("sites", site, "fleet", entry, "labels", key)("is for no level of the site's topology%s", nearest.WhatThereIs(key, x.Topology))
		}
	}
	return nil
}
