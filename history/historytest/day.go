// Package historytest makes up a run to look at in tests: messages as a federation
// says them, of any length, with names that mean harm.
package historytest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Midnight is when a made-up run begins.
const Midnight protocol.Time = 1_773_187_200_000 // 2026-03-11T00:00:00Z

// HostileText is the name of the third job: markup, a script, quotes, and characters
// that turn text around or move a cursor.
const HostileText protocol.JobID = "</script><img src=x onerror=alert(1)>\u202e\x1b[2J\"'&"

// SiteNames are the sites of a made-up run.
var SiteNames = []string{"lyon", "oslo", "warsaw"}

// intensities are grams of CO2 per kWh at midnight, by site.
var intensities = []int64{60, 25, 640}

// A runBuilder is a made-up run while it is written: what is said, in any order and unnumbered.
type runBuilder struct {
	lines []protocol.Message
	round uint64
}

func (p *runBuilder) addMessage(at protocol.Time, from, to protocol.Party, body protocol.Body) {
	p.lines = append(p.lines, protocol.Message{At: at, From: from, To: to, Body: body})
}

// GenerateDay returns the messages of a run of so many jobs that arrive one after
// another in gap. Every fourth is held for an hour first, every ninth cannot
// leave Warsaw, and the third is named Evil.
func GenerateDay(jobs int, gap time.Duration) []protocol.Message {
	p := new(runBuilder)
	for i, site := range SiteNames {
		p.addMessage(Midnight, protocol.AgentParty(site), protocol.Coordinator, protocol.RegisterSite{Site: site,
			Pools: []protocol.Pool{{Model: "A100", Nodes: 4, GPUs: 32, CPU: 256_000, Memory: 1 << 20}}})
		for h := range 2 + int(time.Duration(jobs)*gap/time.Hour) {
			hour := Midnight.Add(time.Duration(h) * time.Hour)
			p.addMessage(hour.Add(time.Hour+time.Second), protocol.AgentParty(site), protocol.Coordinator, protocol.SiteUsage{Hour: hour, Total: 7_200_000_000,
				Idle: protocol.Usage{IT: 3_600_000_000, Energy: 4_000_000_000, Carbon: protocol.Milligrams(intensities[i] * 1111), Money: 50_000}})
		}
	}
	for k := range jobs {
		j, held := jobAt(k, Midnight.Add(time.Minute+time.Duration(k)*gap)), k%4 == 3
		p.addMessage(j.Arrival, protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		p.addRound(j, j.Arrival.Add(time.Second), held)
		if held {
			p.addRound(j, j.Arrival.Add(time.Hour), false)
		}
	}
	return p.numbered()
}

// numbered returns what is said in the order of time, numbered by its senders.
func (p *runBuilder) numbered() []protocol.Message {
	slices.SortStableFunc(p.lines, func(a, b protocol.Message) int { return cmp.Compare(a.At, b.At) })
	mouths, said := make(map[protocol.Party]*protocol.Sender), []protocol.Message(nil)
	for _, l := range p.lines {
		if mouths[l.From] == nil {
			mouths[l.From] = &protocol.Sender{Party: l.From}
		}
		said = append(said, mouths[l.From].NewMessage(l.At, l.To, l.Body))
	}
	return said
}

func jobAt(k int, at protocol.Time) protocol.Job {
	j := protocol.Job{
		ID: protocol.JobID(fmt.Sprintf("job-%05d", k)), Tenant: fmt.Sprintf("team-%c", 'a'+k%5), Home: SiteNames[k%3],
		GPUs: 1 + k%4, Share: 1000, CPU: 8000, Memory: 4096, Arrival: at, Run: 30 * time.Minute,
		Deadline: at.Add(8 * time.Hour), Urgency: protocol.StandardOrNow(k%4 == 3),
	}
	if k == 2 {
		j.ID, j.Tenant = HostileText, string(HostileText)
	}
	if k%9 == 8 {
		j.Regions = []string{"warsaw"}
	}
	return j
}

// addRound is a round of one job.
func (p *runBuilder) addRound(j protocol.Job, at protocol.Time, hold bool) {
	p.round++
	round, w := p.round, protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}
	p.addMessage(at, protocol.Coordinator, "", protocol.CallForBids{Round: round, Closes: at.Add(2 * time.Second), Jobs: []protocol.Job{j}, Weights: w})
	best, site := protocol.BidOption{}, ""
	for i, name := range SiteNames {
		o := p.bidsOfSite(j, i, round, at.Add(300*time.Millisecond))
		if o.Finish != 0 && (site == "" || w.CostOf(j, o, 0).Total() < w.CostOf(j, best, 0).Total()) {
			best, site = o, name
		}
	}
	said := at.Add(time.Second)
	if hold {
		p.addMessage(said, protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: round, Job: j.ID, Until: at.Add(time.Hour), Site: site,
			Start: at.Add(time.Hour), Why: protocol.Reason{Code: protocol.CheaperLater}})
		return
	}
	cost := w.CostOf(j, best, 0).Total()
	p.addMessage(said, protocol.Coordinator, protocol.AgentParty(site), protocol.Award{Round: round, Job: j.ID, Epoch: 1, Option: best, Lease: said.Add(time.Minute),
		Why: protocol.Reason{Code: protocol.Cheapest}, Proof: protocol.Certificate{Primal: cost, Bound: cost, Jobs: 1}})
	p.addRun(j, best, site, said)
}

