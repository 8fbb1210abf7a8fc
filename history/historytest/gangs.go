package historytest

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// GenerateGangs returns the messages of a run with jobs of several pods: "elastic" runs on two pods, is paused
// by its site after an hour and goes on with four; "wide" waits for four whole nodes, of which oslo has three;
// and "split" runs at lyon and warsaw, in two parts.
func GenerateGangs() []protocol.Message {
	p := new(runBuilder)
	for _, site := range SiteNames {
		p.addMessage(Midnight, protocol.AgentParty(site), protocol.Coordinator, protocol.RegisterSite{Site: site,
			Pools: []protocol.Pool{{Model: "A100", Nodes: 4, GPUs: 32, CPU: 256_000, Memory: 1 << 20}}})
	}
	p.addElastic(Midnight.Add(time.Minute))
	p.addWaitingGang(Midnight.Add(2 * time.Minute))
	p.addSplit(Midnight.Add(3 * time.Minute))
	return p.numbered()
}

func gang(id protocol.JobID, pods, gpus int, at protocol.Time) protocol.Job {
	return protocol.Job{ID: id, Tenant: "team-a", Arrival: at, Run: 2 * time.Hour, Deadline: at.Add(8 * time.Hour), Urgency: protocol.UrgencyStandard}.WithPods(
		[]protocol.Component{{Role: "worker", Pods: pods, GPUs: gpus, Share: 1000, CPU: 8000, Memory: 4096}})
}

