package history

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// noon is when the runs of these tests begin.
const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

func at(d time.Duration) protocol.Time { return noon.Add(d) }

var weights = protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}

// A stage is a run being said.
type stage struct {
	now    protocol.Time
	mouths map[protocol.Party]*protocol.Sender
	said   []protocol.Message
	hours  map[string]map[protocol.Time]protocol.Millijoules // drawn by jobs
	epoch  uint64
}

func (s *stage) say(who, to protocol.Party, body protocol.Body) {
	if s.mouths == nil {
		s.mouths = make(map[protocol.Party]*protocol.Sender)
	}
	if s.mouths[who] == nil {
		s.mouths[who] = &protocol.Sender{Party: who}
	}
	s.said = append(s.said, s.mouths[who].NewMessage(s.now, to, body))
}

func (s *stage) hello(sites ...string) {
	for _, name := range sites {
		s.say(protocol.AgentParty(name), protocol.Coordinator, protocol.RegisterSite{Site: name, Pools: []protocol.Pool{
			{Model: "V100", Nodes: 2, GPUs: 4, CPU: 64_000, Memory: 1 << 18},
		}})
	}
}

func (s *stage) submit(j protocol.Job) {
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
}

func (s *stage) call(round uint64, jobs ...protocol.Job) {
	s.say(protocol.Coordinator, "", protocol.CallForBids{
		Round: round, Closes: s.now.Add(time.Second), Jobs: jobs, Weights: weights,
		ShadowPrices: []protocol.ShadowPrice{{Site: "oslo", Model: "V100", From: noon, Slot: time.Hour, Values: []protocol.Microdollars{36_000, 0}}},
	})
}

func (s *stage) offer(site string, round uint64, menus ...protocol.JobBids) {
	s.say(protocol.AgentParty(site), protocol.Coordinator, protocol.Bids{Round: round, Jobs: menus})
}

func (s *stage) award(site string, round uint64, j protocol.Job, o protocol.BidOption) uint64 {
	s.epoch++
	s.say(protocol.Coordinator, protocol.AgentParty(site), protocol.Award{
		Round: round, Job: j.ID, Epoch: s.epoch, Option: o, Why: protocol.Reason{Code: protocol.Cheapest},
		Proof: protocol.Certificate{Primal: 110, Bound: 100, Jobs: 1},
	})
	return s.epoch
}

// run plays an accepted award from launch to settlement, and moves the clock
// to its end. The facility adds a tenth, a kWh costs 0.05 dollars and 200 g.
func (s *stage) run(site, node string, devices []int, j protocol.Job, epoch uint64, o protocol.BidOption, took time.Duration) {
	agent, hands := protocol.AgentParty(site), protocol.ExecutorParty(site)
	s.say(agent, protocol.Coordinator, protocol.Accept{Job: j.ID, Epoch: epoch, Start: o.Start})
	s.say(agent, hands, protocol.Launch{Job: j, Epoch: epoch, Node: node, Devices: devices, Model: o.Model, Run: took})
	s.say(hands, agent, protocol.Started{Job: j.ID, Epoch: epoch})
	began := s.now
	s.now = s.now.Add(took)
	draw, it := s.draw(site, began, s.now)
	s.say(hands, agent, protocol.Finished{Job: j.ID, Epoch: epoch, Draw: draw})
	bill := protocol.Usage{IT: it, Energy: it * 11 / 10, Finish: s.now}
	bill.Carbon = protocol.Milligrams(int64(bill.Energy) * 200_000 / 3_600_000_000)
	bill.Money = protocol.Microdollars(int64(bill.Energy) * 50_000 / 3_600_000_000)
	s.say(agent, protocol.Coordinator, protocol.UsageReport{
		Job: j.ID, Epoch: epoch, Started: began, Ended: s.now, Node: node, Devices: devices,
		IT: bill.IT, Energy: bill.Energy, Carbon: bill.Carbon, Money: bill.Money,
	})
	s.say(protocol.Coordinator, "", protocol.Settlement{
		Job: j.ID, Site: site, Payer: j.Tenant, Paid: bill.Money, Counted: bill, Late: s.now > j.Deadline,
		BidFor: protocol.Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: o.Finish},
	})
}

