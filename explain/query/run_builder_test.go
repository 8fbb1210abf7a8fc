package query

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// noon is when the runs of these tests begin.
const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z, a Wednesday

func after(d time.Duration) protocol.Time { return noon.Add(d) }

// A runBuilder builds the messages of a run.
type runBuilder struct {
	now      protocol.Time
	senders  map[protocol.Party]*protocol.Sender
	messages []protocol.Message
	epoch    uint64
}

func (s *runBuilder) addMessage(who, to protocol.Party, body protocol.Body) uint64 {
	if s.senders == nil {
		s.senders = make(map[protocol.Party]*protocol.Sender)
	}
	if s.senders[who] == nil {
		s.senders[who] = &protocol.Sender{Party: who}
	}
	m := s.senders[who].NewMessage(s.now, to, body)
	s.messages = append(s.messages, m)
	return m.Seq
}

func (s *runBuilder) buildDataset() *Dataset {
	l := NewDataset(nil)
	for _, m := range s.messages {
		l.AddMessage(m)
	}
	return l
}

// option starts an hour's run some time after noon, for cents and grams.
func option(start time.Duration, cents, grams int64) protocol.BidOption {
	return protocol.BidOption{
		Start: after(start), Finish: after(start + time.Hour), Model: "V100", Energy: 1_188_000_000,
		Carbon: protocol.Milligrams(grams * 1000), Money: protocol.Microdollars(cents * 10_000),
	}
}

// addOffer answers a round for one job: options, or a reason.
func (s *runBuilder) addOffer(site string, round uint64, id protocol.JobID, why protocol.Code, options ...protocol.BidOption) {
	base := map[string]int64{"oslo": 20, "lyon": 50, "bern": 90}[site]
	grid := protocol.GridForecast{From: s.now.Floor(time.Hour)}
	for h := range int64(24) {
		grid.Carbon = append(grid.Carbon, protocol.Milligrams(1000*(base+(h*7)%24)))
		grid.Price = append(grid.Price, protocol.Microdollars(1000*(100-base+(h*5)%24)))
	}
	s.addMessage(protocol.AgentParty(site), protocol.Coordinator, protocol.Bids{
		Round: round, Grid: grid, Jobs: []protocol.JobBids{{Job: id, Options: options, Why: protocol.Reason{Code: why}}},
	})
}

func (s *runBuilder) addCall(round uint64, jobs ...protocol.Job) {
	s.addMessage(protocol.Coordinator, "", protocol.CallForBids{
		Round: round, Closes: s.now.Add(time.Second), Jobs: jobs,
		Weights: protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000},
	})
}

// addAward gives a job away and plays it to its settlement, some time long.
func (s *runBuilder) addAward(site string, round uint64, j protocol.Job, o protocol.BidOption, node string, devices []int, took time.Duration) {
	s.epoch++
	agent, hands := protocol.AgentParty(site), protocol.ExecutorParty(site)
	s.addMessage(protocol.Coordinator, agent, protocol.Award{
		Round: round, Job: j.ID, Epoch: s.epoch, Option: o, Why: protocol.Reason{Code: protocol.Cheapest}, Proof: protocol.Certificate{Primal: 1, Bound: 1, Jobs: 1},
	})
	s.addMessage(agent, protocol.Coordinator, protocol.Accept{Job: j.ID, Epoch: s.epoch, Start: o.Start})
	if took == 0 {
		return
	}
	s.addMessage(agent, hands, protocol.Launch{Job: j, Epoch: s.epoch, Node: node, Devices: devices, Model: o.Model, Run: took})
	s.addMessage(hands, agent, protocol.Started{Job: j.ID, Epoch: s.epoch})
	began := s.now
	s.now = s.now.Add(took)
	it := protocol.Millijoules(300 * took.Milliseconds())
	s.addMessage(hands, agent, protocol.Finished{Job: j.ID, Epoch: s.epoch, Draw: []protocol.HourlyEnergy{{Hour: began.Floor(time.Hour), Energy: it}}})
	bill := protocol.Usage{IT: it, Energy: it * 11 / 10, Carbon: o.Carbon + 7, Money: o.Money + 3, Finish: s.now}
	s.addMessage(agent, protocol.Coordinator, protocol.UsageReport{
		Job: j.ID, Epoch: s.epoch, Started: began, Ended: s.now, Node: node, Devices: devices,
		IT: it, Energy: bill.Energy, Carbon: bill.Carbon, Money: bill.Money,
	})
	s.addMessage(protocol.Coordinator, "", protocol.Settlement{
		Job: j.ID, Site: site, Payer: j.Tenant, Paid: bill.Money + 11, Counted: bill, Late: s.now > j.Deadline,
		BidFor: protocol.Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: o.Finish},
	})
}

