package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
	"github.com/gridbid/gridbid/scenarios/sim/executor"
)

// Serve plants no bug, but in its plans there are services beside jobs.
const Serve PlantedBug = "services"

// Planted bugs of services.
const (
	ReadyTooSoon      PlantedBug = "ready-too-soon"     // a site says that its replicas run as soon as they are assigned
	ReplicasForgotten PlantedBug = "replicas-forgotten" // a restarted agent does not know which replicas it has
	MovesForgotten    PlantedBug = "moves-forgotten"    // a restarted coordinator does not know what it told sites
	NeverStopped      PlantedBug = "never-stopped"      // executors start replicas, and stop none
)

// serveReplicas makes a plan one of services beside a few jobs. The sites of every fourth seed lie.
func (p *FaultPlan) serveReplicas(seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 4))
	p.Services, p.FirstLoad, p.Lie = 1+dice.IntN(3), int(seed%3), p.Bug == Serve && seed%4 == 0
	p.Sites, p.Jobs = 2+dice.IntN(2), 1+dice.IntN(3)
	p.Gangs, p.Preempting, p.Quotas, p.MostGPUsForOthers, p.Cancel = 0, 0, false, 0, 0
}

// serviceRecord is what the oracle knows of services: what the stream says, and what runs.
type serviceRecord struct {
	all      map[protocol.ServiceID]*observedService
	assigned map[protocol.ServiceID]map[string]protocol.AssignReplicas // newest, by site
	changed  protocol.Time                                             // when the stream last said anything of a service
}

// An observedService is the observed state of a service.
type observedService struct {
	wanted, least int
	pending       int            // by the newest division
	target        map[string]int // by the newest division
	deleted       bool
	rose          bool                     // as many as the least have run, and it is not deleted since
	beyond        protocol.Time            // since when more than are wanted run; 0: they do not
	paid          map[string]protocol.Time // until when, by site
}

// moveLimit is for how long more replicas than are wanted may run once the faults are over: until their move is
// finished. What was not acknowledged is repeated after a minute at most, and what is not settled is looked at
// every two.
const moveLimit = 6 * time.Minute

// priceOf is the price of power at a site, in microdollars per MWh, so that sites differ for services.
func (p *faultRun) priceOf(site string) int64 {
	if p.plan.Services == 0 {
		return 50_000
	}
	return 40_000 + 15_000*int64(site[len(site)-1]-'a')
}

// serveByRequests sends requests for services while there are faults: some are lost, some come twice. A service is
// never scaled below its least, so that it is the market that goes below it, if anybody.
func (p *faultRun) serveByRequests(operator *simHost, sender *protocol.Sender) {
	send := func(at time.Duration, b protocol.Body) {
		p.scheduleAt(startTime.Add(at), func() {
			p.sendMessage(operator, sender.NewMessage(p.now, protocol.Coordinator, b))
		})
	}
	within := func(d time.Duration) time.Duration { return time.Duration(p.dice.Int64N(int64(d))) }
	for i := range p.plan.Services {
		s := protocol.Service{ID: protocol.ServiceID(fmt.Sprintf("service-%d", i+1)), Tenant: "lab", Min: 1 + p.dice.IntN(2), Max: 5,
			GPUs: 1, Share: protocol.Milli(500 * (1 + p.dice.IntN(2))), CPU: 500, Memory: 512}
		s.Wanted = s.Min + p.dice.IntN(3)
		s.Division.Rule = []protocol.DivisionRule{protocol.DivideByCost, protocol.DivideByCapacity, protocol.DivideByWeights, protocol.DivideAmongFewest}[p.dice.IntN(4)]
		if p.dice.IntN(3) == 0 {
			s.AntiAffinity = "apart"
		}
		if i%3 == p.plan.FirstLoad { // it says a load in place of a number
			s.Load, s.Wanted, s.Min, s.Division.Rule = loadOf(s.Wanted), 0, 0, protocol.DivideByCost
			s.Variants = []protocol.Variant{{Model: "V100", Goodput: loadOf(1)}}
		}
		for k := range 4 { // one that is lost comes again
			send(time.Duration(k)*5*time.Second+within(5*time.Second), protocol.SubmitService{Service: s})
		}
		for range p.dice.IntN(4) {
			at, wanted := 20*time.Second+within(p.plan.FaultPeriod), s.Min+p.dice.IntN(s.Max-s.Min+1)
			if s.Load == 0 {
				send(at, protocol.ScaleService{Service: s.ID, Wanted: wanted})
				continue
			}
			s.Load = loadOf(max(wanted, 1))
			send(at, protocol.SubmitService{Service: s})
		}
		for range p.dice.IntN(3) {
			send(20*time.Second+within(p.plan.FaultPeriod), protocol.RebalanceService{Service: s.ID})
		}
		if p.dice.IntN(4) == 0 {
			send(20*time.Second+within(p.plan.FaultPeriod), protocol.DeleteService{Service: s.ID})
		}
	}
	for range p.dice.IntN(3) { // a drain moves the replicas of a site, and its end lets them back
		site := p.oracle.sites[p.dice.IntN(len(p.oracle.sites))]
		at := 10*time.Second + within(p.plan.FaultPeriod)
		send(at, protocol.Drain{Site: site, By: "ada", Why: "test"})
		for k := range 4 {
			send(at+30*time.Second+time.Duration(k)*time.Minute+within(time.Minute), protocol.Drain{Site: site, Over: true, By: "ada"})
		}
	}
}

