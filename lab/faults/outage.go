package faults

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Planted bugs of sites that start their own jobs while they hear no coordinator.
const (
	AloneUnsaid  PlantedBug = "alone-unsaid"  // a queue does not say that its site may start its jobs
	OwnForgotten PlantedBug = "own-forgotten" // a restarted agent forgets which of its own jobs were called
)

// Outage plants no bug, but in its plans sites have jobs of their own, and hear no coordinator for a while.
const Outage PlantedBug = "outage"

// drawOutage makes a plan one in which sites of 24 GPUs lend 16, have jobs of their own, and hear no
// coordinator for one to ten minutes: it is off, or one site is cut off.
func (p *FaultPlan) drawOutage(seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 3))
	p.Own, p.Outage, p.CutOff = 1+dice.IntN(4), time.Duration(60+dice.IntN(540))*time.Second, dice.IntN(2) == 0
	p.MostGPUsForOthers, p.Jobs, p.Preempting = 16, 4+dice.IntN(9), 0
	p.Sites = max(p.Sites, 2)
	p.FaultPeriod = max(p.FaultPeriod, p.Outage)
}

// ownJobs draws the jobs that the queue of a site submits, most of them during the outage.
func (p *faultRun) ownJobs(site string) (out []protocol.Job) {
	for i := range p.plan.Own {
		arrival := startTime.Add(time.Duration(p.dice.Int64N(int64(p.plan.Outage))))
		j := protocol.Job{
			ID: protocol.JobID(fmt.Sprintf("%s/job-%d", site, i+1)), Tenant: queueTenant(site), GPUs: 1 + p.dice.IntN(8), Share: 1000, CPU: 2000, Memory: 1024,
			Arrival: arrival, Run: time.Duration(2+p.dice.IntN(120)) * time.Second, Urgency: protocol.StandardOrNow(p.dice.IntN(3) == 0),
		}
		j.Deadline = arrival.Add(4 * j.Run)
		out = append(out, j)
	}
	return out
}

// queueTenant is the tenant of the jobs of a site's queue.
func queueTenant(site string) string { return site + "/ops" }

// addQueue adds the queue of a site, which tells its agent what it submits.
func (p *faultRun) addQueue(site string) {
	if p.plan.Own == 0 {
		return
	}
	jobs := p.ownJobs(site)
	for _, j := range jobs {
		p.oracle.expectJob(j)
	}
	h := p.addHost("queue/"+site, protocol.QueueParty(site), site)
	h.disk = new(localEventFile)
	h.begin = func() {
		s := newRetryingSubmitter(jobs, h.incarnations)
		s.sender.Party, s.agent = protocol.QueueParty(site), protocol.AgentParty(site)
		s.alone = p.plan.Bug != AloneUnsaid
		h.machine = s
		p.oracle.queues[site] = s
	}
	h.startProcess()
}

// beginOutage begins the outage of a plan, at a moment in which some jobs are under way.
func (p *faultRun) beginOutage() {
	if p.plan.Own == 0 {
		return
	}
	begin := startTime.Add(time.Duration(p.dice.IntN(30_000)) * time.Millisecond)
	site := p.oracle.sites[p.dice.IntN(len(p.oracle.sites))]
	p.scheduleAt(begin, func() {
		p.addToStory("the outage begins")
		for _, h := range p.hosts {
			switch {
			case p.plan.CutOff && h.site == site:
				h.cut, h.partitioned = true, true
			case !p.plan.CutOff && h.party == protocol.Coordinator:
				h.off = true
				h.crashProcess("off")
			}
		}
	})
	p.scheduleAt(begin.Add(p.plan.Outage), func() {
		p.addToStory("the outage ends")
		for _, h := range p.hosts {
			if h.off || h.cut {
				h.off, h.cut, h.partitioned = false, false, false
				h.restartProcess()
			}
		}
	})
}
