package market

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// groups are the tenants of each quota.
var groups = map[string][]string{"g": {"a", "b"}, "a": {"a"}, "b": {"b"}, "c": {"c"}}

// pathOf returns the quotas of a tenant, without those that another tenant shares.
func (h *quotaHistory) pathOf(tenant, other string) (path []protocol.Quota) {
	for _, q := range h.tree {
		if slices.Contains(groups[q.Name], tenant) && !slices.Contains(groups[q.Name], other) {
			path = append(path, q)
		}
	}
	return path
}

// checkStops checks that runs are stopped for a job by right, that it helps, and that all are needed.
func (h *quotaHistory) checkStops(j protocol.Job, victims []protocol.JobID) {
	model := j.Models[0]
	free := h.free(j.ID, model)
	for _, id := range victims {
		if h.jobs[id].Models[0] == model {
			free += h.jobs[id].GPUs
		}
	}
	if free < j.GPUs {
		h.Errorf("%v are stopped for %s, which does not help", victims, j.ID)
	}
	for _, id := range victims {
		v := h.jobs[id]
		if free-v.GPUs >= j.GPUs {
			h.Errorf("%s is stopped for %s, which needs it not", id, j.ID)
		}
		if v.Tenant == j.Tenant {
			if v.PriorityClass == "high" {
				h.Errorf("%s is stopped for %s of its tenant, which is of no higher class", id, j.ID)
			}
			continue
		}
		if h.namesModel(model) && h.beyond(j, v, model) <= 0 {
			h.Errorf("%s is stopped for %s, though its tenant or a group holds no more %s than its min", id, j.ID, model)
		}
		byModel := h.namesModel(model) && h.isWithin(j, v.Tenant, model)
		if !byModel && !(h.isWithin(j, v.Tenant, "") && h.beyond(j, v, "") > 0) {
			h.Errorf("%s is stopped for %s, which is not within its min, or the other is", id, j.ID)
		}
	}
}

// isWithin reports whether a job keeps its quotas, but for those of another tenant, within their min of a model.
func (h *quotaHistory) isWithin(j protocol.Job, other, model string) bool {
	return !slices.ContainsFunc(h.pathOf(j.Tenant, other), func(q protocol.Quota) bool {
		return protocol.Milli(h.held(model, groups[q.Name]...)+j.GPUs)*1000 > h.of(q, model).Min
	})
}

// beyond returns how many GPUs of a model all quotas of a run hold beyond their min, at most those of the run.
func (h *quotaHistory) beyond(j, v protocol.Job, model string) int {
	n := v.GPUs
	for _, q := range h.pathOf(v.Tenant, j.Tenant) {
		n = min(n, h.claimed(j.ID, model, groups[q.Name])-int(h.of(q, model).Min/1000))
	}
	return n
}

// check checks what holds at any time.
func (h *quotaHistory) check() {
	for _, model := range []string{"A100", "V100"} {
		if n := h.held(model); n > historyModels[model] {
			h.Errorf("%d %s are held of %d", n, model, historyModels[model])
		}
	}
	for _, q := range h.tree {
		for _, model := range []string{"", "A100"} {
			if n, most := protocol.Milli(h.held(model, groups[q.Name]...))*1000, h.of(q, model).Max; most > 0 && n > most {
				h.Errorf("%s holds %d of at most %d %s", q.Name, n, most, model)
			}
		}
		h.checkBudget(q)
	}
	sum := protocol.Microdollars(0)
	for _, a := range h.market.Accounts().AccountNames() {
		sum += h.market.Accounts().BalanceOf(a)
	}
	if sum != 0 {
		h.Errorf("the accounts add up to %d", sum)
	}
}

