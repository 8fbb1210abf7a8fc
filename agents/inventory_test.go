package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// unknown returns an agent that knows no node of its site yet.
func unknown(t *testing.T) (*Agent, *protocol.Sender) {
	f, err := capacity.New(capacity.Config{Power: power.DefaultTable()})
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Site: "oslo"}, f, forecast.New(forecast.Config{})), &protocol.Sender{Party: "hands/oslo"}
}

func inventory(names ...string) protocol.Inventory {
	var v protocol.Inventory
	for _, n := range names {
		v.Nodes = append(v.Nodes, protocol.Node{Name: n, Model: "V100", GPUs: 4, CPU: 32_000, Memory: 1 << 17})
	}
	return v
}

func TestSiteRegistersWhenItsNodesAreKnownOrChange(t *testing.T) {
	a, executor := unknown(t)
	if a.Due() != 0 || len(a.Tick(noon)) != 0 {
		t.Error("a site without nodes introduces itself")
	}
	a.Step(noon, executor.NewMessage(noon, "agent/oslo", inventory("n1")))
	if a.Due() != 1 {
		t.Fatalf("due %v", a.Due())
	}
	if h, ok := a.Tick(noon)[0].Body.(protocol.RegisterSite); !ok || h.Pools[0].GPUs != 4 {
		t.Errorf("sent %+v", h)
	}
	sent := a.Step(noon, executor.NewMessage(noon, "agent/oslo", inventory("n1", "n2")))
	if h, ok := sent[0].Body.(protocol.RegisterSite); !ok || h.Pools[0].GPUs != 8 {
		t.Errorf("sent %+v to a second node", sent)
	}
	if sent := a.Step(noon, executor.NewMessage(noon, "agent/oslo", inventory("n1", "n2"))); len(sent) != 0 {
		t.Errorf("sent %v to what it knows", sent)
	}
}

// A restarted agent gets a message about one job before its inventory: the other jobs keep their
// reservations.
func TestQueueWaitsForTheInventory(t *testing.T) {
	s := newSite(t, eager, 4)
	var events []protocol.Message
	step := func(b protocol.Body) []protocol.Message {
		sent := s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", b))
		events = append(events, s.agent.Events()...)
		return sent
	}
	for _, id := range []protocol.JobID{"large", "next", "third"} {
		o := s.call(job(id, 4))[0].Options[0]
		step(protocol.Award{Job: id, Epoch: 1, Option: o, MayQueue: true, Lease: s.now.Add(10 * time.Second)})
		step(protocol.Confirm{Job: id, Epoch: 1, Code: protocol.AcceptConfirmed})
	}
	s.agent, s.executor = newSiteOf(t, eager, nil).agent, protocol.Sender{Party: "hands/oslo", Incarnation: 2}
	for _, m := range events {
		if err := s.agent.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	s.agent.BeginIncarnation(2)
	sent := bodies(step(protocol.Cancel{Job: "third", Epoch: 1}))
	if want := (protocol.Decline{Job: "third", Epoch: 1, Why: protocol.Reason{Code: protocol.Cancelled}}); len(sent) != 1 || sent[0] != want {
		t.Errorf("asked to cancel one job it sends %+v", sent)
	}
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", inventory("a")))
	s.agent.Tick(s.now)
	if s.agent.queueIndex("next") < 0 || s.agent.fleet.RunOf("large") == nil {
		t.Error("what waited or ran is not here any more")
	}
	s.now = s.now.Add(time.Hour)
	if got := launched(s.exit("large", 1)); got != "next " {
		t.Errorf("launched %q", got)
	}
}

// A site may have no node for long. A restarted agent there still retransmits its reports and
// declines, and queries its executor once it knows its nodes.
func TestUsageReportsDoNotWaitForTheInventory(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	var events []protocol.Message
	hear := func(m protocol.Message) {
		s.agent.Step(s.now, m)
		events = append(events, s.agent.Events()...)
	}
	for _, id := range []protocol.JobID{"ended", "runs"} {
		o := s.call(job(id, 1))[0].Options[0]
		hear(s.market.NewMessage(s.now, "agent/oslo", protocol.Award{Job: id, Epoch: 1, Option: o, Lease: s.now.Add(10 * time.Second)}))
		hear(s.market.NewMessage(s.now, "agent/oslo", protocol.Confirm{Job: id, Epoch: 1, Code: protocol.AcceptConfirmed}))
		hear(s.executor.NewMessage(s.now, "agent/oslo", protocol.Started{Job: id, Epoch: 1}))
	}
	hear(s.executor.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: "ended", Epoch: 1}))
	s.agent = newSiteOf(t, MarginalCost{}, nil).agent
	for _, m := range events {
		if err := s.agent.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	s.agent.BeginIncarnation(2)
	for range 3 {
		due := s.agent.Due()
		if due == 0 {
			t.Fatal("a site that has no node sends nothing of what it owes")
		}
		s.now = max(s.now, due)
		sent := bodies(s.agent.Tick(s.now))
		if d, ok := sent[0].(protocol.UsageReport); len(sent) != 1 || !ok || d.Job != "ended" || s.agent.Due() <= s.now {
			t.Fatalf("sent %+v, and is due at %v again", sent, s.agent.Due())
		}
	}
	s.now = s.now.Add(time.Minute)
	s.agent.Step(s.now, protocol.Message{At: s.now, From: "hands/oslo", Seq: 1 << 41, Body: inventory("a")})
	if sent := s.agent.Tick(s.now); launched(sent) != "runs " || len(sent) != 3 {
		t.Errorf("when the nodes are known it sends %+v; want a registration, the report and the launch of what runs", bodies(sent))
	}
}