// draw splits 300 W over the hours of a run.
func (s *stage) draw(site string, from, to protocol.Time) (draw []protocol.HourlyEnergy, sum protocol.Millijoules) {
	if s.hours == nil {
		s.hours = make(map[string]map[protocol.Time]protocol.Millijoules)
	}
	if s.hours[site] == nil {
		s.hours[site] = make(map[protocol.Time]protocol.Millijoules)
	}
	for h := from.Floor(time.Hour); h < to; h = h.Add(time.Hour) {
		e := 300 * protocol.Millijoules(min(to, h.Add(time.Hour))-max(from, h))
		draw = append(draw, protocol.HourlyEnergy{Hour: h, Energy: e})
		s.hours[site][h] += e
		sum += e
	}
	return draw, sum
}

// meter says what each site drew in each hour until now: 100 W idle.
func (s *stage) meter(sites ...string) {
	for _, name := range sites {
		for h := noon; h < s.now; h = h.Add(time.Hour) {
			idle := protocol.Usage{IT: 360_000_000, Energy: 396_000_000, Carbon: 22_000, Money: 5_500}
			s.say(protocol.AgentParty(name), protocol.Coordinator, protocol.SiteUsage{
				Hour: h, Total: idle.IT + s.hours[name][h], Idle: idle,
			})
		}
	}
}

func (s *stage) book(cfg Config) *History {
	b := New(cfg)
	for _, m := range s.said {
		b.AddMessage(m)
	}
	return b
}

func job(id protocol.JobID) protocol.Job {
	return protocol.Job{
		ID: id, Tenant: "vision", Home: "oslo", GPUs: 1, Share: 1000, CPU: 8000, Memory: 16_384,
		Arrival: noon, Run: time.Hour, Deadline: at(3 * time.Hour), Urgency: protocol.UrgencyStandard,
	}
}

// option starts a job of an hour some time after noon, for that many dollar
// cents of money and grams of carbon.
func option(start time.Duration, cents, grams int64) protocol.BidOption {
	return protocol.BidOption{
		Start: at(start), Finish: at(start + time.Hour), Model: "V100", Energy: 1_188_000_000,
		Carbon: protocol.Milligrams(grams * 1000), Money: protocol.Microdollars(cents * 10_000),
	}
}

func menu(id protocol.JobID, options ...protocol.BidOption) protocol.JobBids {
	return protocol.JobBids{Job: id, Options: options}
}

func none(id protocol.JobID, code protocol.Code) protocol.JobBids {
	return protocol.JobBids{Job: id, Why: protocol.Reason{Code: code}}
}

// twoRounds is a job that is held once and then runs at oslo, where lyon has
// no room and bern is silent.
func twoRounds() *stage {
	s := &stage{now: noon}
	j := job("a")
	s.hello("oslo", "lyon", "bern")
	s.submit(j)
	s.call(1, j)
	s.offer("oslo", 1, menu("a", option(time.Hour, 1, 50), option(0, 2, 100)))
	s.offer("lyon", 1, none("a", protocol.NoCapacity))
	s.now = s.now.Add(time.Second)
	s.say(protocol.Coordinator, protocol.Submitter, protocol.Defer{
		Round: 1, Job: "a", Until: at(time.Hour), Site: "oslo", Start: at(time.Hour), Why: protocol.Reason{Code: protocol.CheaperLater},
	})
	s.now = at(time.Hour)
	s.call(2, j)
	s.offer("lyon", 2, menu("a", option(time.Hour, 3, 300)))
	s.offer("oslo", 2, menu("a", option(time.Hour, 1, 50)))
	epoch := s.award("oslo", 2, j, option(time.Hour, 1, 50))
	s.run("oslo", "n1", []int{0}, j, epoch, option(time.Hour, 1, 50), 66*time.Minute)
	s.meter("oslo", "lyon", "bern")
	return s
}

var nodes = []Node{
	{Site: "oslo", Name: "n1", CPU: 32_000, Memory: 65_536, GPUs: 2, Model: "V100"},
	{Site: "lyon", Name: "n1", CPU: 32_000, Memory: 65_536, GPUs: 2, Model: "V100"},
}
