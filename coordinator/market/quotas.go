package market

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gridbid/gridbid/coordinator/services"
	"github.com/gridbid/gridbid/internal/format"
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
// over time: of all GPUs, and of each model that quotas name.
type quotaUse struct {
	tree     *quota.Tree
	model    string // "": all GPUs
	shares   map[string]protocol.Milli
	profiles map[string]*useProfile
	models   []*quotaUse // by model
	budgets  *budgetUse  // nil: no quota has a budget
}

func newQuotaUse(tree *quota.Tree, model string) *quotaUse {
	return &quotaUse{tree: tree, model: model, profiles: make(map[string]*useProfile)}
}

// quotaUseOf divides the GPUs of all registered sites by the quota tree, and those of each model by what
// the tree says of it. A leaf asks for what its runs are planned to take at most at a time, and for what
// its waiting jobs want: of each model that these could run on, since it is not known yet on which they
// will. A job for which no site bids asks for nothing, so that it holds no quota either.
func (k *Market) quotaUseOf(now protocol.Time, tree *quota.Tree, u *plannedUse, r *round, answers [][]siteAnswer) *quotaUse {
	q := newQuotaUse(tree, "")
	for _, model := range tree.Models() {
		q.models = append(q.models, newQuotaUse(tree.OfModel(model), model))
	}
	if tree.HasBudgets() {
		q.budgets = newBudgetUse(&k.budgets)
	}
	for _, id := range slices.Sorted(maps.Keys(u.jobs)) {
		q.addUses(u.jobs[id], 1)
	}
	k.services.EachHolding(func(s *protocol.Service, gpus protocol.Milli) { // replicas have no planned end
		var uses []runUse
		for _, model := range modelsOf(tree, s) {
			uses = append(uses, runUse{job: &protocol.Job{Tenant: s.Tenant}, from: now, to: protocol.Time(1<<63 - 1), gpus: gpus, model: model})
		}
		q.addUses(uses, 1)
	})
	if q.budgets != nil {
		q.budgets.addServices(k, now)
	}
	waits := make(map[protocol.JobID]*lot)
	var ids []protocol.JobID // of waiting jobs that no round calls now
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		l := k.lots[id]
		if _, named := tree.LeafOf(l.submitted.Tenant); named && l.state == waiting && l.job.Arrival <= now && !l.noBids && u.jobs[id] == nil {
			waits[id], ids = l, append(ids, id)
		}
	}
	for _, x := range append([]*quotaUse{q}, q.models...) {
		ask := make(map[string]protocol.Milli)
		for _, name := range slices.Sorted(maps.Keys(x.profiles)) { // groups ask for what their leaves do, so theirs is not read
			ask[name] = protocol.Milli(x.profiles[name].peakBetween(now, protocol.Time(1<<63-1)))
		}
		for _, id := range ids {
			l := waits[id]
			if leaf, _ := tree.LeafOf(l.submitted.Tenant); x.model == "" || len(l.submitted.Models) == 0 || slices.Contains(l.submitted.Models, x.model) {
				ask[leaf] += l.submitted.TotalGPUMilli()
			}
		}
		for i, l := range r.lots {
			offered := slices.ContainsFunc(answers[i], func(a siteAnswer) bool { return a.offersModel(x.model) })
			if leaf, ok := tree.LeafOf(l.submitted.Tenant); ok && offered && u.jobs[l.job.ID] == nil {
				ask[leaf] += l.submitted.TotalGPUMilli()
			}
		}
		x.shares = x.tree.Shares(k.registeredGPUs(x.model), ask)
	}
	return q
}

// limitSizes notes for the elastic jobs of a round on how many pods they may run by the max of their tenants' quotas,
// beside all that is awarded, so that sites offer that number.
func (k *Market) limitSizes(r *round) {
	tree := k.quotaTree()
	if tree.IsEmpty() || !slices.ContainsFunc(r.lots, func(l *lot) bool { return l.job.IsElastic() }) {
		return
	}
	held := k.heldAndPlanned(tree)
	for _, l := range r.lots {
		if !l.job.IsElastic() {
			continue
		}
		models := []string{""}
		if len(l.job.Models) == 1 && tree.OfModel(l.job.Models[0]) != nil {
			models = append(models, l.job.Models[0])
		}
		l.mostPods = 0
		if room, limited := held.roomUnderMax(l.submitted.Tenant, models); limited {
			l.mostPods = l.job.MostPodsWithin(room)
		}
	}
}

// modelsOf returns the GPU models by which the replicas of a service count: "", and those that quotas name and that
// it may run on. The market does not hear on which of them a replica runs, so it counts in each.
func modelsOf(tree *quota.Tree, s *protocol.Service) []string {
	models := slices.DeleteFunc(tree.Models(), func(model string) bool { return len(s.Models) > 0 && !slices.Contains(s.Models, model) })
	return append(models, "")
}