func TestRunsFoundAtTheExecutorAreAdopted(t *testing.T) {
	a, executor := unknown(t)
	v := inventory("n1")
	v.Held = []protocol.FoundRunning{{Since: noon.Add(-time.Hour), Launch: protocol.Launch{
		Job: protocol.Job{Urgency: protocol.UrgencyNow, ID: "train", GPUs: 1, Share: 1000, Run: time.Hour}, Epoch: 4, Node: "n1", Devices: []int{3}, Model: "V100", Run: 2 * time.Hour}}}
	a.Step(noon, executor.NewMessage(noon, "agent/oslo", v))
	sent := a.Step(noon, executor.NewMessage(noon, "agent/oslo", protocol.Finished{Job: "train", Epoch: 4, Failed: "exit code 1"}))
	d, ok := sent[0].Body.(protocol.UsageReport)
	if !ok || d.Started != noon.Add(-time.Hour) || d.Node != "n1" || d.Devices[0] != 3 || d.Failed != "exit code 1" {
		t.Errorf("sent %+v", sent)
	}
}

// After a refusal by its cluster the site does not bid for the job for a while; after the loss of
// a node it does.
func TestInterruptedJobGoesBackToTheMarket(t *testing.T) {
	for _, c := range []protocol.Code{protocol.ClusterRefused, protocol.NotStarted, protocol.Evicted, protocol.NodeLost, protocol.TakenOver} {
		t.Run(string(c), func(t *testing.T) { losing(t, c, c == protocol.ClusterRefused || c == protocol.NotStarted) })
	}
}

