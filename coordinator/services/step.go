package services

import (
	"maps"
	"reflect"

	"github.com/gridbid/gridbid/protocol"
)

// Step takes in a message; sites are asked for where it closes a call. Event says that it must be recorded:
// the state depends on it.
func (k *Services) Step(now protocol.Time, m protocol.Message, sites func() []Site) (out []Output, event bool) {
	switch b := m.Body.(type) {
	case protocol.SubmitService:
		if k.isRequest(m) {
			event = k.submit(now, m.From, b)
			k.answerQueue(m.From, b.Service.ID)
		}
	case protocol.ScaleService:
		event = k.isRequest(m) && k.scale(now, b)
	case protocol.RebalanceService:
		s := k.all[b.Service]
		switch ok := k.isRequest(m) && k.exists(s); {
		case ok && b.Preview:
			s.preview = true
			k.callFor(now, s, "")
		case ok:
			event, s.rebalance = true, true
			k.callFor(now, s, protocol.Rebalanced)
		}
	case protocol.DeleteService:
		s := k.all[b.Service]
		if event = k.isRequest(m) && k.exists(s); event {
			k.delete(now, s)
		}
		if m.IsPlausible() {
			k.answerQueue(m.From, b.Service)
		}
	case protocol.CapacityBid:
		k.handleBid(now, m, b, sites())
	case protocol.ReplicaStatus:
		event = k.handleStatus(now, m, b, sites)
	case protocol.RegisterSite:
		k.RoomAppeared(now)
		k.hurryAssignments(now)
	case protocol.Drain:
		if b.Over {
			k.RoomAppeared(now)
		} else {
			k.leaveSite(now, b.Site)
		}
	case protocol.DecommissionSite:
		delete(k.silent, b.Site)
		for _, s := range k.inOrder() { // nothing runs there that anybody relies on
			delete(s.status, b.Site)
		}
		k.leaveSite(now, b.Site)
	case protocol.SiteCondition:
		k.heedCondition(now, b)
	}
	return k.takeOutput(), event
}

// isRequest reports whether a party may ask that.
func (k *Services) isRequest(m protocol.Message) bool {
	if !m.IsPlausible() {
		k.counts["impossible-service-request"]++
		return false
	}
	return true
}

// exists reports whether there is such a service.
func (k *Services) exists(s *service) bool {
	if s == nil || s.deleted {
		k.counts["request-for-unknown-service"]++
		return false
	}
	return true
}

// submit takes in a service, or what is to change of one. A queue that repeats what is known asks how the
// service stands.
func (k *Services) submit(now protocol.Time, from protocol.Party, b protocol.SubmitService) bool {
	known := k.all[b.Service.ID]
	if known != nil && !known.deleted && from.SiteName() != "" && reflect.DeepEqual(known.spec, b.Service) {
		return false
	}
	if why := b.Service.InvalidReason(); why != "" {
		k.counts["invalid-service"]++
		if known != nil {
			return false // it stays as it is
		}
		k.send("", protocol.ServiceDivision{Service: b.Service.ID, Wanted: b.Service.Wanted, Why: protocol.Reason{Code: protocol.Malformed, Note: why}, Deleted: true}, false)
		return false
	}
	if known == nil && len(k.all) >= maxServices {
		k.counts["too-many-services"]++
		return false
	}
	s := k.put(b.Service)
	cause := protocol.ServicePlaced
	if s.decision > 0 {
		cause = protocol.ServiceScaled
	}
	k.callFor(now, s, cause)
	return true
}

// answerQueue tells the queue of a site how a service stands that it asks for.
func (k *Services) answerQueue(to protocol.Party, id protocol.ServiceID) {
	if to.SiteName() == "" {
		return
	}
	b := protocol.ServiceStatus{Service: id, Deleted: true}
	if s := k.all[id]; s != nil && !s.deleted {
		b = protocol.ServiceStatus{Service: id, Wanted: s.wanted(), Decided: s.decision > 0 && s.cause == "", Pending: s.pending, Why: s.lack}
		for _, site := range s.siteNames() {
			if x := (protocol.SiteOfReplicas{Site: site, Count: s.target[site], Ready: s.status[site].Ready}); x.Count+x.Ready > 0 {
				b.Sites = append(b.Sites, x)
			}
		}
	}
	k.send(to, b, false)
}

