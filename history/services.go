package history

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A ServiceRecord is what became of a service.
type ServiceRecord struct {
	Service   protocol.Service // as it was submitted last, Wanted as it was divided last
	Submitted MessageRef
	Decisions []ServiceDecision // oldest first; a live view keeps only the newest
	Preview   *ServiceDecision  // the newest of what a rebalance would decide; nil: nobody asked
	Payments  []ServicePayment
	status    map[string][]siteReplicas
}

// A ServicePayment is what was paid to a site for an hour of its replicas, or for less.
type ServicePayment struct {
	From    MessageRef
	Settled protocol.ServiceSettlement
}

// A ServiceDecision is how the coordinator divided a service.
type ServiceDecision struct {
	From     MessageRef
	Division protocol.ServiceDivision
}

// A siteReplicas is how the replicas of a service at a site stood from an instant on.
type siteReplicas struct {
	at     protocol.Time
	status protocol.ReplicaStatus
}

// A ServiceState is how a service stands at an instant.
type ServiceState struct {
	Decision *ServiceDecision // the newest; nil: none yet
	Sites    []SiteReplicas   // that are to hold some, or do; by name
	Running  int              // at all sites
}

// SiteReplicas are the replicas of a service at one site.
type SiteReplicas struct {
	Site    string
	Wanted  int // by the newest decision
	Running int
	Without int           // that find no node there
	Since   protocol.Time // when these came to find none
}

// foldService reads the messages of a service's life.
func (b *History) foldService(from MessageRef, m protocol.Message) {
	switch body := m.Body.(type) {
	case protocol.SubmitService:
		if body.Service.InvalidReason() != "" {
			return // it changes nothing; the coordinator says so of a new one
		}
		s := b.serviceRecord(body.Service.ID)
		if s.Service = body.Service; s.Submitted == (MessageRef{}) {
			s.Submitted = from
		}
	case protocol.ServiceDivision:
		s := b.serviceRecord(body.Service)
		if body.Preview {
			s.Preview = &ServiceDecision{from, body}
			return
		}
		s.Service.Wanted = body.Wanted
		if b.cfg.Live {
			s.Decisions = s.Decisions[:0]
		}
		s.Decisions = append(s.Decisions, ServiceDecision{from, body})
	case protocol.ServiceSettlement:
		b.noteTenant(body.Payer)
		s := b.serviceRecord(body.Service)
		s.Payments = append(s.Payments, ServicePayment{from, body})
	case protocol.ReplicaStatus:
		s, site := b.serviceRecord(body.Service), from.From.SiteName()
		if b.cfg.Live {
			s.status[site] = s.status[site][:0]
		}
		s.status[site] = append(s.status[site], siteReplicas{from.At, body})
	}
}

// serviceRecord returns the record of a service; a message about it may be read before its submission.
func (b *History) serviceRecord(id protocol.ServiceID) *ServiceRecord {
	s := b.services[id]
	if s == nil {
		s = &ServiceRecord{Service: protocol.Service{ID: id}, status: make(map[string][]siteReplicas)}
		b.services[id] = s
	}
	return s
}

// Service returns a service, or nil.
func (b *History) Service(id protocol.ServiceID) *ServiceRecord { return b.services[id] }

// Services returns all services, by id.
func (b *History) Services() (all []*ServiceRecord) {
	for _, id := range slices.Sorted(maps.Keys(b.services)) {
		all = append(all, b.services[id])
	}
	return all
}

// StateAt returns how the service stands at an instant, its messages of that instant included.
func (s *ServiceRecord) StateAt(at protocol.Time) (v ServiceState) {
	wanted := make(map[string]int)
	for i := range s.Decisions {
		if s.Decisions[i].From.At <= at {
			v.Decision = &s.Decisions[i]
		}
	}
	names := slices.Sorted(maps.Keys(s.status))
	if v.Decision != nil {
		for _, x := range v.Decision.Division.Sites {
			wanted[x.Site] = x.Count
			names = append(names, x.Site)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x := SiteReplicas{Site: name, Wanted: wanted[name]}
		for _, r := range s.status[name] {
			if r.at <= at {
				x.Running, x.Without, x.Since = r.status.Ready, r.status.Pending, r.status.Since
			}
		}
		if x.Wanted+x.Running+x.Without > 0 {
			v.Sites = append(v.Sites, x)
		}
		v.Running += x.Running
	}
	return v
}
