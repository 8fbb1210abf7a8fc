package services

import "github.com/gridbid/gridbid/protocol"

// Restore applies one event to services that have not taken a step yet. After all events in order they
// stand as they did when the last was recorded; what sites have acknowledged since is asked anew.
func (k *Services) Restore(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.SubmitService:
		s := k.put(b.Service)
		if s.cause = protocol.ServicePlaced; s.decision > 0 {
			s.cause = protocol.ServiceScaled
		}
	case protocol.ScaleService:
		if s := k.all[b.Service]; s != nil {
			s.spec.Wanted, s.cause = b.Wanted, protocol.ServiceScaled
		}
	case protocol.RebalanceService:
		if s := k.all[b.Service]; s != nil && !b.Preview {
			s.rebalance, s.cause = true, protocol.Rebalanced
		}
	case protocol.ServiceDivision:
		k.restoreDivision(b)
	case protocol.AssignReplicas:
		k.revision = max(k.revision, b.Revision)
		s := k.all[b.Service.ID]
		if s == nil { // a deleted service, of which a snapshot keeps no more than that
			s = k.put(b.Service)
			s.deleted = true
		}
		s.wish[m.To.SiteName()] = assignment{revision: b.Revision, count: b.Count, spec: b.Service}
		s.beginMeter(m.At, m.To.SiteName(), b.Revision)
	case protocol.ServiceSettlement:
		s := k.all[b.Service]
		if s == nil { // a deleted service, of which a snapshot keeps this and what its sites were told
			s = k.put(protocol.Service{ID: b.Service, Tenant: b.Payer})
			s.deleted = true
		}
		s.meters[b.Site] = siteMeter{settled: b.Meter, hourly: hourlyOf(b.Counted, b.Ran, s.meters[b.Site].hourly), from: s.meters[b.Site].from}
	case protocol.ReplicaStatus:
		if s := k.all[b.Service]; s != nil { // of a deleted service: see handleStatus
			delete(s.wish, m.From.SiteName())
			k.forgetIfRemoved(s)
		}
	case protocol.SiteCondition:
		if b.State == protocol.SiteSilent || b.State == protocol.SiteRevoked {
			if _, ok := k.silent[b.Site]; !ok {
				k.silent[b.Site] = m.At
			}
		} else {
			delete(k.silent, b.Site)
		}
	case protocol.DecommissionSite:
		delete(k.silent, b.Site)
		for _, s := range k.inOrder() {
			if s.target[b.Site] > 0 {
				s.cause = protocol.SiteLost
			}
		}
	}
	k.restored = len(k.all) > 0
}

// restoreDivision restores a decision.
func (k *Services) restoreDivision(b protocol.ServiceDivision) {
	s := k.all[b.Service]
	if s == nil || b.Preview {
		return // it was refused, or nothing followed
	}
	s.decision, s.pending, s.lack, s.deleted = b.Decision, b.Pending, b.Lack, b.Deleted
	s.cause, s.rebalance = "", false
	clear(s.target)
	for _, x := range b.Sites {
		if x.Count > 0 {
			s.target[x.Site] = x.Count
		}
	}
	k.forgetIfRemoved(s)
}
