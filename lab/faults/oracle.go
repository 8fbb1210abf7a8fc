package faults

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
)

// A faultOracle checks the invariants of a federation. It observes what runs in the
// clusters, the stream and the messages, and never the state of the deciding
// machines.
//
//   - A job runs in one place at a time, and not after it has ended.
//   - No node has more load than capacity.
//   - A gang runs with all its pods: never half a gang. An elastic job runs with as many as its award on the
//     stream says, which are within its range.
//   - A part of a job starts only once all its parts are accepted and committed, at no more sites than it may, and
//     does not run on without the others beyond the start deadline (see parts.go).
//   - No site lends more GPUs than its terms say.
//   - A run is stopped to make room only for a job of a higher class, or on room that was lent; where nothing
//     hides what runs, only if that helps, and no more than needed (see preempt.go).
//   - A rejected job does not run; a settled job has run.
//   - Each job ends once on the stream: settled or rejected.
//   - A submission that was acknowledged is on the stream.
//   - A service never has fewer replicas than its least once it had them, and more than are wanted no longer than a
//     move takes; in the end each site runs what the newest division says (see services.go).
//   - Accounts add up to zero.
//   - After the faults every job ends, and its submitter is notified.
type faultOracle struct {
	run       *faultRun
	jobs      map[protocol.JobID]*observedJob
	has       map[string]capacity.Node
	sites     []string
	clusters  map[string]*observedCluster
	submitter *retryingSubmitter
	queues    map[string]*retryingSubmitter // by site
	preempt   preemptions
	sizes     map[run]int // pods of the awards of elastic jobs, by the stream
	part      partRecord
	service   serviceRecord
	siteOf    map[string]string // by node
	over      protocol.Time     // since when all jobs have ended
}

// An observedJob is the observed history of a job.
type observedJob struct {
	job               protocol.Job    // as submitted
	submissionDurable bool            // its submission is on the stream
	outcome           string          // on the stream
	site              string          // where it runs now; "" nowhere
	ran               int             // number of ended runs
	epochsSeen        map[uint64]bool // epochs of its runs
	cancelled         bool
	sitesRunAt        []string // where it ran, in order
}

// siteDecommissioned is called when an operator declares a site lost. Runs there count as over: if
// the site's machines still run, that is the operator's error.
func (o *faultOracle) siteDecommissioned(site string) {
	for id := range o.clusters[site].runs {
		if o.jobs[id].site == site {
			o.jobs[id].site = ""
		}
	}
}

// An observedCluster is the observed state of a site's machines.
type observedCluster struct {
	simulator *sim.SimExecutor
	host      *simHost
	runs      map[protocol.JobID]protocol.Launch // at the last observation
	// behind is true until a simulation that was restored from its events has reached
	// the current time.
	behind bool
}

// expectJob registers a job that will be submitted.
func (o *faultOracle) expectJob(j protocol.Job) {
	if o.jobs == nil {
		o.jobs, o.has, o.clusters = make(map[protocol.JobID]*observedJob), make(map[string]capacity.Node), make(map[string]*observedCluster)
	}
	if o.preempt.jobs == nil {
		o.preempt = preemptions{make(map[protocol.JobID]protocol.Job), make(map[protocol.JobID]uint64), make(map[run]bool), make(map[run]bool), 0}
		o.siteOf, o.sizes, o.queues = make(map[string]string), make(map[run]int), make(map[string]*retryingSubmitter)
	}
	o.preempt.jobs[j.ID] = j
	o.jobs[j.ID] = &observedJob{job: j, epochsSeen: make(map[uint64]bool)}
	o.expectParts(j)
	o.run.sum.Jobs++
}

// addNodes registers the capacities of a site's nodes.
func (o *faultOracle) addNodes(site string, all []capacity.Node) {
	for _, n := range all {
		o.has[n.Name] = n
		o.siteOf[n.Name] = site
	}
}

// observeCluster registers the simulation of a site whenever its executor starts.
func (o *faultOracle) observeCluster(site string, w *sim.SimExecutor, h *simHost) {
	c := o.clusters[site]
	if c == nil {
		c = &observedCluster{runs: make(map[protocol.JobID]protocol.Launch)}
		o.clusters[site] = c
		o.sites = append(o.sites, site)
	}
	c.simulator, c.host, c.behind = w, h, true
	// A job started just before a crash runs, and may end before the next observation.
	for _, l := range w.RunningLaunches() {
		if id := l.Job.ID; !o.jobs[id].epochsSeen[l.Epoch] {
			o.checkStart(l, site)
			c.runs[id] = l
		}
	}
}

// clusterCaughtUp is called after each step of a host.
func (o *faultOracle) clusterCaughtUp(h *simHost) {
	if c := o.clusters[h.site]; c != nil && c.host == h && !h.down {
		c.behind = false
	}
}

