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

// A quotaHistory is a random history of one site of 12 GPUs, which answers calls as an agent does: what it knows
// is what runs. Its account of who holds what is its own.
type quotaHistory struct {
	*testMarket
	dice  *rand.Rand
	tree  []protocol.Quota
	jobs  map[protocol.JobID]protocol.Job
	runs  map[protocol.JobID]protocol.Award
	kept  map[protocol.JobID]protocol.Time // jobs for which runs were stopped: their room is kept until then
	stops int
}

const historyGPUs = 12

// Whatever jobs come and end: no tenant or group holds more than its max, GPUs are given once, runs are stopped
// only by right, only if it helps and no more than needed, what is guaranteed comes back, and accounts sum to zero.
func TestQuotasHoldInRandomHistories(t *testing.T) {
	stops := 0
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
		stops += h.stops
	}
	t.Logf("%d histories: %d runs stopped", *histories, stops)
	if *histories >= 100 && stops < *histories/2 {
		t.Errorf("few runs were stopped: %d", stops)
	}
}

func newQuotaHistory(t *testing.T, seed uint64) *quotaHistory {
	h := &quotaHistory{testMarket: newTestMarket(t), dice: rand.New(rand.NewPCG(seed, 7)), jobs: make(map[protocol.JobID]protocol.Job), runs: make(map[protocol.JobID]protocol.Award), kept: make(map[protocol.JobID]protocol.Time)}
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
	h.send("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: historyGPUs}}})
	h.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Quotas: h.tree, Classes: []protocol.PriorityClass{{Name: "high", Value: 10}, {Name: "low", Default: true, Preemption: protocol.PreemptNever}}})
	if h.market.CurrentPolicy().Version != 1 {
		t.Fatal("the policy was not put into force")
	}
	return h
}

// act has one thing happen: a job comes, a run ends, or time passes.
func (h *quotaHistory) act() {
	switch h.dice.IntN(5) {
	case 0, 1, 2:
		j := h.job()
		j.ID, j.Tenant = protocol.JobID(fmt.Sprint("j", len(h.jobs))), []string{"a", "b", "c"}[h.dice.IntN(3)]
		j.GPUs, j.Arrival, j.Run, j.Deadline = 1+h.dice.IntN(4), h.now, 4*time.Hour, h.now.Add(48*time.Hour)
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
	h.heed(h.send("agent/oslo", protocol.UsageReport{Job: id, Epoch: a.Epoch, Started: a.Option.Start, Ended: h.now, Money: 1000}))
}

// held returns the GPUs that the runs of some tenants hold; of none named, of all.
func (h *quotaHistory) held(tenants ...string) (n int) {
	for id := range h.runs {
		if j := h.jobs[id]; len(tenants) == 0 || slices.Contains(tenants, j.Tenant) {
			n += j.GPUs
		}
	}
	return n
}

// free returns the GPUs that a job may have.
func (h *quotaHistory) free(id protocol.JobID) int {
	n := historyGPUs - h.held()
	for other, until := range h.kept {
		if _, runs := h.runs[other]; !runs && other != id && h.now < until {
			n -= h.jobs[other].GPUs
		}
	}
	return n
}

// claimed is held, with the jobs for which room is kept, but for one.
func (h *quotaHistory) claimed(but protocol.JobID, tenants []string) int {
	n := h.held(tenants...)
	for id, until := range h.kept {
		if _, runs := h.runs[id]; !runs && id != but && h.now < until && slices.Contains(tenants, h.jobs[id].Tenant) {
			n += h.jobs[id].GPUs
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
	answer := protocol.Bids{Round: h.market.rounds, Capacity: []protocol.CapacityProfile{freeCapacity(h.now)}}
	answer.Capacity[0].Total = historyGPUs * 1000
	answer.Capacity[0].Free = slices.Repeat([]protocol.Milli{protocol.Milli(max(h.free(""), 0)) * 1000}, 48)
	for _, j := range call.Jobs {
		start := time.Duration(0)
		if j.GPUs > h.free(j.ID) {
			start = 6 * time.Hour
		}
		answer.Jobs = append(answer.Jobs, bidsOf(j.ID, h.option(start, 4*time.Hour)))
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
		free := h.free(j.ID)
		for _, id := range gone {
			free += h.jobs[id].GPUs
		}
		return j.GPUs <= free
	}
	for _, id := range runs {
		if _, ok := h.runs[id]; ok && !fits(gone) {
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
			h.heed(h.send("agent/oslo", protocol.Preempted{Job: v, Epoch: a.Epoch, For: id, Started: a.Option.Start, Ended: h.now, Money: 500}))
		}
	}
	for _, m := range ms { // after the requests to stop runs, as they were sent
		b, ok := m.Body.(protocol.Award)
		switch j := h.jobs[b.Job]; {
		case !ok:
		case b.Option.Start > h.now.Add(time.Minute) || j.GPUs > h.free(j.ID):
			h.heed(h.send("agent/oslo", protocol.Decline{Job: b.Job, Epoch: b.Epoch, Why: protocol.Reason{Code: protocol.CapacityTaken}}))
		default:
			h.runs[b.Job] = b
			h.heed(h.send("agent/oslo", protocol.Accept{Job: b.Job, Epoch: b.Epoch, Start: h.now}))
		}
	}
	h.check()
}

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
	free := h.free(j.ID)
	for _, id := range victims {
		free += h.jobs[id].GPUs
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
		for _, q := range h.pathOf(j.Tenant, v.Tenant) {
			if protocol.Milli(h.held(groups[q.Name]...)+j.GPUs)*1000 > q.Min {
				h.Errorf("%s is stopped for %s, which is not within the min of %s", id, j.ID, q.Name)
			}
		}
		for _, q := range h.pathOf(v.Tenant, j.Tenant) {
			if protocol.Milli(h.claimed(j.ID, groups[q.Name]))*1000 <= q.Min {
				h.Errorf("%s is stopped for %s, though %s holds no more than its min", id, j.ID, q.Name)
			}
		}
	}
}

// check checks what holds at any time.
func (h *quotaHistory) check() {
	if h.held() > historyGPUs {
		h.Errorf("%d GPUs are held of %d", h.held(), historyGPUs)
	}
	for _, q := range h.tree {
		if n := protocol.Milli(h.held(groups[q.Name]...)) * 1000; q.Max > 0 && n > q.Max {
			h.Errorf("%s holds %d of at most %d", q.Name, n, q.Max)
		}
	}
	sum := protocol.Microdollars(0)
	for _, a := range h.market.Accounts().AccountNames() {
		sum += h.market.Accounts().BalanceOf(a)
	}
	if sum != 0 {
		h.Errorf("the accounts add up to %d", sum)
	}
}

// settle lets an hour pass in which nothing comes or ends by itself, and then checks that no job of the
// preempting class waits for room that its tenant is guaranteed and that others hold beyond their min.
func (h *quotaHistory) settle() {
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
			if n := protocol.Milli(h.held(groups[q.Name]...)+j.GPUs) * 1000; slices.Contains(groups[q.Name], j.Tenant) && n > q.Min {
				within = false
			}
		}
		if within {
			h.Errorf("%s of %s waits for %d GPUs that are guaranteed: %+v; runs %v", id, j.Tenant, j.GPUs, l.lastStatus.Why, slices.Sorted(maps.Keys(h.runs)))
		}
	}
}
