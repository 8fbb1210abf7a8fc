package market

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

// What a job may take back by the quotas: docs/preemption.md.

// A heldGPUs is what quotas hold now, of all GPUs (model "") and of each model that quotas name.
type heldGPUs struct {
	tree *quota.Tree
	of   map[modelOfQuota]protocol.Milli
}

type modelOfQuota struct{ model, quota string }

func newHeldGPUs(tree *quota.Tree) heldGPUs {
	return heldGPUs{tree, make(map[modelOfQuota]protocol.Milli)}
}

// addTenant adds GPUs of a model, or of any, to what the quota of a tenant holds, and each group above it. Those
// of a tenant that no quota names count nowhere.
func (h heldGPUs) addTenant(tenant, model string, gpus protocol.Milli) {
	h.add(tenant, "", gpus)
	if model != "" {
		h.add(tenant, model, gpus)
	}
}

// add adds GPUs to what a tenant's quota and the groups above it hold of one model, or with "" of all.
func (h heldGPUs) add(tenant, model string, gpus protocol.Milli) {
	leaf, ok := h.tree.LeafOf(tenant)
	if !ok {
		return
	}
	for _, q := range h.tree.PathOf(leaf) {
		h.of[modelOfQuota{model, q.Name}] += gpus
	}
}

// heldNow returns what the runs of each quota hold, but for a lot. Who is being stopped holds it no more, and
// for whom others are being stopped holds it already.
func (k *Market) heldNow(now protocol.Time, but *lot) heldGPUs {
	h := newHeldGPUs(k.quotaTree())
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		v := k.lots[id]
		running := v.state == accepted && !v.isBeingStopped() && v.start <= now || v.state == awarded && v.option.Start <= now
		waits := v != but && (v.state == waiting || v.state == called) && v.preemptAfter > now
		switch {
		case waits:
			h.addTenant(v.submitted.Tenant, v.roomOn, v.awardedJob().TotalGPUMilli())
		case running:
			h.addTenant(v.submitted.Tenant, v.option.Model, v.awardedJob().TotalGPUMilli())
		}
	}
	return h
}

// isWithin reports whether quotas hold no more than they are guaranteed of a model with so many GPUs more.
func (h *heldGPUs) isWithin(path []protocol.Quota, model string, more protocol.Milli) bool {
	return !slices.ContainsFunc(path, func(q protocol.Quota) bool { return h.of[modelOfQuota{model, q.Name}]+more > q.Min })
}

// isBeyond reports whether each of some quotas holds more than it is guaranteed of a model, also without what
// others of its runs at a site free.
func (h *heldGPUs) isBeyond(path []protocol.Quota, model string, freed heldGPUs) bool {
	return !slices.ContainsFunc(path, func(q protocol.Quota) bool {
		at := modelOfQuota{model, q.Name}
		return h.of[at]-freed.of[at] <= q.Min
	})
}

// withoutGuaranteed drops the runs of other tenants that hold no more than they are guaranteed, and all of them
// if the job's tenant would hold more than that itself. Below their nearest common group, each tenant and group
// counts. Runs of one model at one site are stopped together, so each site and model is reckoned apart.
//
// Of a model that quotas name, nobody loses what it is guaranteed of the model. It comes back to who is within
// its own min of the model; or, as any GPU does, to who is within its min of all from who holds more than that.
func (k *Market) withoutGuaranteed(now protocol.Time, l *lot, leaf string, all []claim) []claim {
	held, gpus := k.heldNow(now, l), l.submitted.TotalGPUMilli()
	freed := make(map[[2]string]heldGPUs) // by site and model
	counted := make(map[[2]string][]*lot) // likewise: what is freed, with parts elsewhere
	return slices.DeleteFunc(all, func(c claim) bool {
		if c.why != protocol.QuotaReclaimed {
			return false
		}
		of, _ := held.tree.LeafOf(c.lot.submitted.Tenant)
		model := c.lot.option.Model
		at := [2]string{c.lot.site, model}
		if freed[at].tree == nil {
			freed[at] = newHeldGPUs(held.tree)
		}
		mine, theirs := held.tree.PathsBelowCommon(leaf, of)
		byAll := held.isWithin(mine, "", gpus) && held.isBeyond(theirs, "", freed[at])
		if tree := held.tree.OfModel(model); tree != nil {
			mineOf, theirsOf := tree.PathsBelowCommon(leaf, of)
			byAll = held.isBeyond(theirsOf, model, freed[at]) && (byAll || held.isWithin(mineOf, model, gpus))
		}
		if !byAll {
			return true
		}
		for _, v := range c.lot.stoppedWith() {
			if !slices.Contains(counted[at], v) { // with another part of its job
				counted[at] = append(counted[at], v)
				freed[at].addTenant(v.submitted.Tenant, v.option.Model, v.awardedJob().TotalGPUMilli())
			}
		}
		return false
	})
}

// quotasLetStart reports whether a job keeps within the quotas, were the runs gone that are to be stopped for
// it, and has budget left for one of the options that the site offers. It is to start on GPUs of their model.
func (k *Market) quotasLetStart(now protocol.Time, r *round, p *preemption) bool {
	if r.planned == nil || r.planned.quotas == nil {
		return true
	}
	q, j := r.planned.quotas, &p.job.submitted
	limits := q.limitsOf(j)
	if limits.unnamed {
		return false
	}
	for _, limit := range limits.limits {
		if !limit.counts(p.model()) {
			continue
		}
		most := limit.most
		for _, v := range p.stopped() {
			of, _ := q.tree.LeafOf(v.submitted.Tenant)
			if limit.counts(v.option.Model) && slices.ContainsFunc(q.tree.PathOf(of), func(x protocol.Quota) bool { return x.Name == limit.quota.Name }) {
				most += v.awardedJob().TotalGPUMilli()
			}
		}
		if protocol.Milli(limit.held.peakBetween(now, now.Add(time.Second)))+j.TotalGPUMilli() > most {
			return false
		}
	}
	return limits.budgets == nil || k.hasBudgetAt(r, p, limits.budgets)
}

// hasBudgetAt reports whether a job has budget left for some option that a site offers.
func (k *Market) hasBudgetAt(r *round, p *preemption, limits *budgetLimits) bool {
	j, o := &p.job.submitted, r.offers[p.site]
	claim := r.planned.openClaim(k, j) // what it may use itself does not count beside that
	defer claim.closeClaim()
	for _, b := range o.Jobs {
		if b.Job == j.ID && slices.ContainsFunc(b.Options, func(x protocol.BidOption) bool {
			return limits.exceededBy(k.costsOf(nil, &limits.use.month, j, j.TotalGPUMilli(), &x, k.offOf(&x, &o.Grid))) == nil
		}) {
			return true
		}
	}
	return false
}

// model returns the GPU model of the runs that are to be stopped: the job is to start on it.
func (p *preemption) model() string {
	for _, c := range p.claims {
		if c.lot.option.Model != "" {
			return c.lot.option.Model
		}
	}
	return ""
}