// checkClusters observes all clusters whose executor is up; the others have not changed.
func (o *faultOracle) checkClusters() {
	for _, site := range o.sites {
		c := o.clusters[site]
		if c.host.down || c.behind {
			continue
		}
		now := make(map[protocol.JobID]protocol.Launch)
		for _, l := range c.simulator.RunningLaunches() {
			if _, twice := now[l.Job.ID]; twice {
				o.run.reportViolation("%s runs twice at %s", l.Job.ID, site)
			}
			now[l.Job.ID] = l
		}
		for _, id := range slices.Sorted(maps.Keys(c.runs)) {
			if _, still := now[id]; !still && o.jobs[id].site == site {
				o.run.addToStory("(%s has ended at %s)", id, site)
				o.jobs[id].site = ""
				if !o.preempt.wasPreempted(run{id, c.runs[id].Epoch}) {
					o.jobs[id].ran++
				}
			}
		}
		for _, id := range slices.Sorted(maps.Keys(now)) {
			if _, before := c.runs[id]; !before {
				o.checkStart(now[id], site)
			}
		}
		c.runs = now
		o.checkNodeCapacity(now)
		o.checkTerms(site, now)
	}
	o.checkHalves()
	o.checkReplicas()
	o.checkAccounts()
}

// checkStart checks that a job may start: it does not run elsewhere and has not ended.
func (o *faultOracle) checkStart(l protocol.Launch, site string) {
	id := l.Job.ID
	f := o.jobs[id]
	f.epochsSeen[l.Epoch] = true
	o.run.addToStory("(%s runs at %s)", id, site)
	switch {
	case f.site != "":
		o.run.reportViolation("%s runs at %s and at %s at once", id, f.site, site)
	case f.ran > 0:
		o.run.reportViolation("%s has ended, and runs again at %s", id, site)
	case f.outcome != "":
		o.run.reportViolation("%s was %s, and runs at %s", id, f.outcome, site)
	}
	if !f.submissionDurable {
		o.run.sum.Alone++
	}
	o.checkPartStart(l, site)
	f.site, f.sitesRunAt = site, append(f.sitesRunAt, site)
}

// checkNodeCapacity checks that the jobs of a site exceed no node.
func (o *faultOracle) checkNodeCapacity(runs map[protocol.JobID]protocol.Launch) {
	type use struct {
		cpu protocol.Milli
		mem protocol.MiB
		gpu [protocol.MaxGPUs]protocol.Milli
	}
	held := make(map[string]*use)
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		l := runs[id]
		pods := 0
		for _, p := range l.PlacesOf() {
			n, ok := o.has[p.Node]
			part := l.PartAt(p)
			if !ok || len(p.Devices) != part.GPUs {
				o.run.reportViolation("%s runs on %s, devices %v", id, p.Node, p.Devices)
				return
			}
			u := held[p.Node]
			if u == nil {
				u = &use{}
				held[p.Node] = u
			}
			pods += p.Pods
			u.cpu += part.CPU
			u.mem += part.Memory
			for _, d := range p.Devices {
				u.gpu[d] += part.Share
				if d >= n.GPUs || u.gpu[d] > 1000 {
					o.run.reportViolation("device %d of %s is given twice, to %s as well", d, p.Node, id)
				}
			}
			if u.cpu > protocol.Milli(n.CPU) || u.mem > protocol.MiB(n.Memory) {
				o.run.reportViolation("%s gives more than it has", p.Node)
			}
		}
		o.checkDomain(id, &l)
		o.checkSize(l, pods)
		j := &o.jobs[id].job
		if pods != l.Job.PodCount() || !j.IsElastic() && (pods < j.LeastPods() || pods > j.PodCount()) {
			o.run.reportViolation("half a gang: %s runs with %d of its %d pods, and wants at least %d", id, pods, j.PodCount(), j.LeastPods())
		}
	}
}

// checkDomain checks that a gang that requires one domain of a level runs in one, and that each of its groups of
// pods is whole in a domain of its level.
func (o *faultOracle) checkDomain(id protocol.JobID, l *protocol.Launch) {
	j := &o.jobs[id].job
	podsIn := func(level string) map[string]int {
		pods := make(map[string]int)
		for _, p := range l.PlacesOf() {
			domain, _ := protocol.DomainOf(p.Node, o.has[p.Node].Topology, level)
			pods[domain] += max(p.Pods, 1)
		}
		return pods
	}
	if level := j.RequiredTopology; level != "" && len(podsIn(level)) > 1 {
		o.run.reportViolation("%s requires one %s, and runs in several", id, level)
	}
	for _, g := range j.Groups {
		for _, n := range podsIn(g.Level) {
			if n%g.Pods != 0 {
				o.run.reportViolation("%s has groups of %d pods in a %s, and runs with %d in one", id, g.Pods, g.Level, n)
				return
			}
		}
	}
}

// checkSize checks that an elastic job runs with the pods that it was awarded, within its range.
func (o *faultOracle) checkSize(l protocol.Launch, pods int) {
	asked := o.preempt.jobs[l.Job.ID]
	if !asked.IsElastic() {
		return
	}
	if fewest, most := asked.PodRange(); pods < fewest || pods > most {
		o.run.reportViolation("%s runs with %d pods, and its range is %d to %d", l.Job.ID, pods, fewest, most)
	}
	if want, known := o.sizes[run{l.Job.ID, l.Epoch}]; known && want != pods {
		o.run.reportViolation("%s runs with %d pods under epoch %d, and was awarded %d", l.Job.ID, pods, l.Epoch, want)
	}
}