// put stores a service as it was submitted.
func (k *Services) put(spec protocol.Service) *service {
	s := k.all[spec.ID]
	if s == nil {
		k.order++
		s = &service{order: k.order, target: make(map[string]int), wish: make(map[string]assignment), status: make(map[string]protocol.ReplicaStatus), meters: make(map[string]siteMeter)}
		k.all[spec.ID] = s
	}
	s.spec, s.deleted, k.sorted = spec, false, nil
	return s
}

// scale sets how many replicas are wanted.
func (k *Services) scale(now protocol.Time, b protocol.ScaleService) bool {
	s := k.all[b.Service]
	if !k.exists(s) {
		return false
	}
	if s.spec.Load > 0 {
		k.counts["scale-of-a-load"]++
		return false
	}
	if b.Wanted < s.spec.Min || s.spec.Max > 0 && b.Wanted > s.spec.Max {
		k.counts["scale-out-of-bounds"]++
		return false
	}
	s.spec.Wanted = b.Wanted
	k.callFor(now, s, protocol.ServiceScaled)
	return true
}

// delete takes a service from all sites. It stays known until each has acknowledged that.
func (k *Services) delete(now protocol.Time, s *service) {
	s.deleted, s.due, s.cause, s.rebalance, s.pending, s.lack = true, 0, "", false, 0, protocol.Reason{}
	s.decision++
	b := protocol.ServiceDivision{Service: s.spec.ID, Decision: s.decision, Why: protocol.Reason{Code: protocol.ServiceDeleted}, Deleted: true}
	for _, site := range s.siteNames() {
		b.Sites = append(b.Sites, protocol.SiteCount{Site: site, Before: s.target[site]})
	}
	clear(s.target)
	maps.DeleteFunc(s.wish, func(site string, w assignment) bool { // it has none, and has acknowledged that
		return w.count == 0 && s.status[site].Revision == w.revision
	})
	k.send("", b, true)
	k.assignTargets(now, s, false, nil)
	k.RoomAppeared(now)
	k.forgetIfRemoved(s)
}

// handleStatus takes in how the replicas of a service at a site stand. It is an event if it says that a
// deleted service is removed there.
func (k *Services) handleStatus(now protocol.Time, m protocol.Message, b protocol.ReplicaStatus, sites func() []Site) bool {
	site := m.From.SiteName()
	s := k.all[b.Service]
	if s == nil || m.From != protocol.AgentParty(site) || !m.IsPlausible() {
		k.counts["status-of-nothing"]++
		return false
	}
	if b.Meter.Until > s.meters[site].settled.Until {
		if x := siteOf(sites(), site); x != nil {
			k.settleMeter(now, s, x, b)
		}
	}
	return k.observe(now, s, site, b)
}

// observe takes in a status, in a message of its own or in a bid.
func (k *Services) observe(now protocol.Time, s *service, site string, b protocol.ReplicaStatus) (event bool) {
	w, told := s.wish[site]
	if !told || b.Revision > w.revision {
		return false // of a site that was told nothing, or by another coordinator
	}
	b.Service = s.spec.ID
	before := s.status[site]
	s.status[site] = b
	switch {
	case s.deleted:
		if b.Revision == w.revision && w.count == 0 {
			delete(s.wish, site)
			k.forgetIfRemoved(s)
			k.RoomAppeared(now)
			return true
		}
	case b.Pending > 0:
		if check := now.Floor(k.cfg.Check).Add(k.cfg.Check); s.due == 0 || check < s.due {
			s.due = check
		}
	}
	if b.Revision == w.revision && before.Revision < b.Revision && b.Assigned < before.Assigned {
		k.RoomAppeared(now) // replicas left
	}
	if !s.deleted {
		k.finishMove(now, s)
	}
	return false
}

// forgetIfRemoved forgets a deleted service that all sites have removed.
func (k *Services) forgetIfRemoved(s *service) {
	if s.deleted && len(s.wish) == 0 {
		delete(k.all, s.spec.ID)
		k.sorted = nil
	}
}

// heedCondition follows what the monitor says of a site.
func (k *Services) heedCondition(now protocol.Time, c protocol.SiteCondition) {
	switch _, silent := k.silent[c.Site]; {
	case c.State == protocol.SiteSilent || c.State == protocol.SiteRevoked:
		if !silent {
			k.silent[c.Site] = now
		}
	case silent:
		delete(k.silent, c.Site)
		k.RoomAppeared(now)
		k.hurryAssignments(now)
	}
}
