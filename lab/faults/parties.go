package faults

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
	"github.com/gridbid/gridbid/scenarios/sim/executor"
)

// startParties creates two coordinators, a submitter, an operator and the sites.
func (p *faultRun) startParties() error {
	for _, name := range []string{"coordinator-a", "coordinator-b"} {
		h := p.addHost(name, protocol.Coordinator, "")
		h.begin = h.awaitLease
		h.startProcess()
	}
	jobs := p.drawJobs()
	for _, j := range jobs {
		p.oracle.expectJob(j)
	}
	for i := range p.plan.Sites {
		size := 1 + p.dice.IntN(2)
		if p.plan.Gangs > 0 && p.plan.Preempting == 0 {
			size *= 2 // two zones, perhaps
		}
		if err := p.addSite(fmt.Sprintf("site-%c", 'a'+i), size); err != nil {
			return err
		}
	}
	sub := p.addHost("submitter", protocol.Submitter, "")
	sub.begin = func() {
		s := newRetryingSubmitter(jobs, sub.incarnations)
		sub.machine = s
		p.oracle.submitter = s
	}
	sub.disk = new(localEventFile)
	sub.startProcess()
	operator := p.addHost("operator", protocol.OperatorAPI, "")
	operator.begin = func() {} // it only sends
	sender := protocol.Sender{Party: protocol.OperatorAPI}
	p.decommissionSite = func(site string) {
		p.addToStory("an operator declares %s lost", site)
		p.oracle.siteDecommissioned(site)
		p.sendMessage(operator, sender.NewMessage(p.now, protocol.Coordinator, protocol.DecommissionSite{Site: site, By: "ada"}))
	}
	if p.plan.Services > 0 {
		p.serveByRequests(operator, &sender)
	}
	for _, j := range jobs {
		if p.dice.IntN(1000) < p.plan.Cancel {
			p.scheduleAt(j.Arrival.Add(time.Duration(p.dice.IntN(60_000))*time.Millisecond), func() {
				m := sender.NewMessage(p.now, protocol.Coordinator, protocol.Cancel{Job: j.ID})
				p.oracle.checkSentMessage(m)
				p.sendMessage(operator, m)
			})
		}
	}
	return nil
}

// addHost adds a process with a random clock error.
func (p *faultRun) addHost(name string, who protocol.Party, site string) *simHost {
	h := &simHost{run: p, name: name, party: who, site: site, lastArrival: make(map[*simHost]protocol.Time)}
	if p.plan.Skew > 0 {
		h.skew = (time.Duration(p.dice.Int64N(int64(2*p.plan.Skew))) - p.plan.Skew).Truncate(time.Millisecond)
	}
	p.hosts = append(p.hosts, h)
	return h
}

// drawJobs draws the submitted jobs.
func (p *faultRun) drawJobs() (out []protocol.Job) {
	for i := range p.plan.Jobs {
		arrival := startTime.Add(time.Duration(p.dice.Int64N(int64(p.plan.FaultPeriod))))
		j := protocol.Job{
			ID: protocol.JobID(fmt.Sprintf("job-%d", i+1)), Tenant: "lab", GPUs: 1 + p.dice.IntN(2), Share: 1000, CPU: 2000, Memory: 1024,
			Arrival: arrival, Run: time.Duration(2+p.dice.IntN(60)) * time.Second,
			Urgency: protocol.StandardOrNow(p.dice.IntN(3) == 0),
		}
		j.Deadline = arrival.Add(4 * j.Run)
		if i%3 == 0 {
			j.Tenant = ownTenant
		}
		if p.plan.Own > 0 {
			j.GPUs, j.Run = 1+p.dice.IntN(8), 2*j.Run
			j.Deadline = arrival.Add(4 * j.Run)
		}
		if p.plan.Gangs > 0 && p.dice.IntN(1000) < p.plan.Gangs {
			j = j.WithPods([]protocol.Component{{Role: "worker", Pods: 2 + p.dice.IntN(3), GPUs: 1 + p.dice.IntN(2), Share: 1000, CPU: 1000, Memory: 512}})
			if i%2 == 0 && p.plan.Preempting == 0 { // with few pods the long runs of those plans would outlast the test
				most := j.PodCount() + 2
				j.Speed = []protocol.SpeedPoint{{Pods: 1, Speed: 1000}, {Pods: most, Speed: protocol.Milli(800 * most)}}
			} else if p.dice.IntN(2) == 0 && p.plan.Preempting == 0 {
				j.MinPods = 1 + p.dice.IntN(j.PodCount())
			}
			p.drawTopology(i, &j)
		}
		if p.plan.Preempting > 0 {
			if j.Run = time.Duration(8+p.dice.IntN(20)) * time.Minute; p.dice.IntN(1000) < p.plan.Preempting {
				j.PriorityClass, j.Run = highClass, time.Duration(2+p.dice.IntN(60))*time.Second
			}
			j.Deadline = arrival.Add(4 * j.Run)
		}
		if p.plan.Divided > 0 && p.dice.IntN(1000) < p.plan.Divided {
			j = p.drawParts(j)
		}
		if p.dice.IntN(20) == 0 {
			j.Models = []string{"H100"} // no node has that model: the job must be rejected
		}
		out = append(out, j)
	}
	return out
}