func losing(t *testing.T, code protocol.Code, rests bool) {
	a, executor := unknown(t)
	v := inventory("n1")
	job := protocol.Job{Urgency: protocol.UrgencyNow, ID: "train", GPUs: 1, Share: 1000, Run: time.Hour, Arrival: noon, Deadline: noon.Add(9 * time.Hour)}
	v.Held = []protocol.FoundRunning{{Since: noon, Launch: protocol.Launch{Job: job, Epoch: 4, Node: "n1", Devices: []int{0}, Model: "V100", Run: time.Hour}}}
	a.Step(noon, executor.NewMessage(noon, "agent/oslo", v))
	lost := protocol.Interrupted{Job: "train", Epoch: 4, Why: protocol.Reason{Code: code}}
	sent := a.Step(noon, executor.NewMessage(noon, "agent/oslo", lost))
	if d, ok := sent[0].Body.(protocol.Decline); !ok || d.Epoch != 4 || d.Why.Code != code || a.fleet.RunOf("train") != nil {
		t.Fatalf("sent %+v", sent)
	}
	if sent := a.Step(noon, executor.NewMessage(noon, "agent/oslo", lost)); len(sent) != 0 {
		t.Errorf("sent %v to what it knows", sent)
	}
	market := protocol.Sender{Party: protocol.Coordinator}
	ask := func(at protocol.Time) protocol.JobBids {
		call := market.NewMessage(at, "", protocol.CallForBids{Round: 1, Jobs: []protocol.Job{job}})
		return a.Step(at, call)[0].Body.(protocol.Bids).Jobs[0]
	}
	if m := ask(noon.Add(time.Minute)); (m.Why.Code == protocol.NoCapacity) != rests {
		t.Errorf("offered %+v a minute after", m)
	}
	if m := ask(noon.Add(rebidBackoff)); m.Why.Code == protocol.NoCapacity {
		t.Errorf("offered %+v when it has rested", m)
	}
}

// A restarted site must not answer that it can never run a job, because the market would reject
// the job.
func TestSiteWithoutInventoryGivesATemporaryReason(t *testing.T) {
	a, _ := unknown(t)
	source, market := protocol.Sender{Party: protocol.SignalParty("oslo")}, protocol.Sender{Party: protocol.Coordinator}
	for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
		var ps []protocol.Point
		for h := range 24 {
			ps = append(ps, protocol.Point{At: noon.Floor(time.Hour).Add(time.Duration(h-23) * time.Hour), Value: 1000})
		}
		a.Step(noon, source.NewMessage(noon, "agent/oslo", protocol.Signal{What: q, Points: ps}))
	}
	job := protocol.Job{Urgency: protocol.UrgencyNow, ID: "train", GPUs: 1, Share: 1000, Run: time.Hour, Arrival: noon, Deadline: noon.Add(9 * time.Hour)}
	sent := a.Step(noon, market.NewMessage(noon, "", protocol.CallForBids{Round: 1, Jobs: []protocol.Job{job}}))
	if m := sent[0].Body.(protocol.Bids).Jobs[0]; m.Why.Code != protocol.NoCapacity {
		t.Errorf("sent %+v", m)
	}
}

// A job that fits only if other schedulers' pods end gets no bid: it might wait here forever, and
// other sites have capacity.
func TestCapacityOfOtherSchedulersIsNotBid(t *testing.T) {
	for name, habit := range map[string]MarginalCost{"plain": {}, "eager": eager} {
		s := newSite(t, habit)
		v := inventory("n1")
		v.Nodes[0].Others = []protocol.Milli{1000}
		s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", v))
		if m := s.call(job("all", 4))[0]; m.Why.Code != protocol.NoCapacity {
			t.Errorf("%s: it offers %+v", name, m)
		}
		if m := s.call(job("rest", 3))[0]; len(m.Options) == 0 {
			t.Errorf("%s: nothing is offered of what is free: %v", name, m.Why)
		}
	}
}

// When other schedulers free capacity the site registers only if a job lacked it: pods come and go
// all the time.
func TestSiteRegistersWhenOtherSchedulersFreeNeededCapacity(t *testing.T) {
	s := newSite(t, MarginalCost{})
	hold := func(milli protocol.Milli) []protocol.Message {
		v := inventory("n1")
		v.Nodes[0].Others = []protocol.Milli{milli}
		return s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", v))
	}
	hold(1000)
	s.agent.Tick(s.now)
	s.confirm("", 0, protocol.Acknowledged)
	if sent := hold(500); len(sent) != 0 {
		t.Errorf("nobody needs what others give back, and it sends %+v", bodies(sent))
	}
	s.call(job("all", 4))
	if sent := hold(1000); len(sent) != 0 {
		t.Errorf("others take more, and it sends %+v", bodies(sent))
	}
	if sent := hold(0); len(sent) != 1 || sent[0].KindName() != "hello" {
		t.Errorf("others give back what a job needs, and it sends %+v", bodies(sent))
	}
	if m := s.call(job("all", 4))[0]; len(m.Options) == 0 {
		t.Errorf("then it offers nothing: %v", m.Why)
	}
}