// foldService folds an event of the stream about services, and kills the leader in the middle of many moves.
func (o *faultOracle) foldService(m protocol.Message) {
	x := &o.service
	at := func(id protocol.ServiceID) *observedService {
		if x.all == nil {
			x.all, x.assigned = make(map[protocol.ServiceID]*observedService), make(map[protocol.ServiceID]map[string]protocol.AssignReplicas)
		}
		if x.all[id] == nil {
			x.all[id], x.assigned[id] = &observedService{}, make(map[string]protocol.AssignReplicas)
		}
		x.changed = o.run.now
		return x.all[id]
	}
	switch b := m.Body.(type) {
	case protocol.SubmitService:
		s := at(b.Service.ID)
		if s.deleted {
			s.rose = false
		}
		s.wanted, s.least, s.deleted = b.Service.Wanted, b.Service.Min, false
		if b.Service.Load > 0 {
			s.wanted = int(b.Service.Load / loadOf(1))
		}
	case protocol.ScaleService:
		at(b.Service).wanted = b.Wanted
	case protocol.ServiceDivision:
		if b.Preview {
			break
		}
		s := at(b.Service)
		s.pending, s.deleted, s.rose, s.target = b.Pending, b.Deleted, s.rose && !b.Deleted, make(map[string]int)
		sum := 0
		for _, c := range b.Sites {
			s.target[c.Site] = c.Count
			sum += c.Count
		}
		if b.Deleted {
			s.wanted = 0
		} else if sum+b.Pending < b.Wanted { // a site that did not answer may keep more
			o.run.reportViolation("%s: %d replicas are divided and %d pending, and %d are wanted", b.Service, sum, b.Pending, b.Wanted)
		}
		if b.Move {
			o.run.sum.Moves++
			if p := o.run; p.drawFault(500) {
				p.scheduleAfter(time.Duration(p.dice.IntN(3000))*time.Millisecond, p.killLeader)
			}
		}
	case protocol.ServiceSettlement:
		s := at(b.Service)
		if s.paid == nil {
			s.paid = make(map[string]protocol.Time)
		}
		if b.From < s.paid[b.Site] {
			o.run.reportViolation("%s is paid for at %s from %v on, and was until %v", b.Service, b.Site, b.From, s.paid[b.Site])
		}
		s.paid[b.Site] = b.Meter.Until
	case protocol.AssignReplicas:
		at(b.Service.ID)
		x.assigned[b.Service.ID][m.To.SiteName()] = b
	}
}

// killLeader kills the coordinator that leads.
func (p *faultRun) killLeader() {
	for _, h := range p.hosts {
		if h.marketOf() != nil && p.inFaultPeriod() {
			h.crashProcess("killed in a move")
			p.sum.MovesCut++
		}
	}
}

// replicasAt returns what the executor of a site holds; false if it is down or has yet to catch up, so that nobody
// knows whether it runs.
func (o *faultOracle) replicasAt(site string) ([]sim.HeldReplica, bool) {
	c := o.clusters[site]
	return c.simulator.HeldReplicas(), !c.host.down && !c.behind
}

