package market

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

// quotaTree returns the quota tree of the policy in force. Invariant: it was checked before the policy
// came into force.
func (k *Market) quotaTree() *quota.Tree {
	if k.quotas == nil {
		k.quotas, _ = quota.NewTree(k.policy.Quotas)
	}
	return k.quotas
}

// A quotaUse holds, for each leaf of the quota tree, its share in this round and what its runs take
// over time.
type quotaUse struct {
	tree     *quota.Tree
	shares   map[string]protocol.Milli
	profiles map[string]*useProfile
}

// quotaUseOf divides the GPUs of all registered sites by the quota tree. A leaf asks for what its runs
// are planned to take at most at a time, and for what its waiting jobs want. A job for which no site
// bids asks for nothing, so that it holds no quota either.
func (k *Market) quotaUseOf(now protocol.Time, tree *quota.Tree, u *plannedUse, r *round, answers [][]siteAnswer) *quotaUse {
	q := &quotaUse{tree: tree, profiles: make(map[string]*useProfile)}
	for _, id := range slices.Sorted(maps.Keys(u.jobs)) {
		q.addUses(u.jobs[id], 1)
	}
	held := k.services.HeldGPUs()
	for _, tenant := range slices.Sorted(maps.Keys(held)) { // replicas have no planned end
		q.addUses([]runUse{{job: &protocol.Job{Tenant: tenant}, from: now, to: protocol.Time(1<<63 - 1), gpus: held[tenant]}}, 1)
	}
	ask := make(map[string]protocol.Milli)
	for _, name := range slices.Sorted(maps.Keys(q.profiles)) { // groups ask for what their leaves do, so theirs is not read
		ask[name] = protocol.Milli(q.profiles[name].peakBetween(now, protocol.Time(1<<63-1)))
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		if leaf, ok := tree.LeafOf(l.submitted.Tenant); ok && l.state == waiting && l.job.Arrival <= now && !l.noBids && u.jobs[id] == nil {
			ask[leaf] += l.submitted.TotalGPUMilli()
		}
	}
	for i, l := range r.lots {
		hasOptions := slices.ContainsFunc(answers[i], func(a siteAnswer) bool { return len(a.bids.Options) > 0 })
		if leaf, ok := tree.LeafOf(l.submitted.Tenant); ok && hasOptions && u.jobs[l.job.ID] == nil {
			ask[leaf] += l.submitted.TotalGPUMilli()
		}
	}
	q.shares = tree.Shares(k.registeredGPUs(), ask)
	return q
}

// quotaRoomOf returns what the max of a tenant's quota, and of the groups above it, leaves to services beside those
// that hold so many by tenant, and beside all jobs that are awarded; false if no quota limits it.
func (k *Market) quotaRoomOf(tenant string, held map[string]protocol.Milli) (room protocol.Milli, limited bool) {
	tree := k.quotaTree()
	if tree.IsEmpty() {
		return 0, false
	}
	leaf, named := tree.LeafOf(tenant)
	if !named {
		return 0, true // as for a job: no quota names its tenant
	}
	used := make(map[string]protocol.Milli) // by quota
	take := func(tenant string, gpus protocol.Milli) {
		if leaf, ok := tree.LeafOf(tenant); ok {
			for _, q := range tree.PathOf(leaf) {
				used[q.Name] += gpus
			}
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(held)) {
		take(tenant, held[tenant])
	}
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		if l := k.lots[id]; l.state == awarded || l.state == accepted {
			at := l.submitted.AtPlaces(l.places)
			take(l.submitted.Tenant, at.TotalGPUMilli())
		}
	}
	for _, q := range tree.PathOf(leaf) {
		if free := q.Max - used[q.Name]; q.Max != 0 && (!limited || free < room) {
			room, limited = free, true
		}
	}
	return room, limited
}

// registeredGPUs returns the GPUs of all sites, in thousandths.
func (k *Market) registeredGPUs() (sum protocol.Milli) {
	for _, name := range slices.Sorted(maps.Keys(k.sites)) {
		for _, p := range k.sites[name].registration.Pools {
			sum += protocol.Milli(p.GPUs) * 1000
		}
	}
	return sum
}