func (s *runBuilder) addMeter(sites ...string) {
	for i, site := range sites {
		for h := noon; h < s.now; h = h.Add(time.Hour) {
			idle := protocol.Usage{IT: 360_000_000, Energy: 396_000_000, Carbon: protocol.Milligrams(22_000 + i), Money: 5_500}
			s.addMessage(protocol.AgentParty(site), protocol.Coordinator, protocol.SiteUsage{Hour: h, Total: idle.IT * 2, Idle: idle})
		}
	}
}

func task(id protocol.JobID, tenant string) protocol.Job {
	return protocol.Job{
		ID: id, Tenant: tenant, Home: "lyon", GPUs: 2, Share: 1000, CPU: 8000, Memory: 16_384,
		Arrival: noon, Run: time.Hour, Deadline: after(3 * time.Hour), Urgency: protocol.UrgencyStandard,
	}
}

func (s *runBuilder) addRegistration(sites ...string) {
	for _, name := range sites {
		s.addMessage(protocol.AgentParty(name), protocol.Coordinator, protocol.RegisterSite{Site: name, Pools: []protocol.Pool{{Model: "V100", Nodes: 2, GPUs: 8, CPU: 64_000, Memory: 1 << 18}}})
	}
}

// day is a run of five jobs at three sites: train-1 is held and then runs at
// oslo; train-2 runs at lyon, late; eval-1 is refused; eval-2 was awarded and
// does not start; eval-3 waits.
func day() *runBuilder {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo", "lyon", "bern")
	one, two := task("train-1", "vision"), task("train-2", "speech")
	three, four, five := task("eval-1", "vision"), task("eval-2", "vision"), task("eval-3", "speech")
	four.Home = ""
	for _, j := range []protocol.Job{one, two, three, four, five} {
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	}
	s.addCall(1, one)
	s.addOffer("oslo", 1, "train-1", "", option(time.Hour, 1, 50), option(0, 2, 100))
	s.addOffer("lyon", 1, "train-1", protocol.NoCapacity)
	s.now = s.now.Add(2 * time.Second)
	s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Defer{
		Round: 1, Job: "train-1", Until: after(time.Hour), Site: "oslo", Start: after(time.Hour), Why: protocol.Reason{Code: protocol.CheaperLater},
	})
	s.addMessage(protocol.Coordinator, protocol.Submitter, protocol.Reject{Job: "eval-1", Why: protocol.Reason{Code: protocol.Malformed}})
	s.now = after(time.Hour)
	s.addCall(2, one)
	s.addOffer("lyon", 2, "train-1", "", option(time.Hour, 3, 30))
	s.addOffer("oslo", 2, "train-1", "", option(time.Hour, 1, 50))
	s.addOffer("bern", 2, "train-1", protocol.NotAllowed)
	s.addAward("oslo", 2, one, option(time.Hour, 1, 50), "o1", []int{0, 1}, 66*time.Minute)
	s.now = after(3 * time.Hour)
	s.addCall(3, two)
	s.addOffer("lyon", 3, "train-2", "", option(3*time.Hour, 4, 40))
	s.addAward("lyon", 3, two, option(3*time.Hour, 4, 40), "l1", []int{0, 1}, 90*time.Minute)
	s.addCall(4, four)
	s.addOffer("bern", 4, "eval-2", "", option(5*time.Hour, 4, 40))
	s.addAward("bern", 4, four, option(5*time.Hour, 4, 40), "b1", nil, 0)
	s.addMeter("oslo", "lyon", "bern")
	return s
}

// addDecision returns the id of the nth decision on a job, found in the messages.
func (s *runBuilder) addDecision(id protocol.JobID, nth int) string {
	for _, m := range s.messages {
		var job protocol.JobID
		switch b := m.Body.(type) {
		case protocol.Award:
			job = b.Job
		case protocol.Defer:
			job = b.Job
		case protocol.Reject:
			job = b.Job
		}
		if job == id {
			if nth--; nth == 0 {
				return fmt.Sprintf("D-%d", m.Seq)
			}
		}
	}
	return ""
}
