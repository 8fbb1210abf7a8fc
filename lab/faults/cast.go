package faults

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
	"github.com/gridbid/gridbid/scenarios/sim/executor"
)

// cast puts two coordinators, a submitter and some sites on stage.
func (p *play) cast() error {
	for _, name := range []string{"coordinator-a", "coordinator-b"} {
		h := p.host(name, protocol.Coordinator, "")
		h.begin = h.stand
		h.start()
	}
	jobs := p.jobs()
	for _, j := range jobs {
		p.oracle.expect(j)
	}
	for i := range p.plan.Sites {
		if err := p.settle(fmt.Sprintf("site-%c", 'a'+i), 1+p.dice.IntN(2)); err != nil {
			return err
		}
	}
	sub := p.host("submitter", protocol.Submitter, "")
	sub.begin = func() {
		s := newSubmitter(jobs, sub.lives)
		sub.machine = s
		p.oracle.submitter = s
	}
	sub.disk = new(file)
	sub.start()
	desk := p.host("desk", protocol.Desk, "")
	desk.begin = func() {} // it only speaks
	mouth := protocol.Mouth{Who: protocol.Desk}
	p.sayGone = func(site string) {
		p.note("an operator says that %s is gone", site)
		p.oracle.gone(site)
		p.send(desk, mouth.Say(p.now, protocol.Coordinator, protocol.Gone{Site: site, By: "ada"}))
	}
	for _, j := range jobs {
		if p.dice.IntN(1000) < p.plan.Cancel {
			p.at(j.Arrival.Add(time.Duration(p.dice.IntN(60_000))*time.Millisecond), func() {
				m := mouth.Say(p.now, protocol.Coordinator, protocol.Cancel{Job: j.ID})
				p.oracle.said(m)
				p.send(desk, m)
			})
		}
	}
	return nil
}

func (p *play) host(name string, who protocol.Party, site string) *host {
	h := &host{play: p, name: name, party: who, site: site}
	if p.plan.Skew > 0 {
		h.skew = (time.Duration(p.dice.Int64N(int64(2*p.plan.Skew))) - p.plan.Skew).Truncate(time.Millisecond)
	}
	p.hosts = append(p.hosts, h)
	return h
}

// jobs draws what is submitted.
func (p *play) jobs() (out []protocol.Job) {
	for i := range p.plan.Jobs {
		arrival := start.Add(time.Duration(p.dice.Int64N(int64(p.plan.Trouble))))
		j := protocol.Job{
			ID: protocol.JobID(fmt.Sprintf("job-%d", i+1)), Tenant: "lab", GPUs: 1 + p.dice.IntN(2), Share: 1000, CPU: 2000, Memory: 1024,
			Arrival: arrival, Run: time.Duration(2+p.dice.IntN(60)) * time.Second,
			Deferrable: p.dice.IntN(3) == 0,
		}
		j.Deadline = arrival.Add(4 * j.Run)
		if p.dice.IntN(20) == 0 {
			j.Models = []string{"H100"} // nobody has one
		}
		out = append(out, j)
	}
	return out
}

// settle puts a site on stage: an agent, and hands in a cluster of their own.
func (p *play) settle(site string, size int) error {
	var nodes []capacity.Node
	for i := range size {
		nodes = append(nodes, capacity.Node{
			Node: fgd.Node{Name: fmt.Sprintf("%s-%d", site, i+1), CPU: 8000, Memory: 64 << 10, GPUs: 2, Model: "V100"}, Host: power.DefaultHost(2),
		})
	}
	p.oracle.nodes(nodes)
	if _, err := capacity.New(capacity.Config{Nodes: nodes, Power: power.Default()}); err != nil {
		return err
	}
	h := p.host("hands/"+site, protocol.Hands(site), site)
	cluster := new(file)
	h.disk = cluster
	h.begin = func() {
		w := sim.NewHands(site, nodes, power.Default(), start.Add(-time.Hour), nil)
		s := executor.Simulate(site, w)
		for _, f := range cluster.facts {
			_ = s.Restore(f) // never fails
		}
		s.Begin(h.lives)
		h.machine = s
		if p.plan.Bug == NoFencing {
			h.machine = &unfenced{Simulated: s}
		}
		p.oracle.cluster(site, w, h)
	}
	a := p.host("agent/"+site, protocol.Agent(site), site)
	journal := new(file)
	a.disk = journal
	a.begin = func() { a.machine = p.agent(a, site, nodes, journal) }
	h.start()
	a.start()
	return nil
}

// agent begins a life of a site's agent, from its journal. Its grid is known to
// it at once.
func (p *play) agent(h *host, site string, nodes []capacity.Node, journal *file) bus.Machine {
	f, err := capacity.New(capacity.Config{Nodes: nodes, Power: power.Default()})
	if err != nil {
		p.broken("a fleet that was made once cannot be made again: %v", err)
		return nil
	}
	known := forecast.New(forecast.Config{})
	for what, value := range map[protocol.Quantity]int64{protocol.GridPrice: 50_000, protocol.GridCarbon: 200_000, protocol.GridPUE: 1100} {
		s := protocol.Signal{What: what}
		for hour := range 48 {
			s.Points = append(s.Points, protocol.Point{At: start.Add(time.Duration(hour-24) * time.Hour), Value: value})
		}
		known.Hear(h.clock(), s)
	}
	a := agents.New(agents.Config{Site: site, Strategy: agents.DefaultStrategy(false)}, f, known)
	for _, m := range journal.facts {
		if err := a.Restore(m); err != nil {
			p.broken("%s cannot be restored: %v", h.name, err)
		}
	}
	var kept []protocol.Message
	for _, m := range journal.facts {
		if a.Needs(m) {
			kept = append(kept, m)
		}
	}
	journal.facts = kept
	a.Begin(h.lives)
	if p.plan.Bug == Unconfirmed {
		return &hasty{Agent: a, n: uint64(h.lives) << 45}
	}
	return a
}

// unfenced are hands that run whatever they are told, as if it were new.
type unfenced struct {
	*executor.Simulated
	n uint64
}

func (u *unfenced) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if l, ok := m.Body.(protocol.Launch); ok {
		u.n++
		l.Epoch += 1000 * u.n
		m.Body = l
	}
	return u.Simulated.Step(now, m)
}

// A hasty agent takes its own accept as confirmed.
type hasty struct {
	*agents.Agent
	ears  protocol.Ears
	n     uint64
	facts []protocol.Message
}

func (a *hasty) Facts() []protocol.Message { return a.facts }

func (a *hasty) Tick(now protocol.Time) []protocol.Message {
	said := a.Agent.Tick(now)
	a.facts = append(a.facts[:0], a.Agent.Facts()...)
	return said
}

func (a *hasty) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	a.facts = a.facts[:0]
	if m.From == protocol.Coordinator {
		if !a.ears.New(m) {
			return nil
		}
		a.n++
		m.Seq = a.n
	}
	said := a.Agent.Step(now, m)
	a.facts = append(a.facts, a.Agent.Facts()...)
	for _, s := range said {
		if x, ok := s.Body.(protocol.Accept); ok {
			a.n++
			said = append(said, a.Agent.Step(now, protocol.Message{
				Version: protocol.Current, At: now, From: protocol.Coordinator, Seq: a.n, To: s.From,
				Body: protocol.Confirm{Job: x.Job, Epoch: x.Epoch, Code: protocol.Stands},
			})...)
			a.facts = append(a.facts, a.Agent.Facts()...)
		}
	}
	return said
}