// An agent whose event log was restored from an older copy may take a running job for queued, or
// its Accept for unconfirmed. The executor's inventory wins: giving the job back would run it
// twice.
func TestRunningJobIsKeptAfterRestoringAnOlderLog(t *testing.T) {
	for name, queued := range map[string]bool{"it waits": true, "its accept is not confirmed": false} {
		s := newSite(t, eager, 4)
		o := s.call(job("train", 4))[0].Options[0]
		if queued {
			o.Start, o.Finish = o.Start.Add(time.Hour), o.Finish.Add(time.Hour)
		}
		var events []protocol.Message
		hear := func(b protocol.Body) {
			s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", b))
			events = append(events, s.agent.Events()...)
		}
		hear(protocol.Award{Job: "train", Epoch: 1, Option: o, MayQueue: queued, NotBeforeStart: true, Lease: s.now.Add(10 * time.Second)})
		if queued {
			hear(protocol.Confirm{Job: "train", Epoch: 1, Code: protocol.AcceptConfirmed})
		}
		s.agent = newSiteOf(t, eager, nil).agent
		for _, m := range events {
			if err := s.agent.Restore(m); err != nil {
				t.Fatal(err)
			}
		}
		s.agent.BeginIncarnation(2)
		s.now = s.now.Add(5 * time.Hour)
		v := inventory("a")
		v.Held = []protocol.FoundRunning{{Since: s.now.Add(-time.Hour), Launch: protocol.Launch{
			Job: job("train", 4), Epoch: 1, Node: "a", Devices: []int{0, 1, 2, 3}, Model: "V100", Run: 9 * time.Hour}}}
		sent := s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", v))
		for range 5 {
			s.now = max(s.now, s.agent.Due())
			sent = append(sent, s.agent.Tick(s.now)...)
		}
		for _, b := range bodies(sent) {
			if d, ok := b.(protocol.Decline); ok {
				t.Errorf("%s: it sends %+v", name, d)
			}
		}
		sent = s.exit("train", 1)
		if len(sent) == 0 || sent[0].KindName() != "done" {
			t.Errorf("%s: after the JobClosed it sends %+v", name, bodies(sent))
		}
	}
}

// An agent that lost its event log does not know what runs before its executor's inventory. Until
// then it must not answer a Cancel with "stopped".
func TestCancelWaitsForTheInventory(t *testing.T) {
	s := newSiteOf(t, MarginalCost{}, nil)
	cancel := func() []protocol.Message {
		return s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Cancel{Job: "train", Epoch: 4}))
	}
	if sent := cancel(); len(sent) != 0 {
		t.Errorf("before it knows what runs it sends %+v", bodies(sent))
	}
	v := inventory("n1")
	v.Held = []protocol.FoundRunning{{Since: noon, Launch: protocol.Launch{
		Job: job("train", 1), Epoch: 4, Node: "n1", Devices: []int{0}, Model: "V100", Run: time.Hour}}}
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", v))
	if sent := cancel(); len(sent) != 1 || sent[0].To != "hands/oslo" {
		t.Errorf("then it sends %+v", bodies(sent))
	}
	s = newSiteOf(t, MarginalCost{}, nil)
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Inventory{}))
	if sent := cancel(); len(sent) != 1 || sent[0].To != protocol.Coordinator {
		t.Errorf("where nothing runs it sends %+v", bodies(sent))
	}
}