// ownTenant is the sites' own tenant, whose jobs run on no terms.
const ownTenant = "owners"

// siteTerms returns the terms of the sites for a process that was started so often.
func (p *faultRun) siteTerms(site string, starts uint32) (t terms.Terms) {
	if p.plan.MostGPUsForOthers == 0 || p.plan.Bug == ForgetTerms && starts > 1 {
		return t
	}
	most := protocol.Milli(1000 * p.plan.MostGPUsForOthers)
	t = terms.Terms{Own: []string{ownTenant}, MostGPUs: &most}
	if p.plan.Own > 0 {
		t.Own = append(t.Own, queueTenant(site))
	}
	return t
}

// Levels of the topology: zones of two racks, and racks of one node, with two GPUs where gangs are drawn.
const (
	zoneLevel = "zone"
	rackLevel = "rack"
)

// drawTopology gives the i-th job, a gang, a wish for one domain of a level, or has its pods go in groups: of two
// in a rack, of which two are in a zone.
func (p *faultRun) drawTopology(i int, j *protocol.Job) {
	level := zoneLevel
	if i%4 == 1 && j.TotalGPUMilli() <= 2000 {
		level = rackLevel
	}
	switch p.dice.IntN(4) {
	case 0:
		j.RequiredTopology = level
	case 1:
		j.PreferredTopology = level
	case 2:
		if j.PodCount() == 4 && !j.IsElastic() && j.MinPods == 0 {
			j.Groups = []protocol.PodGroup{{Level: zoneLevel, Pods: 4}, {Level: rackLevel, Pods: 2}}
		}
	}
}

// addSite creates a site: an agent, and an executor with a cluster.
func (p *faultRun) addSite(site string, size int) error {
	var nodes []capacity.Node
	gpus := 2
	if p.plan.Own > 0 {
		size, gpus = 3, 8
	}
	if p.plan.Services > 0 {
		size, gpus = 2, 4
	}
	if p.plan.Nodes > 0 {
		size = p.plan.Nodes
	}
	host := power.DefaultHost(gpus)
	if p.plan.Sleep {
		host = power.SleepingHost(gpus)
	}
	for i := range size {
		nodes = append(nodes, capacity.Node{
			Node: fgd.Node{Name: fmt.Sprintf("%s-%d", site, i+1), CPU: int64(4000 * gpus), Memory: 64 << 10, GPUs: gpus, Model: "V100"}, Host: host,
			Topology: []protocol.Label{{Key: zoneLevel, Value: fmt.Sprintf("z%d", i/2)}, {Key: rackLevel, Value: fmt.Sprintf("r%d", i%2)}},
		})
	}
	p.oracle.addNodes(site, nodes)
	if _, err := capacity.New(capacity.Config{Nodes: nodes, Power: power.DefaultTable()}); err != nil {
		return err
	}
	h := p.addHost("executor/"+site, protocol.ExecutorParty(site), site)
	cluster := new(localEventFile)
	h.disk = cluster
	h.begin = func() {
		w := sim.NewSimExecutor(site, nodes, power.DefaultTable(), startTime.Add(-time.Hour), nil)
		s := executor.NewDurableSimExecutor(site, w)
		for _, f := range cluster.events {
			_ = s.Restore(f) // Restore of a simulated executor never fails
		}
		s.BeginIncarnation(h.incarnations)
		h.machine = s
		if p.plan.Bug == NoFencing {
			h.machine = &unfencedExecutor{DurableSimExecutor: s}
		}
		if p.plan.Bug == NeverStopped {
			h.machine = &hoardingExecutor{DurableSimExecutor: s, known: make(map[protocol.ServiceID][]protocol.Replica)}
		}
		if p.plan.Bug == HalfGang {
			h.machine = &halvingExecutor{DurableSimExecutor: s}
		}
		p.oracle.observeCluster(site, w, h)
	}
	a := p.addHost("agent/"+site, protocol.AgentParty(site), site)
	journal := new(localEventFile)
	a.disk = journal
	a.begin = func() { a.machine = p.restoreAgent(a, site, nodes, journal) }
	h.startProcess()
	a.startProcess()
	p.addQueue(site)
	return nil
}