func (p *runBuilder) addElastic(at protocol.Time) {
	j := gang("elastic", 2, 2, at)
	j.Speed, j.Pause = []protocol.SpeedPoint{{Pods: 2, Speed: 1900}, {Pods: 4, Speed: 3600}}, 2*time.Minute
	p.addMessage(at, protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	two := []protocol.Place{{Pods: 1, Node: "oslo-1", Devices: []int{0, 1}}, {Pods: 1, Node: "oslo-2", Devices: []int{0, 1}}}
	four := []protocol.Place{{Pods: 3, Node: "oslo-1", Devices: []int{0, 1, 2, 3, 4, 5}}, {Pods: 1, Node: "oslo-2", Devices: []int{0, 1}}}
	p.addGangRun(j.AtPods(2), 1, "oslo", at, time.Hour, time.Hour+2*time.Minute, two)
	p.addGangRun(j.AtPods(4), 2, "oslo", at.Add(time.Hour+5*time.Second), 34*time.Minute, 0, four)
}

// addWaitingGang is a gang that no site can start at once, and that is awarded for later.
func (p *runBuilder) addWaitingGang(at protocol.Time) {
	j := gang("wide", 4, 8, at)
	p.addMessage(at, protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	p.round++
	p.addMessage(at, protocol.Coordinator, "", protocol.CallForBids{Round: p.round, Closes: at.Add(2 * time.Second), Jobs: []protocol.Job{j}, Weights: protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}})
	o := protocol.BidOption{Start: at.Add(2 * time.Hour), Finish: at.Add(4 * time.Hour), Model: "A100", Energy: 9_000_000_000, Carbon: 90_000, Money: 60_000, NodeIdleShare: 96_000}
	spread := protocol.Spread{Job: j.ID, Places: []protocol.Place{{Pods: 1, Node: "oslo-1"}, {Pods: 1, Node: "oslo-2"}, {Pods: 1, Node: "oslo-3"}, {Pods: 1, Node: "oslo-4"}}}
	p.addMessage(at.Add(300*time.Millisecond), protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Bids{
		Round: p.round, Jobs: []protocol.JobBids{{Job: j.ID, Options: []protocol.BidOption{o}}}, Spreads: []protocol.Spread{spread},
		Holes: []protocol.Hole{{Job: j.ID, Fit: 3, From: at.Add(time.Hour), GPUHours: 40_000, Cost: 96_000}},
	})
	p.addMessage(at.Add(time.Second), protocol.Coordinator, protocol.AgentParty("oslo"), protocol.Award{
		Round: p.round, Job: j.ID, Epoch: 1, Option: o, Places: spread.Places, MayQueue: true, Lease: at.Add(time.Minute), Why: protocol.Reason{Code: protocol.Cheapest}})
	p.addMessage(at.Add(1200*time.Millisecond), protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Accept{Job: j.ID, Epoch: 1, Start: o.Start})
}

func (p *runBuilder) addSplit(at protocol.Time) {
	j, _ := gang("split", 4, 2, at).WithEqualParts(2)
	j.MaxSites = 2
	p.addMessage(at, protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	for i, part := range j.PartJobs() {
		site := []string{"lyon", "warsaw"}[i]
		p.addGangRun(part, 1, site, at, 2*time.Hour, 0, []protocol.Place{{Pods: 2, Node: site + "-1", Devices: []int{0, 1, 2, 3}}})
	}
	p.addMessage(at.Add(1500*time.Millisecond), protocol.Coordinator, protocol.Submitter, protocol.PartsDecided{Job: j.ID, Epoch: 1, Committed: true})
}

// addGangRun is a round in which one site offers a gang to start at once, and the run that comes of it; left is
// what is left of the job when it is paused.
func (p *runBuilder) addGangRun(j protocol.Job, epoch uint64, site string, at protocol.Time, long, left time.Duration, places []protocol.Place) {
	p.round++
	agent, hands := protocol.AgentParty(site), protocol.ExecutorParty(site)
	o := protocol.BidOption{Start: at.Add(2 * time.Second), Finish: at.Add(2*time.Second + j.Run), Model: "A100", Energy: 3_600_000_000, Carbon: 45_000, Money: 30_000}
	if j.IsElastic() {
		o.Pods = j.PodCount()
	}
	p.addMessage(at, protocol.Coordinator, "", protocol.CallForBids{Round: p.round, Closes: at.Add(2 * time.Second), Jobs: []protocol.Job{j}, Weights: protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}})
	p.addMessage(at.Add(300*time.Millisecond), agent, protocol.Coordinator, protocol.Bids{Round: p.round, Jobs: []protocol.JobBids{{Job: j.ID, Options: []protocol.BidOption{o}}}, Spreads: []protocol.Spread{{Job: j.ID, Places: places}}})
	p.addMessage(at.Add(time.Second), protocol.Coordinator, agent, protocol.Award{Round: p.round, Job: j.ID, Epoch: epoch, Option: o, Places: places, Lease: at.Add(time.Minute), Why: protocol.Reason{Code: protocol.Cheapest}})
	p.addMessage(at.Add(1200*time.Millisecond), agent, protocol.Coordinator, protocol.Accept{Job: j.ID, Epoch: epoch, Start: o.Start})
	began, ended := at.Add(3*time.Second), at.Add(3*time.Second+long)
	p.addMessage(began, agent, hands, protocol.Launch{Job: j, Epoch: epoch, Node: places[0].Node, Devices: places[0].Devices, Model: "A100", Run: j.Run, Power: 400_000, Places: places})
	p.addMessage(began, hands, agent, protocol.Started{Job: j.ID, Epoch: epoch, Places: places})
	p.addMessage(ended, hands, agent, protocol.Finished{Job: j.ID, Epoch: epoch, Left: left, Draw: []protocol.HourlyEnergy{{Hour: began.Floor(time.Hour), Energy: o.Energy}}})
	p.addMessage(ended, agent, protocol.Coordinator, protocol.UsageReport{Job: j.ID, Epoch: epoch, Started: began, Ended: ended, Node: places[0].Node, Devices: places[0].Devices, Places: places,
		Left: left, IT: o.Energy, Energy: o.Energy, Carbon: o.Carbon, Money: o.Money})
	bill := protocol.Usage{IT: o.Energy, Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: ended}
	p.addMessage(ended, protocol.Coordinator, "", protocol.Settlement{Job: j.ID, Site: site, Payer: j.Tenant, Paid: o.Money, BidFor: bill, Counted: bill, Part: left > 0})
}