// quotaLimits are what limits a job's runs by its tenant's quotas, the share first. The zero value
// limits nothing.
type quotaLimits struct {
	limits  []quotaLimit
	unnamed bool // no quota names its tenant
}

// A quotaLimit is a share, or the max of a group, and what its tenants hold over time.
type quotaLimit struct {
	quota protocol.Quota
	most  protocol.Milli
	held  *useProfile
}

// limitsOf returns the limits of a job. Without quotas there are none, nor for a job without GPUs.
func (q *quotaUse) limitsOf(j *protocol.Job) quotaLimits {
	if q == nil || j.TotalGPUMilli() == 0 {
		return quotaLimits{}
	}
	leaf, named := q.tree.LeafOf(j.Tenant)
	if !named {
		return quotaLimits{unnamed: true}
	}
	l := quotaLimits{limits: []quotaLimit{{q.tree.QuotaOf(leaf), q.shares[leaf], q.profileOf(leaf)}}}
	for _, g := range q.tree.CappedGroups(leaf) {
		l.limits = append(l.limits, quotaLimit{g, g.Max, q.profileOf(g.Name)})
	}
	return l
}

// haveRoom reports whether the limits have room for a run as long as it runs.
func (l *quotaLimits) haveRoom(x runUse) bool { return !l.unnamed && l.exceededBy(x) == nil }

// exceededBy returns the first limit that has no room for a run; nil if all have.
func (l *quotaLimits) exceededBy(x runUse) *quotaLimit {
	for i := range l.limits {
		if q := &l.limits[i]; protocol.Milli(q.held.peakBetween(x.from, x.to))+x.gpus > q.most {
			return q
		}
	}
	return nil
}

// reason returns why a run has no room.
func (l *quotaLimits) reason(x runUse) protocol.Reason {
	if q := l.exceededBy(x); q != nil {
		return protocol.Reason{Code: protocol.OverQuota, Note: fmt.Sprintf("%s of the %s GPUs that %s may hold now are taken, and the job wants %s (%s)",
			format.FormatThousandths(protocol.Milli(q.held.peakBetween(x.from, x.to))), format.FormatThousandths(q.most), format.CleanText(q.quota.Name),
			format.FormatThousandths(x.gpus), quota.Describe(q.quota))}
	}
	return protocol.Reason{Code: protocol.OverQuota, Note: "no quota names tenant " + format.CleanText(x.job.Tenant)}
}

// addUses adds the possible uses of one job to what its leaf and its capped groups take, or with sign
// -1 subtracts them. At any time at most one of them happens; all count with the GPUs of the largest.
func (q *quotaUse) addUses(own []runUse, sign int64) {
	if q == nil || len(own) == 0 {
		return
	}
	leaf, ok := q.tree.LeafOf(own[0].job.Tenant)
	if !ok {
		return
	}
	spans := mergedSpans(own)
	gpus := int64(0)
	for i := range own {
		gpus = max(gpus, int64(own[i].gpus))
	}
	gpus *= sign
	q.profileOf(leaf).addSpans(spans, gpus)
	for _, g := range q.tree.CappedGroups(leaf) {
		q.profileOf(g.Name).addSpans(spans, gpus)
	}
}

// A span is a time in which something is held.
type span struct{ from, to protocol.Time }

// mergedSpans returns the times in which at least one of some uses is, by time and not overlapping.
func mergedSpans(uses []runUse) (all []span) {
	sorted := slices.Clone(uses)
	slices.SortFunc(sorted, func(x, y runUse) int { return cmp.Compare(x.from, y.from) })
	for _, x := range sorted {
		if n := len(all); n > 0 && x.from <= all[n-1].to {
			all[n-1].to = max(all[n-1].to, x.to)
		} else {
			all = append(all, span{x.from, x.to})
		}
	}
	return all
}

func (q *quotaUse) profileOf(name string) *useProfile {
	if q.profiles[name] == nil {
		q.profiles[name] = &useProfile{}
	}
	return q.profiles[name]
}
