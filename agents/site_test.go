package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

var weights = protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}

// A site is the agent of oslo with the senders of all parties around it.
type site struct {
	*testing.T
	agent                    *Agent
	now                      protocol.Time
	market, executor, source protocol.Sender
	rounds                   uint64
}

// newSite returns a site of nodes with so many V100s each, whose power costs a
// flat 10 cents and 500 g for a kWh, and whose building adds a fifth.
func newSite(t *testing.T, strategy BidStrategy, gpus ...int) *site {
	s := newDarkSite(t, strategy, gpus...)
	s.signalFlat()
	return s
}

// signalFlat signals the constant grid of newSite.
func (s *site) signalFlat() {
	for what, value := range map[protocol.Quantity]int64{protocol.GridPrice: 100_000, protocol.GridCarbon: 500_000, protocol.GridPUE: 1200} {
		s.signal(what, value, value, value, value)
	}
}

// newDarkSite returns a site without grid signals.
func newDarkSite(t *testing.T, strategy BidStrategy, gpus ...int) *site {
	var nodes []capacity.Node
	for i, n := range gpus {
		nodes = append(nodes, capacity.Node{
			Node: fgd.Node{Name: string(rune('a' + i)), CPU: 64_000, Memory: 256 << 10, GPUs: n, Model: "V100"}, Host: power.DefaultHost(n),
		})
	}
	return newSiteOf(t, strategy, nodes)
}

func newSiteOf(t *testing.T, strategy BidStrategy, nodes []capacity.Node) *site {
	f, err := capacity.New(capacity.Config{Nodes: nodes, Power: power.DefaultTable()})
	if err != nil {
		t.Fatal(err)
	}
	return &site{
		T: t, now: noon, agent: New(Config{Site: "oslo", Strategy: strategy}, f, forecast.New(forecast.Config{})),
		market: protocol.Sender{Party: protocol.Coordinator}, executor: protocol.Sender{Party: "hands/oslo"}, source: protocol.Sender{Party: "feed/oslo"},
	}
}

// signal sends values of a quantity from the current hour on.
func (s *site) signal(what protocol.Quantity, values ...int64) {
	sig := protocol.Signal{What: what}
	for i, v := range values {
		sig.Points = append(sig.Points, protocol.Point{At: s.now.Floor(time.Hour).Add(time.Duration(i) * time.Hour), Value: v})
	}
	s.agent.Step(s.now, s.source.NewMessage(s.now, "agent/oslo", sig))
}

// call sends a call for bids, and returns the bids.
func (s *site) call(jobs ...protocol.Job) []protocol.JobBids {
	s.Helper()
	return s.offer(protocol.CallForBids{Jobs: jobs, Weights: weights}).Jobs
}

func (s *site) offer(c protocol.CallForBids) protocol.Bids {
	s.Helper()
	s.rounds++
	c.Round = s.rounds
	sent := s.agent.Step(s.now, s.market.NewMessage(s.now, "", c))
	if len(sent) != 1 || sent[0].To != protocol.Coordinator {
		s.Fatalf("sent %v to a call", sent)
	}
	o := sent[0].Body.(protocol.Bids)
	if o.Round != c.Round {
		s.Fatalf("round %d was answered as %d", c.Round, o.Round)
	}
	return o
}

// award awards the site a job by its first option, and returns what it sends.
func (s *site) award(j protocol.Job, epoch uint64, queue bool) []protocol.Message {
	s.Helper()
	m := s.call(j)[0]
	if len(m.Options) == 0 {
		s.Fatalf("no option for %s: %v", j.ID, m.Why)
	}
	return s.give(protocol.Award{Job: j.ID, Epoch: epoch, Option: m.Options[0], MayQueue: queue, Lease: s.now.Add(10 * time.Second)})
}

// give sends an award, and confirms the Accept if there is one.
func (s *site) give(a protocol.Award) []protocol.Message {
	sent := s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", a))
	for _, m := range sent {
		if x, ok := m.Body.(protocol.Accept); ok {
			sent = append(sent, s.confirm(x.Job, x.Epoch, protocol.AcceptConfirmed)...)
		}
	}
	return sent
}

// confirm sends a Confirm of the coordinator.
func (s *site) confirm(id protocol.JobID, epoch uint64, c protocol.Code) []protocol.Message {
	return s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Confirm{Job: id, Epoch: epoch, Code: c}))
}

// exit sends the executor's report that a job ended.
func (s *site) exit(id protocol.JobID, epoch uint64, draw ...protocol.HourlyEnergy) []protocol.Message {
	return s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: id, Epoch: epoch, Draw: draw}))
}

// bodies returns the bodies of messages.
func bodies(ms []protocol.Message) (out []protocol.Body) {
	for _, m := range ms {
		out = append(out, m.Body)
	}
	return out
}

// launched returns which jobs are launched in ms, in order.
func launched(ms []protocol.Message) (ids string) {
	for _, m := range ms {
		if l, ok := m.Body.(protocol.Launch); ok {
			ids += string(l.Job.ID) + " "
		}
	}
	return ids
}

func job(id protocol.JobID, gpus int) protocol.Job {
	j := protocol.Job{
		Urgency: protocol.UrgencyNow, ID: id, Tenant: "lab", Home: "oslo", GPUs: gpus, Share: 1000, CPU: 4000, Memory: 1 << 10,
		Arrival: noon, Run: time.Hour, Deadline: noon.Add(8 * time.Hour),
	}
	if gpus == 0 {
		j.Share = 0
	}
	return j
}
