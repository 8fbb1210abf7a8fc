package services

import (
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
	// Take notes that a service holds so many more, or with a negative number less.
	Take(s *protocol.Service, gpus protocol.Milli)
}

// LimitBy has services keep to quotas. Each call asks once, when it is divided, for what they leave beside all that
// is held then; nil: no quota is in force.
func (k *Services) LimitBy(room func() QuotaRoom) { k.quotaRoom = room }

// EachHolding calls do with each service whose replicas take GPUs by its newest decision, and how many thousandths.
func (k *Services) EachHolding(do func(s *protocol.Service, gpus protocol.Milli)) {
	for _, s := range k.inOrder() {
		if gpus := protocol.Milli(s.placed()) * s.spec.GPUMilli(); gpus > 0 {
			do(&s.spec, gpus)
		}
	}
}

// placed returns how many replicas have a place by the newest decision.
func (s *service) placed() (n int) {
	for _, site := range slices.Sorted(maps.Keys(s.target)) {
		n += s.target[site]
	}
	return n
}

// withinQuota returns how many of the wanted replicas the quotas of the tenant allow, and at least those that are
// placed: none is stopped for a quota. What is beyond waits.
func (c *call) withinQuota(s *service) int {
	wanted, each := s.spec.Wanted, s.spec.GPUMilli()
	s.overQuota = 0
	if each == 0 || wanted <= s.placed() {
		return wanted
	}
	room, limited := c.roomOf(s)
	if most := s.placed() + int(max(room, 0)/each); limited && most < wanted {
		s.overQuota = wanted - most
		return most
	}
	return wanted
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
	return protocol.Reason{Code: protocol.OverQuota, Note: fmt.Sprintf("%d of %d wait: with them the tenant would hold more GPUs than its quota's max", s.overQuota, s.spec.Wanted)}
}
