package services

import (
	"github.com/gridbid/gridbid/coordinator/division"
	"github.com/gridbid/gridbid/protocol"
)

// spreadOf returns over how many sites, regions and providers a division spreads.
func spreadOf(d protocol.Division) (all []division.SpreadConstraint) {
	for _, c := range []division.SpreadConstraint{
		{By: division.BySite, MinGroups: d.MinSites, MaxGroups: d.MaxSites},
		{By: division.ByRegion, MinGroups: d.MinRegions, MaxGroups: d.MaxRegions},
		{By: division.ByProvider, MinGroups: d.MinProviders, MaxGroups: d.MaxProviders},
	} {
		if c.MinGroups > 0 || c.MaxGroups > 0 {
			all = append(all, c)
		}
	}
	return all
}

// isUnplaced reports whether a site has not said its region or provider, and a service is spread by that.
func isUnplaced(site *Site, spread []division.SpreadConstraint) bool {
	for _, c := range spread {
		if c.By == division.ByRegion && site.Location.Region == "" || c.By == division.ByProvider && site.Location.Provider == "" {
			return true
		}
	}
	return false
}

// barredSites returns the sites where no replica of s may start, by affinity and anti-affinity. They are
// hard, among services of one tenant, and the first of a group is never blocked, as in Karmada; they are looked
// at when a service is divided, and a replica that runs stays, as in Kubernetes.
func (k *Services) barredSites(s *service, sites []Site) map[string]bool {
	if s.spec.Affinity == "" && s.spec.AntiAffinity == "" {
		return nil
	}
	near, barred, anywhere := make(map[string]bool), make(map[string]bool), false
	for _, t := range k.inOrder() {
		if t == s || t.spec.Tenant != s.spec.Tenant {
			continue
		}
		for _, site := range t.siteNames() {
			if a := s.spec.Affinity; a != "" && a == t.spec.Affinity && t.target[site] > 0 {
				near[site], anywhere = true, true
			}
			// One that is told to leave is there until its site has acknowledged that.
			w, told := t.wish[site]
			is := t.target[site] > 0 || told && (w.count > 0 || t.status[site].Revision < w.revision)
			if a := s.spec.AntiAffinity; a != "" && a == t.spec.AntiAffinity && is {
				barred[site] = true
			}
		}
	}
	for _, site := range sites {
		barred[site.Name] = barred[site.Name] || anywhere && !near[site.Name]
	}
	return barred
}
