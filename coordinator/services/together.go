package services

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/coordinator/division"
	"github.com/gridbid/gridbid/protocol"
)

// divideTogether divides the services of a call by prices of the GPUs that they compete for. It reports false,
// and decides nothing, where they have to be divided in turn: one is alone or has a load, some find no node, where one may be
// depends on where others are, or they ask for different GPU models, so that a site's free GPUs are not one room to
// all of them.
func (k *Services) divideTogether(now protocol.Time, all []*service, c *call, sites []Site) bool {
	if len(all) < 2 {
		return false
	}
	requests := make([]division.Request, len(all))
	free := make(map[string]protocol.Milli) // by site, in thousandths of a GPU
	for i, s := range all {
		r := k.request(now, s, c, sites)
		if _, limited := c.roomOf(s); limited { // what one gets counts for the next
			return false
		}
		if s.spec.GPUs == 0 || s.spec.Load > 0 || s.spec.Affinity != "" || s.spec.AntiAffinity != "" || !slices.Equal(s.spec.Models, all[0].spec.Models) || len(s.stuckReplicas(now, r.Sites)) > 0 {
			return false
		}
		takes := protocol.Milli(s.spec.GPUs) * s.spec.Share
		for n := range r.Sites {
			site := &r.Sites[n]
			site.Room, site.Takes = site.Name, takes
			free[site.Name] = max(free[site.Name], protocol.Milli(site.Free)*takes)
		}
		requests[i] = r
	}
	var rooms []division.Room
	for i := range sites {
		rooms = append(rooms, division.Room{Name: sites[i].Name, Free: free[sites[i].Name]})
	}
	slices.SortFunc(rooms, func(x, y division.Room) int { return cmp.Compare(x.Name, y.Name) })
	joint, err := division.DivideAll(requests, rooms)
	if err != nil { // bids were checked, so it is ours: each service alone will say why
		return false
	}
	for i, s := range all {
		k.conclude(now, s, requests[i], joint.Divisions[i], s.cause, c, sites)
	}
	return true
}
