package snapshot

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A serviceEvents holds the events of one service that its state follows from.
type serviceEvents struct {
	submit   []numberedEvent // the newest in the place of the first, and what was asked since the last division
	division []numberedEvent // the last one
	assigned map[string]numberedEvent
	settled  map[string]numberedEvent // the last settlement, by site: the next reading of its meter goes on from it
}

// addServiceEvent adds an event about a service.
func (s *Snapshot) addServiceEvent(m protocol.Message) {
	at := numberedEvent{s.next, m}
	switch b := m.Body.(type) {
	case protocol.SubmitService:
		t := s.service(b.Service.ID)
		if t.submit = append(t.submit[:min(len(t.submit), 1)], at); len(t.submit) > 1 {
			t.submit[0].m = m // a division that came between them is of a service that is known
		}
	case protocol.ScaleService:
		t := s.service(b.Service)
		t.submit = append(t.without(func(o protocol.Body) bool { _, ok := o.(protocol.ScaleService); return ok }), at)
	case protocol.RebalanceService:
		t := s.service(b.Service)
		t.submit = append(t.without(isRebalance), at)
	case protocol.ServiceDivision:
		t := s.service(b.Service)
		t.submit, t.division = t.without(isRebalance), []numberedEvent{at}
		if len(t.submit) > 1 {
			if _, again := t.submit[1].m.Body.(protocol.SubmitService); again {
				t.submit = slices.Delete(t.submit, 1, 2)
			}
		}
		if b.Deleted {
			t.submit, t.division = nil, nil
			s.dropIfEmpty(b.Service)
		}
	case protocol.AssignReplicas:
		s.service(b.Service.ID).assigned[m.To.SiteName()] = at
	case protocol.ServiceSettlement:
		for _, c := range b.Charges {
			s.keepLimit(c)
		}
		t := s.service(b.Service)
		s.compactSettlement(t, b.Site)
		t.settled[b.Site] = at
	case protocol.ReplicaStatus: // the site has removed a deleted service
		t, site := s.service(b.Service), m.From.SiteName()
		if a, ok := t.assigned[site]; ok && (len(s.removed) == 0 || revisionOf(a) > revisionOf(s.removed[0])) {
			s.removed = []numberedEvent{a, at}
		}
		delete(t.assigned, site)
		s.dropIfEmpty(b.Service)
	}
}

// revisionOf returns the revision of an assignment.
func revisionOf(e numberedEvent) uint64 { return e.m.Body.(protocol.AssignReplicas).Revision }

// isRebalance reports whether b asks for a rebalance, which a division answers.
func isRebalance(b protocol.Body) bool { _, ok := b.(protocol.RebalanceService); return ok }

// service returns the events of a service.
func (s *Snapshot) service(id protocol.ServiceID) *serviceEvents {
	t := s.services[id]
	if t == nil {
		t = &serviceEvents{assigned: make(map[string]numberedEvent), settled: make(map[string]numberedEvent)}
		s.services[id] = t
	}
	return t
}

// without returns the requests of a service but those that are answered or replaced.
func (t *serviceEvents) without(answered func(protocol.Body) bool) []numberedEvent {
	return slices.DeleteFunc(t.submit, func(e numberedEvent) bool { return answered(e.m.Body) })
}

// dropIfEmpty forgets a service that is deleted and removed everywhere.
func (s *Snapshot) dropIfEmpty(id protocol.ServiceID) {
	if t := s.services[id]; len(t.submit)+len(t.division)+len(t.assigned) == 0 {
		for _, site := range slices.Sorted(maps.Keys(t.settled)) {
			s.compactSettlement(t, site)
		}
		delete(s.services, id)
	}
}

// compactSettlement drops the last settlement of a service at a site, and keeps what it paid.
func (s *Snapshot) compactSettlement(t *serviceEvents, site string) {
	if b, ok := t.settled[site].m.Body.(protocol.ServiceSettlement); ok {
		s.addPayment(b.Payer, site, b.Paid, b.Charges)
		delete(t.settled, site)
	}
}

// serviceMessages returns the events of all services. If the highest revision is of an assignment that was removed,
// that is one of them: a site that has seen it follows none that is not higher.
func (s *Snapshot) serviceMessages() (all []numberedEvent) {
	highest := uint64(0)
	for _, id := range slices.Sorted(maps.Keys(s.services)) {
		t := s.services[id]
		all = append(append(all, t.submit...), t.division...)
		for _, site := range slices.Sorted(maps.Keys(t.assigned)) {
			all = append(all, t.assigned[site])
			highest = max(highest, revisionOf(t.assigned[site]))
		}
		for _, site := range slices.Sorted(maps.Keys(t.settled)) {
			all = append(all, t.settled[site])
		}
	}
	if len(s.removed) > 0 && revisionOf(s.removed[0]) > highest {
		all = append(all, s.removed...)
	}
	return all
}