// A node whose device plugin restarts has no GPUs for a moment. Its site must not answer that it
// can never run a job, because the market would reject the job.
func TestBriefLossOfGPUsGivesATemporaryReason(t *testing.T) {
	s := newSite(t, MarginalCost{})
	v := inventory("n1")
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", v))
	v.Nodes[0].GPUs = 0
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", v))
	if m := s.call(job("train", 1))[0]; m.Why.Code != protocol.NoCapacity {
		t.Errorf("while its GPUs are gone it sends %+v", m)
	}
	s.now = s.now.Add(nodeLossGrace)
	if m := s.call(job("train", 1))[0]; m.Why.Code != protocol.NoSuchGPU {
		t.Errorf("when they stay away it sends %+v", m)
	}
}

// A restarted agent may learn that a run ended before it has the prices of its hours. It reports
// when it has them, and not at price 0.
func TestUsageIsNotReportedBeforeItsPricesAreKnown(t *testing.T) {
	s := newSiteOf(t, eager, nil)
	v := inventory("n1")
	v.Held = []protocol.FoundRunning{{Since: noon, Launch: protocol.Launch{
		Job: job("train", 1), Epoch: 4, Node: "n1", Devices: []int{0}, Model: "V100", Run: time.Hour}}}
	s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", v))
	draw := protocol.HourlyEnergy{Hour: noon, Energy: 3_600_000_000}
	if sent := s.exit("train", 4, draw); len(sent) != 0 {
		t.Fatalf("of its grid it knows nothing, and sends %+v", bodies(sent))
	}
	asks := func() bool {
		for end := s.now.Add(2 * maxRetryDelay); s.now < end; {
			s.now = max(s.now, s.agent.Due())
			if launched(s.agent.Tick(s.now)) != "" {
				return true
			}
		}
		return false
	}
	s.signal(protocol.GridPrice, 100_000)
	if !asks() || len(s.exit("train", 4, draw)) != 0 {
		t.Fatal("it does not wait for the carbon of an hour")
	}
	s.signal(protocol.GridCarbon, 500_000)
	if !asks() {
		t.Fatal("it does not ask again how the job ended")
	}
	d, ok := s.exit("train", 4, draw)[0].Body.(protocol.UsageReport)
	if !ok || d.Money != 120_000 || d.Carbon != 600_000 {
		t.Errorf("it reports %+v", d)
	}
}

// An agent may be down when a job starts and ends. The times of the run are the executor's, and
// not those of the later messages.
func TestRunDuringAnAgentOutageKeepsItsTimes(t *testing.T) {
	s := newSite(t, eager, 4)
	var events []protocol.Message
	hear := func(b protocol.Body) {
		s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", b))
		events = append(events, s.agent.Events()...)
	}
	o := s.call(job("train", 1))[0].Options[0]
	hear(protocol.Award{Job: "train", Epoch: 1, Option: o, Lease: s.now.Add(10 * time.Second)})
	hear(protocol.Confirm{Job: "train", Epoch: 1, Code: protocol.AcceptConfirmed})
	launch := s.agent.running["train"].launch
	s.agent, s.executor = newSite(t, eager).agent, protocol.Sender{Party: "hands/oslo", Incarnation: 2}
	for _, m := range events {
		if err := s.agent.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	s.agent.BeginIncarnation(2)
	since, ended := s.now.Add(time.Second), s.now.Add(50*time.Minute)
	s.now = s.now.Add(9 * time.Hour) // past its deadline
	v := inventory("a")
	v.Held = []protocol.FoundRunning{{Since: since, Launch: launch}}
	for _, b := range []protocol.Body{v, protocol.Started{Job: "train", Epoch: 1}} {
		s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", b))
	}
	sent := s.agent.Step(s.now, s.executor.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: "train", Epoch: 1, Ended: ended}))
	if len(sent) == 0 {
		t.Fatal("it sends nothing")
	}
	if d, ok := sent[0].Body.(protocol.UsageReport); !ok || d.Started != since || d.Ended != ended {
		t.Errorf("it ran from %v to %v, and is reported as %+v", since, ended, sent[0].Body)
	}
}