// checkTerms checks that the jobs of other tenants hold no more GPUs of a site than it lends.
func (o *faultOracle) checkTerms(site string, runs map[protocol.JobID]protocol.Launch) {
	lent := 0
	for _, l := range runs {
		if l.Job.Tenant != ownTenant && l.Job.Tenant != queueTenant(site) {
			lent += l.Job.GPUs
		}
	}
	if most := o.run.plan.MostGPUsForOthers; most > 0 && lent > most {
		o.run.reportViolation("%s lends %d GPUs, and its terms say at most %d", site, lent, most)
	}
}

// checkAccounts checks that the accounts of all leaders add up to zero.
func (o *faultOracle) checkAccounts() {
	for _, h := range o.run.hosts {
		m := h.marketOf()
		if m == nil {
			continue
		}
		sum := protocol.Microdollars(0)
		for _, a := range m.Accounts().AccountNames() {
			sum += m.Accounts().BalanceOf(a)
		}
		if sum != 0 {
			o.run.reportViolation("the accounts of %s add up to %d", h.name, sum)
		}
	}
}

// checkDurableEvents is called with the events that were stored on the stream.
func (o *faultOracle) checkDurableEvents(facts []protocol.Message) {
	for _, m := range facts {
		o.foldEvent(m)
		o.foldService(m)
		switch b := m.Body.(type) {
		case protocol.Submit:
			o.jobs[b.Job.ID].submissionDurable = true
		case protocol.Settlement:
			if b.Part { // of a run that was stopped to make room
				break
			}
			o.recordOutcome(b.Job, "settled")
			if f := o.jobs[b.Job]; f.ran == 0 && !f.cancelled {
				o.run.reportViolation("%s was settled, and has not run to its end", b.Job)
			}
			o.partOutcome(b.Job)
			o.run.sum.Ran++
		case protocol.Reject:
			if b.Why.Code != protocol.Duplicate {
				o.partsRefused(b.Job)
				o.recordOutcome(b.Job, "refused")
				if f := o.jobs[b.Job]; f.site != "" || f.ran > 0 {
					o.run.reportViolation("%s was refused, and has run", b.Job)
				}
				o.run.sum.Refused++
			}
		}
	}
}

// recordOutcome records the outcome of a job and checks that it is the only one.
func (o *faultOracle) recordOutcome(id protocol.JobID, how string) {
	f := o.jobs[id]
	o.run.addToStory("(%s is %s on the stream)", id, how)
	if f.outcome != "" {
		o.run.reportViolation("%s was %s, and is %s", id, f.outcome, how)
	}
	f.outcome = how
}

// checkSentMessage is called with each message that is sent.
func (o *faultOracle) checkSentMessage(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.Confirm:
		if f := o.jobs[b.Job]; f != nil && b.Code == protocol.Acknowledged && !f.submissionDurable {
			o.run.reportViolation("%s was acknowledged, and is not on the stream", b.Job)
		}
	case protocol.Cancel:
		if m.To == protocol.Coordinator {
			for _, id := range append([]protocol.JobID{b.Job}, o.part.parts[b.Job]...) {
				o.jobs[id].cancelled = true
			}
		}
	case protocol.Finished:
		// It ended by itself, in the very step in which its executor was told to stop it.
		if r := (run{b.Job, b.Epoch}); !b.Stopped && o.preempt.wasPreempted(r) && o.preempt.stopping[r] {
			delete(o.preempt.stopping, r)
			o.jobs[b.Job].ran++
		}
	}
}

// allQuiet reports whether everything has been over for long enough that nothing more
// can happen.
func (o *faultOracle) allQuiet() bool {
	p := o.run
	if p.inFaultPeriod() || !o.submittersKnow() || !o.servicesQuiet() {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(o.jobs)) {
		if o.jobs[id].outcome == "" {
			return false
		}
	}
	if o.over == 0 {
		o.over = p.now
	}
	return p.now > o.over.Add(3*time.Minute)
}

// submittersKnow reports whether the submitter and the queues know the outcome of all their jobs.
func (o *faultOracle) submittersKnow() bool {
	for _, s := range o.queues {
		if !s.allEnded() {
			return false
		}
	}
	return o.submitter != nil && o.submitter.allEnded()
}

// checkFinalState checks the invariants that must hold at the end of a run.
func (o *faultOracle) checkFinalState() {
	for _, id := range slices.Sorted(maps.Keys(o.jobs)) {
		if f := o.jobs[id]; f.outcome == "" {
			o.run.reportViolation("%s never ended: on the stream %t, runs at %q, has run %d times", id, f.submissionDurable, f.site, f.ran)
			return
		} else if f.site != "" {
			o.run.reportViolation("%s is %s, and still runs at %s", id, f.outcome, f.site)
			return
		}
	}
	o.checkNothingHeld()
	o.checkServicesEnd()
	if !o.submittersKnow() {
		o.run.reportViolation("the submitter was never notified of the ends of its jobs")
	}
}