// restoreAgent starts an incarnation of a site's agent from its event log. Grid signals are
// available to it at once.
func (p *faultRun) restoreAgent(h *simHost, site string, nodes []capacity.Node, journal *localEventFile) bus.Machine {
	f, err := capacity.New(capacity.Config{Nodes: nodes, Power: power.DefaultTable()})
	if err != nil {
		p.reportViolation("the capacity of %s cannot be rebuilt: %v", site, err)
		return nil
	}
	known := forecast.New(forecast.Config{})
	for what, value := range map[protocol.Quantity]int64{protocol.GridPrice: p.priceOf(site), protocol.GridCarbon: 200_000, protocol.GridPUE: 1100} {
		s := protocol.Signal{What: what}
		for hour := range 48 {
			s.Points = append(s.Points, protocol.Point{At: startTime.Add(time.Duration(hour-24) * time.Hour), Value: value})
		}
		known.RecordSignal(h.localTime(), s)
	}
	a := agents.New(agents.Config{Site: site, Strategy: agents.DefaultStrategy(), Terms: p.siteTerms(site, h.incarnations), Services: p.plan.Services > 0}, f, known)
	if p.plan.Own > 0 {
		a.SendHeartbeats(heartbeatInterval)
	}
	for _, m := range journal.events {
		if _, called := m.Body.(protocol.CallForBids); called && m.From == h.party && p.plan.Bug == OwnForgotten {
			continue
		}
		l, ok := m.Body.(protocol.Launch)
		if p.plan.Bug == GangsForgotten && ok && l.Job.IsGang() { // it restores the gang as a job of its first node
			l.Job, l.Places = l.PartAt(l.Places[0]), nil
			m.Body = l
		}
		if _, ok := m.Body.(protocol.Preempt); ok && p.plan.Bug == PreemptForgotten {
			continue
		}
		if _, ok := m.Body.(protocol.RunReplicas); ok && p.plan.Bug == ReplicasForgotten {
			continue
		}
		if err := a.Restore(m); err != nil {
			p.reportViolation("%s cannot be restored: %v", h.name, err)
		}
	}
	var kept []protocol.Message
	for _, m := range journal.events {
		if a.NeedsEvent(m) {
			kept = append(kept, m)
		}
	}
	journal.events = kept
	a.BeginIncarnation(h.incarnations)
	if p.plan.Bug == StopAll {
		return &greedyAgent{Agent: a, running: make(map[protocol.JobID]bool)}
	}
	if p.plan.Lie && site == p.oracle.sites[0] {
		return &lyingAgent{a}
	}
	if p.plan.Bug == ReadyTooSoon {
		return &hastyAgent{a}
	}
	if p.plan.Bug == RunUnconfirmed {
		return &unconfirmedAgent{Agent: a, n: uint64(h.incarnations) << 45}
	}
	return a
}

// unfencedExecutor is an executor with a planted bug: it runs every launch under a new epoch.
type unfencedExecutor struct {
	*executor.DurableSimExecutor
	n uint64
}

// Step implements bus.Machine, with the planted bug.
func (u *unfencedExecutor) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if l, ok := m.Body.(protocol.Launch); ok {
		u.n++
		l.Epoch += 1000 * u.n
		m.Body = l
	}
	return u.DurableSimExecutor.Step(now, m)
}

// A halvingExecutor has a planted bug: it starts a gang on its first node alone.
type halvingExecutor struct{ *executor.DurableSimExecutor }

// Step implements bus.Machine, with the planted bug.
func (u *halvingExecutor) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if l, ok := m.Body.(protocol.Launch); ok && len(l.Places) > 1 {
		l.Places = l.Places[:1]
		m.Body = l
	}
	return u.DurableSimExecutor.Step(now, m)
}

// An unconfirmedAgent has a planted bug: it takes its own Accept as confirmed.
type unconfirmedAgent struct {
	*agents.Agent
	dedup  protocol.Deduplicator
	n      uint64
	events []protocol.Message
}

// Events implements bus.EventSourced.
func (a *unconfirmedAgent) Events() []protocol.Message { return a.events }

// Tick implements bus.Machine.
func (a *unconfirmedAgent) Tick(now protocol.Time) []protocol.Message {
	said := a.Agent.Tick(now)
	a.events = append(a.events[:0], a.Agent.Events()...)
	return said
}

// Step implements bus.Machine, with the planted bug: it confirms the agent's own
// Accept. Messages are renumbered, because the invented confirmation needs a number of
// its own.
func (a *unconfirmedAgent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	a.events = a.events[:0]
	if m.From == protocol.Coordinator {
		if !a.dedup.AdmitOnce(m) {
			return nil
		}
		a.n++
		m.Seq = a.n
	}
	said := a.Agent.Step(now, m)
	a.events = append(a.events, a.Agent.Events()...)
	for _, s := range said {
		if x, ok := s.Body.(protocol.Accept); ok {
			a.n++
			said = append(said, a.Agent.Step(now, protocol.Message{
				Version: protocol.Current, At: now, From: protocol.Coordinator, Seq: a.n, To: s.From,
				Body: protocol.Confirm{Job: x.Job, Epoch: x.Epoch, Code: protocol.AcceptConfirmed},
			})...)
			a.events = append(a.events, a.Agent.Events()...)
		}
	}
	return said
}