// checkReplicas checks at each step how many replicas of each service run. An executor that is down hides its
// own; its cluster runs on, so nothing is judged then.
func (o *faultOracle) checkReplicas() {
	if len(o.service.all) == 0 {
		return
	}
	runs := make(map[protocol.ServiceID]int)
	for _, site := range o.sites {
		held, ok := o.replicasAt(site)
		if !ok {
			return
		}
		used := make(map[string]protocol.Milli)
		for _, l := range o.clusters[site].runs {
			for _, d := range l.Devices {
				used[fmt.Sprint(l.Node, "/", d)] += l.Job.Share
			}
		}
		for _, r := range held {
			if r.Runs {
				runs[r.Service.ID]++
			}
			for _, d := range r.Replica.Devices {
				key := fmt.Sprint(r.Replica.Node, "/", d)
				if used[key] += r.Service.Share; used[key] > 1000 {
					o.run.reportViolation("device %s is given twice, to %s as well", key, r.Service.ID)
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(o.service.all)) {
		o.checkCount(id, o.service.all[id], runs[id])
	}
}

// checkCount checks that a service never falls below its least, and is beyond its wish no longer than a move takes.
func (o *faultOracle) checkCount(id protocol.ServiceID, s *observedService, runs int) {
	switch {
	case s.deleted:
	case runs >= s.least:
		s.rose = s.rose || runs > 0
	case s.rose && !o.run.plan.Lie:
		o.run.reportViolation("%s has %d replicas, had %d, and nothing was lost", id, runs, s.least)
	}
	if runs <= s.wanted || o.run.inFaultPeriod() {
		s.beyond = 0
		return
	}
	if s.beyond == 0 {
		s.beyond = o.run.now
	}
	if o.run.now.Sub(s.beyond) > moveLimit {
		o.run.reportViolation("%s has %d replicas since %s, and %d are wanted", id, runs, sinceStart(s.beyond), s.wanted)
	}
}

// servicesQuiet reports whether nothing was decided for longer than anything waits.
func (o *faultOracle) servicesQuiet() bool {
	return len(o.service.all) == 0 && o.run.plan.Services == 0 || o.run.now > o.service.changed.Add(moveLimit)
}

// checkServicesEnd checks that in the end each site runs what it was told last, and nothing else; that all together
// are as many as were divided, or more only in place of those that found no room, and never more than are wanted.
func (o *faultOracle) checkServicesEnd() {
	total := make(map[protocol.ServiceID]int)
	for _, site := range o.sites {
		held, caughtUp := o.replicasAt(site)
		runs := make(map[protocol.ServiceID]int)
		for _, r := range held {
			total[r.Service.ID]++
			if runs[r.Service.ID]++; !r.Runs && caughtUp {
				o.run.reportViolation("%s #%d never began at %s", r.Service.ID, r.Replica.Number, site)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(o.service.all)) {
			told := o.service.assigned[id][site].Count
			if runs[id] > told || runs[id] < told && !o.run.plan.Lie { // a site that lied may have no room for them
				o.run.reportViolation("%s has %d replicas at %s in the end, and was told %d", id, runs[id], site, told)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(o.service.all)) {
		s, divided := o.service.all[id], 0
		for _, n := range s.target {
			divided += n
		}
		if total[id] > s.wanted || total[id] < divided && !o.run.plan.Lie || total[id] > divided+s.pending && !o.run.plan.Lie {
			o.run.reportViolation("%s has %d replicas in the end; %d are wanted, %d divided and %d pending", id, total[id], s.wanted, divided, s.pending)
		}
	}
	o.run.sum.Services += len(o.service.all)
}

// A lyingAgent says that it has room for two more replicas than it has, and answers each call for capacity
// twice, with other numbers. It is no bug: the federation has to live with it.
type lyingAgent struct{ *agents.Agent }

// Step implements bus.Machine.
func (a *lyingAgent) Step(now protocol.Time, m protocol.Message) (said []protocol.Message) {
	for _, s := range a.Agent.Step(now, m) {
		s.Seq *= 2
		said = append(said, s)
		if b, ok := s.Body.(protocol.CapacityBid); ok {
			said[len(said)-1].Body = exaggerated(b, 2)
			s.Seq++
			s.Body = exaggerated(b, 3)
			said = append(said, s)
		}
	}
	return said
}

// Tick implements bus.Machine.
func (a *lyingAgent) Tick(now protocol.Time) []protocol.Message {
	said := slices.Clone(a.Agent.Tick(now))
	for i := range said {
		said[i].Seq *= 2
	}
	return said
}

// loadOf returns the load, in thousandths of a request a second, that so many replicas serve.
func loadOf(replicas int) protocol.Milli { return 10_000 * protocol.Milli(replicas) }

// exaggerated returns a bid with room for so many more replicas, at a tenth of a cent an hour.
func exaggerated(b protocol.CapacityBid, more int) protocol.CapacityBid {
	b.Services = slices.Clone(b.Services)
	for i := range b.Services {
		r := &b.Services[i]
		r.Available, r.Why = r.Available+more, protocol.Reason{}
		r.Steps = append(slices.Clone(r.Steps), protocol.CostStep{Count: more, Cost: 1000, Serves: loadOf(1)})
	}
	return b
}

// A hastyAgent has a planted bug: it says that replicas run as soon as they are assigned.
type hastyAgent struct{ *agents.Agent }

// Step implements bus.Machine, with the planted bug.
func (a *hastyAgent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	said := slices.Clone(a.Agent.Step(now, m))
	for i := range said {
		if b, ok := said[i].Body.(protocol.ReplicaStatus); ok {
			b.Ready, b.Pending, b.Since = b.Assigned, 0, 0
			said[i].Body = b
		}
	}
	return said
}

// A hoardingExecutor has a planted bug: it stops no replica.
type hoardingExecutor struct {
	*executor.DurableSimExecutor
	known map[protocol.ServiceID][]protocol.Replica
}

// Step implements bus.Machine, with the planted bug.
func (u *hoardingExecutor) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if b, ok := m.Body.(protocol.RunReplicas); ok {
		b.Replicas = slices.Clone(b.Replicas)
		for _, old := range u.known[b.Service.ID] {
			if !slices.ContainsFunc(b.Replicas, func(r protocol.Replica) bool { return r.Number == old.Number }) {
				b.Replicas = append(b.Replicas, old)
			}
		}
		u.known[b.Service.ID] = b.Replicas
		m.Body = b
	}
	return u.DurableSimExecutor.Step(now, m)
}

// restoredOf returns the events that a leader restores under the planted bug: none of what sites were told.
func (p *faultRun) restoredOf(events []protocol.Message) []protocol.Message {
	if p.plan.Bug != MovesForgotten {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(m protocol.Message) bool {
		_, told := m.Body.(protocol.AssignReplicas)
		return told
	})
}

// describeService says what a message of a service is about, for the story.
func describeService(m protocol.Message) string {
	switch b := m.Body.(type) {
	case protocol.SubmitService:
		return fmt.Sprintf("%s wants %d, at least %d", b.Service.ID, b.Service.Wanted, b.Service.Min)
	case protocol.ScaleService:
		return fmt.Sprintf("%s wants %d", b.Service, b.Wanted)
	case protocol.ServiceDivision:
		return fmt.Sprintf("%s decision %d %v, %d pending, move %t, %s", b.Service, b.Decision, b.Sites, b.Pending, b.Move, b.Why.Code)
	case protocol.ServiceSettlement:
		return fmt.Sprintf("%s paid for at %s from %v to %v", b.Service, b.Site, b.From, b.Meter.Until)
	case protocol.AssignReplicas:
		return fmt.Sprintf("%s revision %d count %d", b.Service.ID, b.Revision, b.Count)
	case protocol.ReplicaStatus:
		return fmt.Sprintf("%s revision %d assigned %d ready %d pending %d", b.Service, b.Revision, b.Assigned, b.Ready, b.Pending)
	case protocol.RunReplicas:
		return fmt.Sprintf("%s order %d of %d", b.Service.ID, b.Revision, len(b.Replicas))
	case protocol.ReplicasRunning:
		return fmt.Sprintf("%s order %d runs %v, lost %v", b.Service, b.Revision, b.Running, b.Lost)
	}
	return ""
}
