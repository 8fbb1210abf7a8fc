package services

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A QuotaRoom is what quotas leave to services while those of one call are divided.
type QuotaRoom interface {
	// RoomFor returns how many thousandths of a GPU more the services of a tenant may hold, by its quota's max and
	// those of the groups above it. It reports false if nothing limits it.
	RoomFor(tenant string) (room protocol.Milli, limited bool)
	// Take notes that services of a tenant hold so many more, or with a negative number less.
	Take(tenant string, gpus protocol.Milli)
}

// LimitBy has services keep to quotas. Each call asks once, when it is divided, for what they leave beside all that
// is held then; nil: no quota is in force.
func (k *Services) LimitBy(room func() QuotaRoom) { k.quotaRoom = room }

// HeldGPUs returns what the replicas of all services take by their newest decisions, in thousandths of a GPU, by
// tenant.
func (k *Services) HeldGPUs() map[string]protocol.Milli {
	held := make(map[string]protocol.Milli)
	for _, s := range k.inOrder() {
		held[s.spec.Tenant] += protocol.Milli(s.placed()) * s.spec.GPUMilli()
	}
	return held
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
	return c.room.RoomFor(s.spec.Tenant)
}

// lackOfQuota says how many replicas wait for the tenant's quota.
func (s *service) lackOfQuota() protocol.Reason {
	return protocol.Reason{Code: protocol.OverQuota, Note: fmt.Sprintf("%d of %d wait: with them the tenant would hold more GPUs than its quota's max", s.overQuota, s.spec.Wanted)}
}
