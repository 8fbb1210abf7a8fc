package jobstatus

import (
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Service is how a service stands.
type Service struct {
	Service   protocol.ServiceID    `json:"service"`
	Tenant    string                `json:"tenant,omitempty"`
	Decision  uint64                `json:"decision"`
	At        protocol.Time         `json:"decided"` // 0: not divided yet
	Why       protocol.Code         `json:"why"`
	Wanted    int                   `json:"wanted"`
	Running   int                   `json:"running"`
	Pending   int                   `json:"pending"`
	Lack      string                `json:"lack,omitempty"`
	Deleted   bool                  `json:"deleted,omitempty"`
	Sites     []ServiceSite         `json:"sites"`
	CostHour  protocol.Microdollars `json:"microdollars_per_hour,omitempty"`
	BoundHour protocol.Microdollars `json:"microdollars_per_hour_at_least,omitempty"`

	spec protocol.Service
}

// A ServiceSite is the replicas of a service at one site.
type ServiceSite struct {
	Site        string `json:"site"`
	Wanted      int    `json:"wanted"`
	Running     int    `json:"running"`
	WithoutNode int    `json:"without_node,omitempty"`
}

// A ServicePreview is what a rebalance of a service would move, and what that saves.
type ServicePreview struct {
	Service   protocol.ServiceID    `json:"service"`
	Moves     int                   `json:"moves"`
	Sites     []ServiceMove         `json:"sites"`
	StayHour  protocol.Microdollars `json:"microdollars_per_hour_now,omitempty"`
	CostHour  protocol.Microdollars `json:"microdollars_per_hour,omitempty"`
	BoundHour protocol.Microdollars `json:"microdollars_per_hour_at_least,omitempty"`
	Starts    protocol.Microdollars `json:"microdollars_of_moves,omitempty"` // once
}

// A ServiceMove is how many replicas a site has and would have.
type ServiceMove struct {
	Site   string `json:"site"`
	Before int    `json:"before"`
	After  int    `json:"after"`
}

// PreviewOf returns the newest preview of a service; ok is false if it was not made after an instant.
func (b *View) PreviewOf(id protocol.ServiceID, after protocol.Time) (p ServicePreview, ok bool) {
	r := b.liveHistory().Service(id)
	if r == nil || r.Preview == nil || r.Preview.From.At <= after {
		return p, false
	}
	d := &r.Preview.Division
	p = ServicePreview{Service: id, Sites: []ServiceMove{}, StayHour: d.Stay, CostHour: d.Cost, BoundHour: d.Bound, Starts: d.Starts}
	for _, x := range d.Sites {
		p.Sites = append(p.Sites, ServiceMove{x.Site, x.Before, x.Count})
		p.Moves += max(x.Before-x.Count, 0)
	}
	return p, true
}

// Spec returns the service as it was submitted, with the number of replicas that is wanted now.
func (s Service) Spec() protocol.Service { return s.spec }

// AllServices returns all services by id, as they stand at an instant.
func (b *View) AllServices(at protocol.Time) []Service {
	all := []Service{} // an empty list, and not null, where there is none
	for _, r := range b.liveHistory().Services() {
		all = append(all, serviceOf(r, at))
	}
	return all
}

// ServiceByID returns how a service stands at an instant; ok is false if the id is unknown.
func (b *View) ServiceByID(id protocol.ServiceID, at protocol.Time) (s Service, ok bool) {
	r := b.liveHistory().Service(id)
	if r == nil {
		return s, false
	}
	return serviceOf(r, at), true
}

// serviceOf returns how a service of a history stands at an instant.
func serviceOf(r *history.ServiceRecord, at protocol.Time) Service {
	v := r.StateAt(at)
	s := Service{Service: r.Service.ID, Tenant: r.Service.Tenant, Wanted: r.Service.Wanted, Running: v.Running, Sites: []ServiceSite{}, spec: r.Service}
	if d := v.Decision; d != nil {
		x := &d.Division
		s.Decision, s.At, s.Why, s.Wanted, s.Pending, s.Lack, s.Deleted = x.Decision, d.From.At, x.Why.Code, x.Wanted, x.Pending, x.Lack.Note, x.Deleted
		s.CostHour, s.BoundHour = x.Cost, x.Bound
	}
	for _, x := range v.Sites {
		s.Sites = append(s.Sites, ServiceSite{x.Site, x.Wanted, x.Running, x.Without})
	}
	return s
}
