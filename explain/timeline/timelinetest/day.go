// Package timelinetest makes up a run to look at in tests: messages as a federation
// says them, of any length, with names that mean harm.
package timelinetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Midnight is when a made-up run begins.
const Midnight protocol.Time = 1_773_187_200_000 // 2026-03-11T00:00:00Z

// Evil is the name of the third job: markup, a script, quotes, and characters
// that turn text around or move a cursor.
const Evil protocol.JobID = "</script><img src=x onerror=alert(1)>\u202e\x1b[2J\"'&"

// Sites are the sites of a made-up run.
var Sites = []string{"lyon", "oslo", "warsaw"}

// intensities are grams of CO2 per kWh at midnight, by site.
var intensities = []int64{60, 25, 640}

// A play is a made-up run while it is written: what is said, in any order.
type play struct {
	lines []line
	round uint64
}

type line struct {
	at       protocol.Time
	from, to protocol.Party
	body     protocol.Body
}

func (p *play) say(at protocol.Time, from, to protocol.Party, body protocol.Body) {
	p.lines = append(p.lines, line{at, from, to, body})
}

// Day returns the messages of a run of so many jobs that arrive one after
// another in gap. Every fourth is held for an hour first, every ninth cannot
// leave Warsaw, and the third is named Evil.
func Day(jobs int, gap time.Duration) []protocol.Message {
	p := new(play)
	for i, site := range Sites {
		p.say(Midnight, protocol.Agent(site), protocol.Coordinator, protocol.Hello{Site: site,
			Pools: []protocol.Pool{{Model: "A100", Nodes: 4, GPUs: 32, CPU: 256_000, Memory: 1 << 20}}})
		for h := range 2 + int(time.Duration(jobs)*gap/time.Hour) {
			hour := Midnight.Add(time.Duration(h) * time.Hour)
			p.say(hour.Add(time.Hour+time.Second), protocol.Agent(site), protocol.Coordinator, protocol.Meter{Hour: hour, Total: 7_200_000_000,
				Idle: protocol.Bill{IT: 3_600_000_000, Energy: 4_000_000_000, Carbon: protocol.Milligrams(intensities[i] * 1111), Money: 50_000}})
		}
	}
	for k := range jobs {
		j, held := job(k, Midnight.Add(time.Minute+time.Duration(k)*gap)), k%4 == 3
		p.say(j.Arrival, protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		p.clear(j, j.Arrival.Add(time.Second), held)
		if held {
			p.clear(j, j.Arrival.Add(time.Hour), false)
		}
	}
	slices.SortStableFunc(p.lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	mouths, said := make(map[protocol.Party]*protocol.Mouth), []protocol.Message(nil)
	for _, l := range p.lines {
		if mouths[l.from] == nil {
			mouths[l.from] = &protocol.Mouth{Who: l.from}
		}
		said = append(said, mouths[l.from].Say(l.at, l.to, l.body))
	}
	return said
}

func job(k int, at protocol.Time) protocol.Job {
	j := protocol.Job{
		ID: protocol.JobID(fmt.Sprintf("job-%05d", k)), Tenant: fmt.Sprintf("team-%c", 'a'+k%5), Home: Sites[k%3],
		GPUs: 1 + k%4, Share: 1000, CPU: 8000, Memory: 4096, Arrival: at, Run: 30 * time.Minute,
		Deadline: at.Add(8 * time.Hour), Deferrable: k%4 == 3,
	}
	if k == 2 {
		j.ID, j.Tenant = Evil, string(Evil)
	}
	if k%9 == 8 {
		j.Regions = []string{"warsaw"}
	}
	return j
}

// clear is a round of one job.
func (p *play) clear(j protocol.Job, at protocol.Time, hold bool) {
	p.round++
	round, w := p.round, protocol.Weights{Carbon: 100_000, Delay: 1_000_000, Late: 10_000_000}
	p.say(at, protocol.Coordinator, "", protocol.Call{Round: round, Closes: at.Add(2 * time.Second), Jobs: []protocol.Job{j}, Terms: w})
	best, site := protocol.Option{}, ""
	for i, name := range Sites {
		o := p.offer(j, i, round, at.Add(300*time.Millisecond))
		if o.Finish != 0 && (site == "" || w.Of(j, o, 0).Total() < w.Of(j, best, 0).Total()) {
			best, site = o, name
		}
	}
	said := at.Add(time.Second)
	if hold {
		p.say(said, protocol.Coordinator, protocol.Submitter, protocol.Hold{Round: round, Job: j.ID, Until: at.Add(time.Hour), Site: site,
			Start: at.Add(time.Hour), Why: protocol.Reason{Code: protocol.CheaperLater}})
		return
	}
	cost := w.Of(j, best, 0).Total()
	p.say(said, protocol.Coordinator, protocol.Agent(site), protocol.Award{Round: round, Job: j.ID, Epoch: 1, Option: best, Lease: said.Add(time.Minute),
		Why: protocol.Reason{Code: protocol.Cheapest}, Proof: protocol.Certificate{Primal: cost, Bound: cost, Jobs: 1}})
	p.run(j, best, site, said)
}

// offer says what a site offers: one option at once, or why none.
func (p *play) offer(j protocol.Job, i int, round uint64, at protocol.Time) (o protocol.Option) {
	menu := protocol.Menu{Job: j.ID}
	if len(j.Regions) > 0 && j.Regions[0] != Sites[i] {
		menu.Why = protocol.Reason{Code: protocol.NotAllowed}
	} else {
		kwh := int64(j.GPUs)
		o = protocol.Option{Start: at.Add(2 * time.Second), Finish: at.Add(2*time.Second + j.Run), Model: "A100",
			Energy: protocol.Millijoules(kwh * 1_800_000_000), Carbon: protocol.Milligrams(kwh * intensities[i] * 500), Money: protocol.Microdollars(kwh * int64(30_000+9000*i))}
		menu.Options = []protocol.Option{o}
	}
	grid := protocol.Outlook{From: at.Floor(time.Hour)}
	for h := range 24 {
		hour := int64(grid.From.Go().Hour()+h) % 24
		grid.Price = append(grid.Price, protocol.Microdollars(40_000+1000*((hour*7)%23)))
		grid.Carbon = append(grid.Carbon, protocol.Milligrams(1000*intensities[i]*(80+(hour*5)%40)/100))
		grid.PUE = append(grid.PUE, 1200)
	}
	p.say(at, protocol.Agent(Sites[i]), protocol.Coordinator, protocol.Offer{Round: round, Jobs: []protocol.Menu{menu}, Grid: grid})
	return o
}

// run plays the site and its hands.
func (p *play) run(j protocol.Job, o protocol.Option, site string, at protocol.Time) {
	agent, hands := protocol.Agent(site), protocol.Hands(site)
	began, ended := at.Add(3*time.Second), at.Add(3*time.Second+j.Run)
	p.say(at.Add(200*time.Millisecond), agent, protocol.Coordinator, protocol.Accept{Job: j.ID, Epoch: 1, Start: o.Start})
	p.say(began, agent, hands, protocol.Launch{Job: j, Epoch: 1, Node: site + "-1", Devices: []int{0}, Model: "A100", Run: j.Run, Power: 400_000})
	p.say(began, hands, agent, protocol.Started{Job: j.ID, Epoch: 1})
	bill := protocol.Bill{IT: o.Energy * 9 / 10, Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: ended}
	p.say(ended, hands, agent, protocol.Exited{Job: j.ID, Epoch: 1, Draw: []protocol.Slice{{Hour: began.Floor(time.Hour), Energy: bill.IT}}})
	p.say(ended, agent, protocol.Coordinator, protocol.Done{Job: j.ID, Epoch: 1, Started: began, Ended: ended, Node: site + "-1", Devices: []int{0},
		IT: bill.IT, Energy: bill.Energy, Carbon: bill.Carbon, Money: bill.Money})
	p.say(ended, protocol.Coordinator, "", protocol.Settled{Job: j.ID, Site: site, Payer: j.Tenant, Paid: o.Money, BidFor: bill, Counted: bill})
}
