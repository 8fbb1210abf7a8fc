package faults

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/protocol"
)

// Names of the priority classes of a plan with preemption. Jobs of the low one name none.
const (
	highClass = "high"
	lowClass  = "low"
)

// ownersMin is what the quota tree guarantees the sites' own tenant, in GPUs.
const ownersMin = 2

// policy returns the policy of a plan with preemption: classes and, in half of them, a quota tree that
// guarantees GPUs to one of the two tenants.
func (p *faultRun) policy() protocol.Policy {
	out := protocol.Policy{Version: 1, By: "ada", Classes: []protocol.PriorityClass{
		{Name: highClass, Value: 100}, {Name: lowClass, Value: 0, Default: true},
	}}
	if p.plan.Quotas {
		out.Quotas = []protocol.Quota{{Name: ownTenant, Min: ownersMin * 1000, Weight: 1000}, {Name: "lab", Weight: 1000}}
	}
	return out
}

// preemptions is what the oracle knows of runs that are stopped to make room.
type preemptions struct {
	jobs     map[protocol.JobID]protocol.Job
	accepted map[protocol.JobID]uint64 // jobs that sites have, and their epochs, by the stream
	asked    map[run]bool              // runs that the coordinator had stopped, by the stream
	stopping map[run]bool              // runs whose executor was told to stop them
	count    int
}

// A run is a job under an epoch.
type run struct {
	job   protocol.JobID
	epoch uint64
}

// wasPreempted reports whether a run that is gone was stopped to make room, as far as is known.
func (x *preemptions) wasPreempted(r run) bool { return x.asked[r] && x.stopping[r] }

// foldEvent follows which jobs sites have, and checks each preemption.
func (o *faultOracle) foldEvent(m protocol.Message) {
	x := &o.preempt
	switch b := m.Body.(type) {
	case protocol.Award:
		if b.Option.Pods > 0 {
			o.sizes[run{b.Job, b.Epoch}] = b.Option.Pods
		}
	case protocol.Accept:
		x.accepted[b.Job] = b.Epoch
		o.part.accepted[run{b.Job, b.Epoch}] = true
	case protocol.PartsDecided:
		o.foldPartsDecided(b)
	case protocol.Started:
		if o.part.started != nil {
			o.part.started[run{b.Job, b.Epoch}] = true
		}
	case protocol.Decline:
		x.gone(b.Job, b.Epoch)
	case protocol.Preempted:
		x.gone(b.Job, b.Epoch)
	case protocol.UsageReport:
		x.gone(b.Job, b.Epoch)
	case protocol.Preempt:
		o.checkPreempt(m.To.SiteName(), b)
	}
}

func (x *preemptions) gone(id protocol.JobID, epoch uint64) {
	if x.accepted[id] == epoch {
		delete(x.accepted, id)
	}
}

// checkPreempt checks a durable decision to stop a run: it has a lower class than the job that needs the room
// or, with quotas, holds what was lent to its tenant and is guaranteed to the other one; and it may help.
func (o *faultOracle) checkPreempt(site string, b protocol.Preempt) {
	x := &o.preempt
	x.asked[run{b.Job, b.Epoch}] = true
	if b.For == "" && !b.IsForBudget() {
		o.checkMissedStart(site, b)
		return
	}
	x.count++
	o.run.sum.Preempted++
	v, j := x.jobs[b.Job], x.jobs[b.For]
	o.run.addToStory("(%s at %s is to make room for %s)", b.Job, site, b.For)
	lower := v.PriorityClass != highClass && j.PriorityClass == highClass
	switch {
	case x.accepted[b.Job] != b.Epoch:
		o.run.reportViolation("%s is to be stopped under epoch %d, and no site has it so", b.Job, b.Epoch)
	case o.jobs[b.For].outcome != "" || x.accepted[b.For] != 0:
		o.run.reportViolation("%s is to be stopped for %s, which needs no room", b.Job, b.For)
	case !o.run.plan.Quotas && !lower:
		o.run.reportViolation("%s is to be stopped for %s, which is of no higher class", b.Job, b.For)
	case o.run.plan.Quotas && v.Tenant == j.Tenant && !lower:
		o.run.reportViolation("%s is to be stopped for %s of its tenant, which is of no higher class", b.Job, b.For)
	case o.run.plan.Quotas && v.Tenant != j.Tenant && v.Tenant == ownTenant && o.held(ownTenant) <= ownersMin:
		o.run.reportViolation("%s is to be stopped for %s, and its tenant is guaranteed what it holds", b.Job, b.For)
	case o.run.plan.Quotas && v.Tenant != j.Tenant && j.Tenant != ownTenant:
		o.run.reportViolation("%s is to be stopped for %s, whose tenant is guaranteed nothing", b.Job, b.For)
	}
}

