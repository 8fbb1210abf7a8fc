package market

import (
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

// registeredGPUs returns the GPUs of all sites, in thousandths.
func (k *Market) registeredGPUs() (sum protocol.Milli) {
	for _, name := range slices.Sorted(maps.Keys(k.sites)) {
		for _, p := range k.sites[name].registration.Pools {
			sum += protocol.Milli(p.GPUs) * 1000
		}
	}
	return sum
}

// hasRoom reports whether the share of a run's tenant, and the caps of its groups, have room for it
// as long as it runs. Without quotas every run has room, and so has one without GPUs.
func (q *quotaUse) hasRoom(x runUse) bool {
	if q == nil || x.job.TotalGPUMilli() == 0 {
		return true
	}
	_, ok := q.limitOf(x)
	return ok
}

// limitOf returns the quota that leaves a run no room; ok if none does.
func (q *quotaUse) limitOf(x runUse) (against protocol.Quota, ok bool) {
	leaf, named := q.tree.LeafOf(x.job.Tenant)
	if !named {
		return protocol.Quota{}, false
	}
	gpus := x.job.TotalGPUMilli()
	if q.peakOf(leaf, x)+gpus > q.shares[leaf] {
		return q.tree.QuotaOf(leaf), false
	}
	for _, g := range q.tree.CappedGroups(leaf) {
		if q.peakOf(g.Name, x)+gpus > g.Max {
			return g, false
		}
	}
	return protocol.Quota{}, true
}

// peakOf returns the most that a node's tenants hold while a run would run.
func (q *quotaUse) peakOf(name string, x runUse) protocol.Milli {
	return protocol.Milli(q.profileOf(name).peakBetween(x.from, x.to))
}

// reason returns why a run has no room.
func (q *quotaUse) reason(x runUse) protocol.Reason {
	against, _ := q.limitOf(x)
	note := "no quota names tenant " + format.CleanText(x.job.Tenant)
	if share, isLeaf := q.shares[against.Name]; isLeaf || against.Name != "" {
		if !isLeaf {
			share = against.Max
		}
		note = fmt.Sprintf("%s of the %s GPUs that %s may hold now are taken, and the job wants %s (%s)", format.FormatThousandths(q.peakOf(against.Name, x)),
			format.FormatThousandths(share), format.CleanText(against.Name), format.FormatThousandths(x.job.TotalGPUMilli()), quota.Describe(against))
	}
	return protocol.Reason{Code: protocol.OverQuota, Note: note}
}

// addUses adds the possible uses of one job to what its leaf and its capped groups take, or with sign
// -1 subtracts them.
func (q *quotaUse) addUses(own []runUse, sign int64) {
	if q == nil || len(own) == 0 {
		return
	}
	leaf, ok := q.tree.LeafOf(own[0].job.Tenant)
	if !ok {
		return
	}
	gpus := func(x *runUse) int64 { return int64(x.job.TotalGPUMilli()) }
	q.profileOf(leaf).addUses(gpus, own, sign)
	for _, g := range q.tree.CappedGroups(leaf) {
		q.profileOf(g.Name).addUses(gpus, own, sign)
	}
}

func (q *quotaUse) profileOf(name string) *useProfile {
	if q.profiles[name] == nil {
		q.profiles[name] = &useProfile{}
	}
	return q.profiles[name]
}