// A serviceRoom is what the max and the budgets of each quota leave to services beside all jobs that are awarded.
type serviceRoom struct {
	market  *Market
	now     protocol.Time
	used    heldGPUs
	budgets *budgetUse                            // nil: no quota has a budget
	counted map[protocol.ServiceID]protocol.Usage // in budgets for the hour to come, of services that asked
}

// roomForServices returns what quotas leave to services now; nil if none is in force.
func (k *Market) roomForServices(now protocol.Time) services.QuotaRoom {
	tree := k.quotaTree()
	if tree.IsEmpty() {
		return nil
	}
	r := serviceRoom{market: k, now: now, used: k.heldAndPlanned(tree), counted: make(map[protocol.ServiceID]protocol.Usage)}
	if tree.HasBudgets() {
		r.budgets = k.plannedUse(now, &round{}, nil).quotas.budgets
	}
	return r
}

// heldAndPlanned returns what all awarded jobs and all replicas hold, be it later.
func (k *Market) heldAndPlanned(tree *quota.Tree) heldGPUs {
	held := newHeldGPUs(tree)
	k.services.EachHolding(held.addService)
	for _, id := range slices.Sorted(maps.Keys(k.lots)) {
		if l := k.lots[id]; l.state == awarded || l.state == accepted {
			at := l.submitted.AtPlaces(l.places)
			held.addTenant(l.submitted.Tenant, l.option.Model, at.TotalGPUMilli())
		}
	}
	return held
}

// addService adds what replicas of a service hold.
func (h heldGPUs) addService(s *protocol.Service, gpus protocol.Milli) {
	for _, model := range modelsOf(h.tree, s) {
		h.add(s.Tenant, model, gpus)
	}
}

// roomUnderMax returns what the max of a tenant's quota, and of the groups above it, leaves of some models, "" being
// all GPUs; false if none limits it. A tenant that no quota names has no room.
func (h heldGPUs) roomUnderMax(tenant string, models []string) (room protocol.Milli, limited bool) {
	leaf, named := h.tree.LeafOf(tenant)
	if !named {
		return 0, true
	}
	for _, model := range models {
		tree := h.tree
		if model != "" {
			tree = tree.OfModel(model)
		}
		for _, q := range tree.PathOf(leaf) {
			if free := q.Max - h.of[modelOfQuota{model, q.Name}]; q.Max != 0 && (!limited || free < room) {
				room, limited = free, true
			}
		}
	}
	return room, limited
}

// RoomFor implements services.QuotaRoom.
func (r serviceRoom) RoomFor(s *protocol.Service) (room protocol.Milli, limited bool) {
	return r.used.roomUnderMax(s.Tenant, modelsOf(r.used.tree, s))
}

// Take implements services.QuotaRoom.
func (r serviceRoom) Take(s *protocol.Service, gpus protocol.Milli) { r.used.addService(s, gpus) }

// offersModel reports whether a site offers an option on a model, or with "" any option.
func (a siteAnswer) offersModel(model string) bool {
	return len(a.bids.Options) > 0 && (model == "" || slices.ContainsFunc(a.bids.Options, func(o protocol.BidOption) bool { return o.Model == model }))
}

// registeredGPUs returns the GPUs of all sites, of one model or, without, of all, in thousandths.
func (k *Market) registeredGPUs(model string) (sum protocol.Milli) {
	var models []string
	if model != "" {
		models = []string{model}
	}
	for _, name := range k.siteNames {
		sum += k.sites[name].gpusOf(models)
	}
	return sum
}

// gpusOf returns the registered GPUs of a site, of some models or, without any, of all, in thousandths.
func (s *site) gpusOf(models []string) (sum protocol.Milli) {
	for _, p := range s.registration.Pools {
		if len(models) == 0 || slices.Contains(models, p.Model) {
			sum += protocol.Milli(p.GPUs) * 1000
		}
	}
	return sum
}

// quotaLimits are what limits a job's runs by its tenant's quotas, the share first. The zero value
// limits nothing.
type quotaLimits struct {
	limits  []quotaLimit
	free    protocol.Milli // that all of them leave at every time
	unnamed bool           // no quota names its tenant
	budgets *budgetLimits
}

// A quotaLimit is a share, or the max of a group, and what its tenants hold over time.
type quotaLimit struct {
	quota *protocol.Quota
	model string // of the GPUs that it counts; "": all
	most  protocol.Milli
	held  *useProfile
	free  protocol.Milli // at every time: what takes no more has room, whenever it runs
}

// limitsOf returns the limits of a job. Without quotas there are none, and for a job without GPUs only
// budgets.
func (q *quotaUse) limitsOf(j *protocol.Job) (l quotaLimits) {
	if q == nil {
		return l
	}
	l.budgets = q.budgets.limitsOf(q.tree.BudgetedPathOf(j.Tenant))
	if j.TotalGPUMilli() == 0 {
		return l
	}
	leaf, named := q.tree.LeafOf(j.Tenant)
	if !named {
		return quotaLimits{unnamed: true}
	}
	l.limits = q.appendLimits(make([]quotaLimit, 0, 2*(1+len(q.models))), leaf)
	for _, x := range q.models {
		l.limits = x.appendLimits(l.limits, leaf)
	}
	l.free = math.MaxInt64
	for i := range l.limits {
		l.free = min(l.free, l.limits[i].free)
	}
	return l
}