// bidsOfSite says what a site offers: one option at once, or why none.
func (p *runBuilder) bidsOfSite(j protocol.Job, i int, round uint64, at protocol.Time) (o protocol.BidOption) {
	menu := protocol.JobBids{Job: j.ID}
	if len(j.Regions) > 0 && j.Regions[0] != SiteNames[i] {
		menu.Why = protocol.Reason{Code: protocol.NotAllowed}
	} else {
		kwh := int64(j.GPUs)
		o = protocol.BidOption{Start: at.Add(2 * time.Second), Finish: at.Add(2*time.Second + j.Run), Model: "A100",
			Energy: protocol.Millijoules(kwh * 1_800_000_000), Carbon: protocol.Milligrams(kwh * intensities[i] * 500), Money: protocol.Microdollars(kwh * int64(30_000+9000*i))}
		menu.Options = []protocol.BidOption{o}
	}
	grid := protocol.GridForecast{From: at.Floor(time.Hour)}
	for h := range 24 {
		hour := int64(grid.From.StdTime().Hour()+h) % 24
		grid.Price = append(grid.Price, protocol.Microdollars(40_000+1000*((hour*7)%23)))
		grid.Carbon = append(grid.Carbon, protocol.Milligrams(1000*intensities[i]*(80+(hour*5)%40)/100))
		grid.PUE = append(grid.PUE, 1200)
	}
	p.addMessage(at, protocol.AgentParty(SiteNames[i]), protocol.Coordinator, protocol.Bids{Round: round, Jobs: []protocol.JobBids{menu}, Grid: grid})
	return o
}

// addRun plays the site and its hands.
func (p *runBuilder) addRun(j protocol.Job, o protocol.BidOption, site string, at protocol.Time) {
	agent, hands := protocol.AgentParty(site), protocol.ExecutorParty(site)
	began, ended := at.Add(3*time.Second), at.Add(3*time.Second+j.Run)
	p.addMessage(at.Add(200*time.Millisecond), agent, protocol.Coordinator, protocol.Accept{Job: j.ID, Epoch: 1, Start: o.Start})
	p.addMessage(began, agent, hands, protocol.Launch{Job: j, Epoch: 1, Node: site + "-1", Devices: []int{0}, Model: "A100", Run: j.Run, Power: 400_000})
	p.addMessage(began, hands, agent, protocol.Started{Job: j.ID, Epoch: 1})
	bill := protocol.Usage{IT: o.Energy * 9 / 10, Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: ended}
	p.addMessage(ended, hands, agent, protocol.Finished{Job: j.ID, Epoch: 1, Draw: []protocol.HourlyEnergy{{Hour: began.Floor(time.Hour), Energy: bill.IT}}})
	p.addMessage(ended, agent, protocol.Coordinator, protocol.UsageReport{Job: j.ID, Epoch: 1, Started: began, Ended: ended, Node: site + "-1", Devices: []int{0},
		IT: bill.IT, Energy: bill.Energy, Carbon: bill.Carbon, Money: bill.Money})
	p.addMessage(ended, protocol.Coordinator, "", protocol.Settlement{Job: j.ID, Site: site, Payer: j.Tenant, Paid: o.Money, BidFor: bill, Counted: bill})
}
