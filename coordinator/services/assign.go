package services

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// resend is when assignments that were not acknowledged are repeated; due 0: all were.
type resend struct {
	due   protocol.Time
	delay time.Duration
}

// The delay of the first repetition of an assignment, and the longest.
const (
	firstRepeat = 3 * time.Second
	lastRepeat  = time.Minute
)

// siteNames returns the sites that have or are to have replicas of s, sorted.
func (s *service) siteNames() []string {
	names := slices.Concat(slices.Sorted(maps.Keys(s.target)), slices.Sorted(maps.Keys(s.wish)))
	slices.Sort(names)
	return slices.Compact(names)
}

// assignTargets tells each site what the newest decision says. With hold, sites that can be reached keep
// what they are to lose until finishMove: the replicas that take their place do not run yet.
func (k *Services) assignTargets(now protocol.Time, s *service, hold bool, reachable map[string]bool) {
	for _, site := range s.siteNames() {
		if want := s.target[site]; !hold || !reachable[site] || want > s.wish[site].count {
			k.assign(now, s, site, want)
		}
	}
}

// assign tells a site to hold so many replicas, if that is not what it was told last.
func (k *Services) assign(now protocol.Time, s *service, site string, count int) {
	w, told := s.wish[site]
	if told && w.count == count && (count == 0 || w.spec.SameReplica(&s.spec)) || !told && count == 0 {
		return
	}
	k.revision++
	s.wish[site] = assignment{revision: k.revision, count: count, spec: s.spec}
	s.beginMeter(now, site, k.revision)
	k.send(protocol.AgentParty(site), protocol.AssignReplicas{Service: s.spec, Revision: k.revision, Count: count}, true)
	k.resend.delay = firstRepeat
	if at := now.Add(firstRepeat); k.resend.due == 0 || at < k.resend.due {
		k.resend.due = at
	}
}

// finishMove takes the replicas away that were held back, as those in their place run. As many as are missing
// elsewhere, as they found no place or do not run yet, stay where they are: first those that run. A site that has
// not said how it stands keeps all.
func (k *Services) finishMove(now protocol.Time, s *service) {
	missing, ready := max(s.pending-s.overQuota, 0), make(map[string]int)
	for _, site := range s.siteNames() {
		if st := s.status[site]; st.Revision >= s.wish[site].revision {
			ready[site] = st.Ready
		}
		missing += max(s.target[site]-ready[site], 0)
	}
	stay := make(map[string]int)
	keep := func(site string, most int) {
		more := max(min(missing, most-stay[site]), 0)
		stay[site] += more
		missing -= more
	}
	for _, site := range s.siteNames() {
		keep(site, min(ready[site], s.wish[site].count)-s.target[site])
	}
	for _, site := range s.siteNames() {
		w := s.wish[site]
		if keep(site, w.count-s.target[site]); w.count > s.target[site] && s.status[site].Revision >= w.revision {
			k.assign(now, s, site, s.target[site]+stay[site])
		}
	}
}

// hurryAssignments repeats at once what was not acknowledged: a site is back.
func (k *Services) hurryAssignments(now protocol.Time) {
	if k.resend.due != 0 {
		k.resend = resend{now, firstRepeat}
	}
}

// repeatAssignments tells registered sites once more what they have not acknowledged.
func (k *Services) repeatAssignments(now protocol.Time, sites []Site) {
	if k.resend.due == 0 || now < k.resend.due {
		return
	}
	left := false
	for _, s := range k.inOrder() {
		for _, site := range s.siteNames() {
			w, told := s.wish[site]
			if !told || s.status[site].Revision >= w.revision {
				continue
			}
			left = true
			if slices.ContainsFunc(sites, func(x Site) bool { return x.Name == site }) {
				k.send(protocol.AgentParty(site), protocol.AssignReplicas{Service: w.spec, Revision: w.revision, Count: w.count}, false)
			}
		}
	}
	if !left {
		k.resend = resend{}
		return
	}
	k.resend.due, k.resend.delay = now.Add(max(k.resend.delay, firstRepeat)), min(2*max(k.resend.delay, firstRepeat), lastRepeat)
}
