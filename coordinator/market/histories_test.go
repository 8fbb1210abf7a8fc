package market

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var (
	histories    = flag.Int("histories", 150, "how many random histories of quotas and preemption to play")
	firstHistory = flag.Uint64("history", 0, "the first of them")
)

// A quotaHistory is a random history of one site of 12 GPUs, of which four are of a second model, which answers calls
// as an agent does: what it knows is what runs. Its account of who holds what, and who spent what, is its own.
type quotaHistory struct {
	*testMarket
	dice  *rand.Rand
	tree  []protocol.Quota
	jobs  map[protocol.JobID]protocol.Job
	runs  map[protocol.JobID]protocol.Award
	kept  map[protocol.JobID]protocol.Time // jobs for which runs were stopped: their room is kept until then
	on    map[protocol.JobID]string        // the model of that room
	spent map[spentKey]int64
	stops int
	waits int // for a budget
}

// A spentKey is a quota in a month, which begins then, and whether money or carbon is meant.
type spentKey struct {
	quota  string
	month  protocol.Time
	carbon bool
}

const historyGPUs = 12

// historyModels are the GPUs of each model.
var historyModels = map[string]int{"V100": 8, "A100": 4}

// Whatever jobs come and end: no tenant or group holds more than its max, in all and of a model, GPUs are given once,
// runs are stopped only by right, only if it helps and no more than needed, what is guaranteed comes back, no month
// costs more than its budget, and accounts sum to zero.
func TestQuotasHoldInRandomHistories(t *testing.T) {
	stops, waits := 0, 0
	for n := range uint64(*histories) {
		h := newQuotaHistory(t, *firstHistory+n)
		for range 10 + h.dice.IntN(15) {
			h.act()
			if t.Failed() {
				t.Fatalf("history %d (-histories 1 -history %d), tree %+v", *firstHistory+n, *firstHistory+n, h.tree)
			}
		}
		h.settle()
		if t.Failed() {
			t.Fatalf("history %d (-histories 1 -history %d), tree %+v", *firstHistory+n, *firstHistory+n, h.tree)
		}
		stops, waits = stops+h.stops, waits+h.waits
	}
	t.Logf("%d histories: %d runs stopped, %d times no budget left", *histories, stops, waits)
	if *histories >= 100 && (stops < *histories/4 || waits < *histories/2) {
		t.Errorf("few runs were stopped, or waited for a budget: %d and %d", stops, waits)
	}
}

func newQuotaHistory(t *testing.T, seed uint64) *quotaHistory {
	h := &quotaHistory{testMarket: newTestMarket(t), dice: rand.New(rand.NewPCG(seed, 7)), jobs: make(map[protocol.JobID]protocol.Job), runs: make(map[protocol.JobID]protocol.Award), kept: make(map[protocol.JobID]protocol.Time), on: make(map[protocol.JobID]string), spent: make(map[spentKey]int64)}
	gpus := func(most int) protocol.Milli { return protocol.Milli(h.dice.IntN(most+1)) * 1000 }
	g := protocol.Quota{Name: "g", Min: 2000 + gpus(4), Weight: 1000}
	a := protocol.Quota{Name: "a", Parent: "g", Min: gpus(int(g.Min / 1000)), Weight: 1000}
	b := protocol.Quota{Name: "b", Parent: "g", Min: g.Min - a.Min, Weight: 1000 + gpus(3)}
	c := protocol.Quota{Name: "c", Min: gpus(int(historyGPUs - g.Min/1000)), Weight: gpus(2)}
	if h.dice.IntN(2) == 0 {
		c.Max = c.Min + 1000 + gpus(3)
	}
	if h.dice.IntN(3) == 0 {
		g.Max = g.Min + 1000 + gpus(3)
	}
	h.tree = []protocol.Quota{g, a, b, c}
	if h.dice.IntN(2) == 0 {
		h.drawModels()
	}
	if h.dice.IntN(3) == 0 {
		h.tree[h.dice.IntN(4)].Budget = 8000 + protocol.Microdollars(h.dice.IntN(30_000))
		h.tree[h.dice.IntN(4)].CarbonBudget = 40_000 + protocol.Milligrams(h.dice.IntN(200_000))
	}
	if h.dice.IntN(2) == 0 { // the end of a month comes soon
		h.now = protocol.NextMonth(h.now).Add(-2 * time.Hour)
	}
	h.send("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "A100", Nodes: 1, GPUs: historyModels["A100"]}, {Model: "V100", Nodes: 2, GPUs: historyModels["V100"]}}})
	h.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Quotas: h.tree, Classes: []protocol.PriorityClass{{Name: "high", Value: 10}, {Name: "low", Default: true, Preemption: protocol.PreemptNever}}})
	if h.market.CurrentPolicy().Version != 1 {
		t.Fatal("the policy was not put into force")
	}
	return h
}