// held returns the GPUs of the jobs of a tenant that sites have.
func (o *faultOracle) held(tenant string) (gpus int) {
	for id := range o.preempt.accepted {
		if j := o.preempt.jobs[id]; j.Tenant == tenant {
			gpus += j.GPUs
		}
	}
	return gpus
}

// checkBatch checks the preemptions of one decision, where nothing hides what runs: with the runs gone the job
// fits on a node of the site, and it does not if one of them stays.
func (o *faultOracle) checkBatch(facts []protocol.Message) {
	batch := make(map[protocol.JobID][]protocol.JobID)
	site := make(map[protocol.JobID]string)
	for _, m := range facts {
		if b, ok := m.Body.(protocol.Preempt); ok && b.For != "" {
			batch[b.For] = append(batch[b.For], b.Job)
			site[b.For] = m.To.SiteName()
		}
	}
	if !o.run.plan.isCalm() || len(batch) != 1 { // two decisions of one round share the room
		return
	}
	for _, id := range slices.Sorted(maps.Keys(batch)) {
		j, runs := o.preempt.jobs[id], o.clusters[site[id]].runs
		if j.IsGang() || o.jobs[id].cancelled || o.hidden(site[id], runs) {
			continue
		}
		if !o.fits(j, site[id], runs, batch[id]) {
			o.run.reportViolation("%v are to be stopped for %s, which does not help", batch[id], id)
		}
		for i := range batch[id] {
			if fewer := slices.Delete(slices.Clone(batch[id]), i, i+1); o.fits(j, site[id], runs, fewer) {
				o.run.reportViolation("%s is to be stopped for %s, which fits beside it", batch[id][i], id)
			}
		}
	}
}

// hidden reports whether a site has jobs that do not run yet, and so hold room that the oracle does not see.
func (o *faultOracle) hidden(site string, runs map[protocol.JobID]protocol.Launch) bool {
	for id := range o.preempt.accepted {
		if _, ok := runs[id]; !ok {
			return true
		}
	}
	return false
}

// fits reports whether a job that is no gang fits on a node of a site beside the runs there but some.
func (o *faultOracle) fits(j protocol.Job, site string, runs map[protocol.JobID]protocol.Launch, gone []protocol.JobID) bool {
	gpus, cpu := make(map[string]int), make(map[string]protocol.Milli)
	for id, l := range runs {
		if slices.Contains(gone, id) {
			continue
		}
		for _, p := range l.PlacesOf() {
			gpus[p.Node] += len(p.Devices)
			cpu[p.Node] += l.PartAt(p).CPU
		}
	}
	for name, n := range o.has {
		if o.siteOf[name] == site && gpus[name]+j.GPUs <= n.GPUs && int64(cpu[name]+j.CPU) <= n.CPU {
			return true
		}
	}
	return false
}

// isCalm reports whether messages arrive soon and all processes stay up, so that what runs is known to all.
func (p FaultPlan) isCalm() bool { return p.LossRate == 0 && p.CrashRate == 0 && p.Skew == 0 }

// A greedyAgent has a planted bug: to make room it would stop all runs that it has of those that it may.
type greedyAgent struct {
	*agents.Agent
	preemptable []protocol.PreemptionSet
	running     map[protocol.JobID]bool
}

// Step implements bus.Machine, with the planted bug.
func (a *greedyAgent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	switch b := m.Body.(type) {
	case protocol.CallForBids:
		a.preemptable = b.Preemptable
	case protocol.Started:
		a.running[b.Job] = true
	case protocol.Finished:
		delete(a.running, b.Job)
	}
	said := a.Agent.Step(now, m)
	for i := range said {
		o, ok := said[i].Body.(protocol.Bids)
		for k := range o.Preemptions {
			for _, set := range a.preemptable {
				if ok && set.Job == o.Preemptions[k].Job {
					o.Preemptions[k].Runs = slices.DeleteFunc(slices.Clone(set.Runs), func(id protocol.JobID) bool { return !a.running[id] })
				}
			}
		}
	}
	return said
}
