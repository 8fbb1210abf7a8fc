package division

import (
	"fmt"
	"slices"
	"time"
)

// Reschedule divides the replicas anew that sites cannot schedule for longer than after: such a site
// keeps the higher of its ready replicas and those held less the unschedulable ones, and gets none;
// what is freed is divided as if it were added. A replica for which no other site has room stays
// where it is, so none is given up for nothing. AllOrNothing and Rebalance do not count. ByWeight
// divides all replicas with such a site full, and ByWeightUncapped, which knows no room, as ever.
//
// Karmada shrinks first and then looks for room. ACK One waits 30 s, Karmada 5 min.
func Reschedule(r Request, stuck []Stuck, after time.Duration) (Division, error) {
	r.AllOrNothing, r.Rebalance, r.Sites = false, false, slices.Clone(r.Sites)
	freed, err := freedBy(r.Sites, stuck, after)
	if err != nil {
		return Division{}, err
	}
	for i, k := range freed {
		if k >= 0 {
			r.Sites[i].Held, r.Sites[i].Free = r.Sites[i].Held-k, 0
		}
	}
	d, err := Divide(r)
	if err != nil || d.Pending == 0 {
		return d, err
	}
	back := d.Pending
	for i, k := range freed {
		k = max(min(k, back), 0)
		r.Sites[i].Held += k
		back -= k
	}
	return Divide(r)
}

// freedBy returns how many replicas each site gives up; -1 of a site without stuck replicas.
func freedBy(sites []Site, stuck []Stuck, after time.Duration) ([]int, error) {
	at := make(map[string]int, len(sites))
	for i := range sites {
		at[sites[i].Name] = i
	}
	freed, said := slices.Repeat([]int{-1}, len(sites)), make([]bool, len(sites))
	for _, s := range stuck {
		i, ok := at[s.Site]
		switch {
		case !ok:
			return nil, fmt.Errorf("division: site %s has stuck replicas and is not in the request: name it there", s.Site)
		case said[i]:
			return nil, fmt.Errorf("division: stuck replicas of site %s are named twice: name them once", s.Site)
		case s.Ready < 0 || s.Unschedulable < 0:
			return nil, fmt.Errorf("division: site %s: ready is %d and unschedulable %d: want 0 or more", s.Site, s.Ready, s.Unschedulable)
		}
		said[i] = true
		if site := &sites[i]; s.For > after && s.Unschedulable > 0 && !site.Silent {
			freed[i] = max(site.Held-max(site.Held-s.Unschedulable, s.Ready), 0)
		}
	}
	return freed, nil
}
