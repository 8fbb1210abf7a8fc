package services

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A QuotaRoom returns how many thousandths of a GPU more the services of a tenant may hold, by its quota's max and
// those of the groups above it, if services hold so many by tenant. It reports false if nothing limits it.
type QuotaRoom func(tenant string, held map[string]protocol.Milli) (room protocol.Milli, limited bool)

// LimitBy has services keep to quotas. Room is asked for with each decision, and may change between two.
func (k *Services) LimitBy(room QuotaRoom) { k.quota = room }

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
func (k *Services) withinQuota(s *service) int {
	wanted, each := s.spec.Wanted, s.spec.GPUMilli()
	s.overQuota = 0
	if each == 0 || wanted <= s.placed() {
		return wanted
	}
	room, limited := k.roomOf(s)
	if most := s.placed() + int(max(room, 0)/each); limited && most < wanted {
		s.overQuota = wanted - most
		return most
	}
	return wanted
}

// roomOf returns what the quotas of a service's tenant leave it; false if none limits it.
func (k *Services) roomOf(s *service) (protocol.Milli, bool) {
	if k.quota == nil {
		return 0, false
	}
	return k.quota(s.spec.Tenant, k.HeldGPUs())
}

// lackOfQuota says how many replicas wait for the tenant's quota.
func (s *service) lackOfQuota() protocol.Reason {
	return protocol.Reason{Code: protocol.OverQuota, Note: fmt.Sprintf("%d of %d wait: with them the tenant would hold more GPUs than its quota's max", s.overQuota, s.spec.Wanted)}
}