// checkBudget checks that what a quota spent this month, and what its runs may cost by their bids, is within its
// budget. What this month cannot help is a run that ends later than its bid said, or what another tenant's job
// made it pay: so the cost of runs counts only as it was bid.
func (h *quotaHistory) checkBudget(q protocol.Quota) {
	if q.Budget == 0 && q.CarbonBudget == 0 {
		return
	}
	month := protocol.MonthOf(h.now)
	var money, carbon int64
	for id := range h.runs {
		o := h.runs[id].Option
		if end := protocol.NextMonth(h.now); slices.Contains(groups[q.Name], h.jobs[id].Tenant) && o.Finish > month {
			part := float64(min(o.Finish, end)-max(o.Start, month)) / float64(o.Finish-o.Start)
			money, carbon = money+int64(float64(o.Money)*part), carbon+int64(float64(o.Carbon)*part)
		}
	}
	const slack = 2000 + 10 // of runs that were stopped for a higher class and that another tenant pays, and rounding
	if n := h.spent[spentKey{q.Name, month, false}] + money; q.Budget > 0 && n > int64(q.Budget)+slack {
		h.Errorf("%s spends %d of %d in a month", q.Name, n, q.Budget)
	}
	if n := h.spent[spentKey{q.Name, month, true}] + carbon; q.CarbonBudget > 0 && n > int64(q.CarbonBudget)+10 {
		h.Errorf("%s emits %d of %d in a month", q.Name, n, q.CarbonBudget)
	}
}

// mayGet reports whether the GPUs of a job's model that others hold beyond their min, and that are free, are enough
// for it. Of a run by which its group would fall below its min only what is beyond counts: whether such a run is
// stopped depends on which went before it.
func (h *quotaHistory) mayGet(j protocol.Job) bool {
	free := h.free(j.ID, j.Models[0])
	stopped := make(map[protocol.JobID]protocol.Award)
	for _, id := range slices.Sorted(maps.Keys(h.runs)) {
		v := h.jobs[id]
		if free < j.GPUs && v.Tenant != j.Tenant && v.Models[0] == j.Models[0] {
			if lent := h.lent(j, v); lent > 0 {
				stopped[id], free = h.runs[id], free+lent
				delete(h.runs, id)
			}
		}
	}
	maps.Copy(h.runs, stopped)
	return free >= j.GPUs
}

// lent returns how many GPUs a run of another tenant holds of what it was lent, for a job within its min.
func (h *quotaHistory) lent(j, v protocol.Job) int {
	if model := j.Models[0]; h.namesModel(model) {
		return h.beyond(j, v, model)
	}
	return h.beyond(j, v, "")
}

// settle lets an hour pass in which nothing comes or ends by itself, and then checks that no job of the
// preempting class waits for room that its tenant is guaranteed and that others hold beyond their min.
func (h *quotaHistory) settle() {
	h.rule.pause = 5 * time.Minute // nothing comes that a round could be missed for
	for end := h.now.Add(time.Hour); h.now < end; {
		due := h.market.Due()
		if due == 0 || due > end {
			break
		}
		h.round()
		h.now = max(h.now, min(due, end))
	}
	for _, id := range slices.Sorted(maps.Keys(h.jobs)) {
		j, l := h.jobs[id], h.market.lots[id]
		if _, runs := h.runs[id]; runs || l == nil || l.state == ended || j.PriorityClass != "high" || h.now < h.kept[id] { // or room is being made for it
			continue
		}
		within := true
		for _, q := range h.tree {
			for _, model := range []string{"", j.Models[0]} { // of all GPUs, and of its model where that has quotas
				if n := protocol.Milli(h.held(model, groups[q.Name]...)+j.GPUs) * 1000; slices.Contains(groups[q.Name], j.Tenant) && (model == "" || h.namesModel(model)) && n > h.of(q, model).Min {
					within = false
				}
			}
			if slices.Contains(groups[q.Name], j.Tenant) && (q.Budget > 0 || q.CarbonBudget > 0) { // it may wait for that
				within = false
			}
		}
		if within && h.mayGet(j) {
			h.Errorf("%s of %s waits for %d GPUs that are guaranteed: %+v; runs %v", id, j.Tenant, j.GPUs, l.lastStatus.Why, slices.Sorted(maps.Keys(h.runs)))
		}
	}
}