// drawModels has some quotas say something of the A100s, of which there are four.
func (h *quotaHistory) drawModels() {
	gpus := func(most int) protocol.Milli { return protocol.Milli(h.dice.IntN(most+1)) * 1000 }
	left := protocol.Milli(historyModels["A100"]) * 1000
	var group protocol.Milli
	for _, i := range []int{1, 2, 3} { // a, b, c
		q := &h.tree[i]
		m := protocol.ModelQuota{Model: "A100", Min: min(gpus(2), q.Min, left), Weight: q.Weight}
		if left -= m.Min; h.dice.IntN(2) == 0 {
			m.Max = m.Min + 1000 + gpus(2)
		}
		if q.Models = []protocol.ModelQuota{m}; q.Parent != "" {
			group += m.Min
		}
	}
	if h.dice.IntN(2) == 0 {
		h.tree[0].Models = []protocol.ModelQuota{{Model: "A100", Min: group, Max: group + 1000 + gpus(2), Weight: 1000}}
	}
}

// of returns what a quota says of a model, or without of all GPUs.
func (h *quotaHistory) of(q protocol.Quota, model string) protocol.ModelQuota {
	if model == "" {
		return protocol.ModelQuota{Min: q.Min, Max: q.Max}
	}
	for _, m := range q.Models {
		if m.Model == model {
			return m
		}
	}
	var sum protocol.Milli // a group is guaranteed what its tenants are
	for _, x := range h.tree {
		if x.Parent == q.Name {
			sum += h.of(x, model).Min
		}
	}
	return protocol.ModelQuota{Min: sum}
}

// namesModels reports whether some quota says something of a model.
func (h *quotaHistory) namesModel(model string) bool {
	return slices.ContainsFunc(h.tree, func(q protocol.Quota) bool {
		return slices.ContainsFunc(q.Models, func(m protocol.ModelQuota) bool { return m.Model == model })
	})
}

// act has one thing happen: a job comes, a run ends, or time passes.
func (h *quotaHistory) act() {
	switch h.dice.IntN(5) {
	case 0, 1, 2:
		j := h.job()
		j.ID, j.Tenant = protocol.JobID(fmt.Sprint("j", len(h.jobs))), []string{"a", "b", "c"}[h.dice.IntN(3)]
		j.GPUs, j.Arrival, j.Run, j.Deadline = 1+h.dice.IntN(4), h.now, 4*time.Hour, h.now.Add(48*time.Hour)
		j.Models = [][]string{{"V100"}, {"A100"}}[min(h.dice.IntN(3), 1)]
		if h.dice.IntN(2) == 0 {
			j.PriorityClass = "high"
		}
		h.jobs[j.ID] = j
		h.send(protocol.Submitter, protocol.Submit{Job: j})
	case 3:
		if ids := slices.Sorted(maps.Keys(h.runs)); len(ids) > 0 {
			h.end(ids[h.dice.IntN(len(ids))])
		}
	default:
		h.now = h.now.Add(time.Duration(h.dice.IntN(600)) * time.Second)
	}
	for range 3 {
		h.round()
	}
}

// end has a run end.
func (h *quotaHistory) end(id protocol.JobID) {
	a := h.runs[id]
	delete(h.runs, id)
	o := a.Option
	part := min(float64(h.now-o.Start)/float64(o.Finish-o.Start), 1)
	d := protocol.UsageReport{Job: id, Epoch: a.Epoch, Started: o.Start, Ended: h.now, Money: protocol.Microdollars(float64(o.Money) * part), Carbon: protocol.Milligrams(float64(o.Carbon) * part)}
	h.charge(id, d.Started, d.Money, d.Carbon)
	h.heed(h.send("agent/oslo", d))
}

// charge notes what a run cost its tenant and its group, by the months of its time.
func (h *quotaHistory) charge(id protocol.JobID, from protocol.Time, money protocol.Microdollars, carbon protocol.Milligrams) {
	all := int64(max(h.now-1-from, 1))
	old := min(max(int64(protocol.NextMonth(from)-from), 0), all)
	for _, q := range h.tree {
		if slices.Contains(groups[q.Name], h.jobs[id].Tenant) {
			for _, x := range []struct {
				month protocol.Time
				part  int64
			}{{from, old}, {h.now - 1, all - old}} {
				h.spent[spentKey{q.Name, protocol.MonthOf(x.month), false}] += int64(money) * x.part / all
				h.spent[spentKey{q.Name, protocol.MonthOf(x.month), true}] += int64(carbon) * x.part / all
			}
		}
	}
}

// held returns the GPUs of a model, or without of all, that the runs of some tenants hold; of none named, of all.
func (h *quotaHistory) held(model string, tenants ...string) (n int) {
	for id := range h.runs {
		if j := h.jobs[id]; (len(tenants) == 0 || slices.Contains(tenants, j.Tenant)) && (model == "" || j.Models[0] == model) {
			n += j.GPUs
		}
	}
	return n
}

// free returns the GPUs of a model that nobody holds, and that are not kept for another job.
func (h *quotaHistory) free(but protocol.JobID, model string) int {
	n := historyModels[model] - h.held(model)
	for id, until := range h.kept {
		if _, runs := h.runs[id]; !runs && id != but && h.now < until && h.jobs[id].Models[0] == model {
			n -= h.jobs[id].GPUs
		}
	}
	return n
}

