package services

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A QuotaRoom is what quotas leave to services while those of one call are divided.
type QuotaRoom interface {
	// RoomFor returns how many thousandths of a GPU more a service may hold, by its tenant's max and those of the
	// groups above it. It reports false if nothing limits it.
	RoomFor(s *protocol.Service) (room protocol.Milli, limited bool)
	// WithinBudgets returns how many replicas of a service, at most so many, its tenant's budgets have room for in the
	// hour to come, if each takes so much: in place of what its replicas take as they are divided now. The reason says
	// why no more have, if not all do. It is so counted for the services that ask after it.
	WithinBudgets(s *protocol.Service, held, each protocol.Usage, most int) (int, protocol.Reason)
	// Take notes that a service holds so many more, or with a negative number less.
	Take(s *protocol.Service, gpus protocol.Milli)
}

// LimitBy has services keep to quotas. Each call asks once, when it is divided, for what they leave beside all that
// is held then; nil: no quota is in force.
func (k *Services) LimitBy(room func(now protocol.Time) QuotaRoom) { k.quotaRoom = room }

// EachHolding calls do with each service whose replicas take GPUs by its newest decision, and how many thousandths.
func (k *Services) EachHolding(do func(s *protocol.Service, gpus protocol.Milli)) {
	for _, s := range k.inOrder() {
		if gpus := protocol.Milli(s.placed()) * s.spec.GPUMilli(); gpus > 0 {
			do(&s.spec, gpus)
		}
	}
}

// wanted returns how many replicas are asked for: by the newest decision, of a service with a load.
func (s *service) wanted() int {
	if s.spec.Load > 0 {
		return s.placed() + s.pending
	}
	return s.spec.Wanted
}

// mostReplicas returns how many replicas a service may have, whatever quotas say.
func (s *service) mostReplicas() int { return cmp.Or(s.spec.Max, protocol.MaxReplicas) }

// placed returns how many replicas have a place by the newest decision.
func (s *service) placed() (n int) {
	for _, site := range slices.Sorted(maps.Keys(s.target)) {
		n += s.target[site]
	}
	return n
}

// withinQuota returns how many of the wanted replicas the quotas of the tenant allow; what is beyond waits. None is
// stopped for a quota of GPUs. If a budget has no room for the hour to come, no more start, and those beyond the
// service's min stop, as a job is paused that can be.
func (c *call) withinQuota(s *service) int {
	most := s.spec.Wanted
	if s.spec.Load > 0 { // which says how many are wanted when it is divided
		most = s.mostReplicas()
	}
	if each := s.spec.GPUMilli(); each > 0 && most > s.placed() {
		if room, limited := c.roomOf(s); limited {
			most = min(most, s.placed()+int(max(room, 0)/each))
		}
	}
	s.overBudget = protocol.Reason{}
	if c.room != nil && most > 0 {
		n, why := c.room.WithinBudgets(&s.spec, s.nextHour(), s.dearestHour(c), most)
		if n = max(n, min(s.spec.Min, s.placed())); n < most {
			most, s.overBudget = n, why
		}
	}
	s.overQuota = max(s.spec.Wanted-most, 0)
	return most
}

// roomOf returns what the quotas of a service's tenant leave it; false if none limits it.
func (c *call) roomOf(s *service) (protocol.Milli, bool) {
	if c.room == nil {
		return 0, false
	}
	return c.room.RoomFor(&s.spec)
}

// lackOfQuota says how many replicas wait for the tenant's quota.
func (s *service) lackOfQuota() protocol.Reason {
	if s.overBudget.Code != "" {
		return s.overBudget
	}
	return protocol.Reason{Code: protocol.OverQuota, Note: fmt.Sprintf("%d of %d wait: with them the tenant would hold more GPUs than its quota's max", s.overQuota, s.wanted())}
}