func (q *quotaUse) appendLimits(all []quotaLimit, leaf string) []quotaLimit {
	limit := func(by *protocol.Quota, most protocol.Milli) quotaLimit {
		held := q.profileOf(by.Name)
		return quotaLimit{by, q.model, most, held, most - protocol.Milli(held.peak())}
	}
	all = append(all, limit(q.tree.QuotaOf(leaf), q.shares[leaf]))
	for _, g := range q.tree.CappedGroups(leaf) {
		all = append(all, limit(g, g.Max))
	}
	return all
}

// haveRoom reports whether the limits have room for a run as long as it runs.
func (l *quotaLimits) haveRoom(x *runUse) bool {
	return !l.unnamed && l.exceededBy(x) == nil && l.budgets.exceededBy(x.costs) == nil
}

// exceededBy returns the first limit that has no room for a run; nil if all have.
func (l *quotaLimits) exceededBy(x *runUse) *quotaLimit {
	if x.gpus <= l.free {
		return nil
	}
	for i := range l.limits {
		if q := &l.limits[i]; x.gpus > q.free && q.counts(x.model) && protocol.Milli(q.held.peakBetween(x.from, x.to))+x.gpus > q.most {
			return q
		}
	}
	return nil
}

// roomFor returns how many thousandths of a GPU the limits leave to a run as long as it runs.
func (l *quotaLimits) roomFor(x *runUse) (room protocol.Milli) {
	room = math.MaxInt64
	for i := range l.limits {
		if q := &l.limits[i]; q.counts(x.model) {
			room = min(room, q.most-protocol.Milli(q.held.peakBetween(x.from, x.to)))
		}
	}
	return room
}

// counts reports whether a limit counts GPUs of a model.
func (q *quotaLimit) counts(model string) bool { return q.model == "" || q.model == model }

// reason returns why a run has no room.
func (l *quotaLimits) reason(x *runUse) protocol.Reason {
	if l.unnamed {
		return protocol.Reason{Code: protocol.OverQuota, Note: "no quota names tenant " + format.CleanText(x.job.Tenant)}
	}
	if q := l.exceededBy(x); q != nil {
		of, model := "", ""
		if q.model != "" {
			of, model = " of "+format.CleanText(q.model), format.CleanText(q.model)+" "
		}
		return protocol.Reason{Code: protocol.OverQuota, Note: fmt.Sprintf("%s of the %s %sGPUs that %s may hold now are taken, and the job wants %s (%s%s)",
			format.FormatThousandths(protocol.Milli(q.held.peakBetween(x.from, x.to))), format.FormatThousandths(q.most), model, format.CleanText(q.quota.Name),
			format.FormatThousandths(x.gpus), quota.Describe(*q.quota), of)}
	}
	return l.budgets.exceededBy(x.costs).reason("the run")
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
	q.budgets.addCosts(q.tree.BudgetedPathOf(own[0].job.Tenant), own, sign)
	q.addGPUs(leaf, own, sign)
	for _, x := range q.models {
		x.addGPUs(leaf, own, sign)
	}
}

// addGPUs is addUses for the GPUs of the model that q counts.
func (q *quotaUse) addGPUs(leaf string, own []runUse, sign int64) {
	spans, most := make([]span, 0, len(own)), protocol.Milli(0)
	for i := range own {
		if x := &own[i]; q.model == "" || x.model == q.model {
			spans, most = append(spans, span{x.from, x.to}), max(most, x.gpus)
		}
	}
	spans = mergeSpans(spans)
	q.profileOf(leaf).addSpans(spans, sign*int64(most))
	for _, g := range q.tree.CappedGroups(leaf) {
		q.profileOf(g.Name).addSpans(spans, sign*int64(most))
	}
}

// A span is a time in which something is held.
type span struct{ from, to protocol.Time }

// mergeSpans returns the same times in place, in their order and not overlapping.
func mergeSpans(all []span) []span {
	slices.SortFunc(all, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	n := 0
	for _, x := range all {
		if n > 0 && x.from <= all[n-1].to {
			all[n-1].to = max(all[n-1].to, x.to)
		} else {
			all[n] = x
			n++
		}
	}
	return all[:n]
}

// namesModels reports whether some quota names a model.
func (q *quotaUse) namesModels() bool { return q != nil && len(q.models) > 0 }

func (q *quotaUse) profileOf(name string) *useProfile {
	if q.profiles[name] == nil {
		q.profiles[name] = &useProfile{}
	}
	return q.profiles[name]
}