// claimed is held, with the jobs for which room is kept, but for one.
func (h *quotaHistory) claimed(but protocol.JobID, model string, tenants []string) int {
	n := h.held(model, tenants...)
	for id, until := range h.kept {
		j := h.jobs[id]
		if _, runs := h.runs[id]; !runs && id != but && h.now < until && slices.Contains(tenants, j.Tenant) && (model == "" || j.Models[0] == model) {
			n += j.GPUs
		}
	}
	return n
}

// round has what is due happen: the market calls, and the site answers by what is free and what it may stop.
func (h *quotaHistory) round() {
	if due := h.market.Due(); due == 0 || due > h.now.Add(3*time.Minute) {
		return
	}
	h.heed(h.wait())
	r := h.market.round
	if r == nil {
		return
	}
	call := lastSent[protocol.CallForBids](h.testMarket)
	answer := protocol.Bids{Round: h.market.rounds, Grid: protocol.GridForecast{From: h.now.Floor(time.Hour), PriceOff: slices.Repeat([]protocol.Microdollars{2000}, 12), CarbonOff: make([]protocol.Milligrams, 12)}}
	for _, model := range []string{"A100", "V100"} {
		c := freeCapacity(h.now)
		c.Model, c.Total = model, protocol.Milli(historyModels[model])*1000
		c.Free = slices.Repeat([]protocol.Milli{protocol.Milli(max(h.free("", model), 0)) * 1000}, 48)
		answer.Capacity = append(answer.Capacity, c)
	}
	for _, j := range call.Jobs {
		start := time.Duration(0)
		if j.GPUs > h.free(j.ID, j.Models[0]) {
			start = 6 * time.Hour
		}
		o := h.option(start, 4*time.Hour)
		o.Model, o.Money = j.Models[0], o.Money*protocol.Microdollars(j.GPUs)
		answer.Jobs = append(answer.Jobs, bidsOf(j.ID, o))
		if i := slices.IndexFunc(call.Preemptable, func(s protocol.PreemptionSet) bool { return s.Job == j.ID }); i >= 0 && start > 0 && len(answer.Preemptions) == 0 {
			if runs := h.needed(j, call.Preemptable[i].Runs); len(runs) > 0 {
				answer.Preemptions = append(answer.Preemptions, protocol.PreemptionSet{Job: j.ID, Runs: runs})
			}
		}
	}
	h.heed(h.send("agent/oslo", answer))
}

// needed returns the runs of a list without which a job fits: added in order, then dropped backwards.
func (h *quotaHistory) needed(j protocol.Job, runs []protocol.JobID) (gone []protocol.JobID) {
	fits := func(gone []protocol.JobID) bool {
		free := h.free(j.ID, j.Models[0])
		for _, id := range gone {
			free += h.jobs[id].GPUs
		}
		return j.GPUs <= free
	}
	for _, id := range runs {
		if a, ok := h.runs[id]; ok && a.Option.Model == j.Models[0] && !fits(gone) {
			gone = append(gone, id)
		}
	}
	if !fits(gone) {
		return nil
	}
	for i := len(gone) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(gone), i, i+1); fits(fewer) {
			gone = fewer
		}
	}
	return gone
}

// heed has the site do what the market says, and checks it.
func (h *quotaHistory) heed(ms []protocol.Message) {
	stopped := make(map[protocol.JobID][]protocol.JobID)
	for _, m := range ms {
		if b, ok := m.Body.(protocol.Preempt); ok {
			if a, ok := h.runs[b.Job]; ok && a.Epoch == b.Epoch {
				stopped[b.For], h.kept[b.For] = append(stopped[b.For], b.Job), b.Until
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(stopped)) {
		h.checkStops(h.jobs[id], stopped[id])
		for _, v := range stopped[id] {
			a := h.runs[v]
			delete(h.runs, v)
			h.stops++
			payer := v // its own tenant, unless the class of the other job is the reason
			if h.jobs[v].Tenant == h.jobs[id].Tenant {
				payer = id
			}
			h.charge(payer, a.Option.Start, 500, 0)
			h.heed(h.send("agent/oslo", protocol.Preempted{Job: v, Epoch: a.Epoch, For: id, Started: a.Option.Start, Ended: h.now, Money: 500}))
		}
	}
	for _, m := range ms { // after the requests to stop runs, as they were sent
		if d, ok := m.Body.(protocol.Defer); ok && (d.Why.Code == protocol.BudgetSpent || d.Why.Code == protocol.CarbonBudgetSpent) {
			h.waits++
		}
		b, ok := m.Body.(protocol.Award)
		switch j := h.jobs[b.Job]; {
		case !ok:
		case b.Option.Start > h.now.Add(time.Minute) || j.GPUs > h.free(j.ID, j.Models[0]):
			h.heed(h.send("agent/oslo", protocol.Decline{Job: b.Job, Epoch: b.Epoch, Why: protocol.Reason{Code: protocol.CapacityTaken}}))
		default:
			h.runs[b.Job] = b
			h.heed(h.send("agent/oslo", protocol.Accept{Job: b.Job, Epoch: b.Epoch, Start: h.now}))
		}
	}
	h.check()
}
