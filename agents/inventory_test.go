package agents

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// unknown is an agent that knows no node of its site yet.
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

func TestASiteIsIntroducedWhenItIsKnownAndWhenItChanges(t *testing.T) {
	a, hands := unknown(t)
	if a.Due() != 0 || len(a.Tick(noon)) != 0 {
		t.Error("a site without nodes introduces itself")
	}
	a.Step(noon, hands.NewMessage(noon, "agent/oslo", inventory("n1")))
	if a.Due() != 1 {
		t.Fatalf("due %v", a.Due())
	}
	if h, ok := a.Tick(noon)[0].Body.(protocol.RegisterSite); !ok || h.Pools[0].GPUs != 4 {
		t.Errorf("said %+v", h)
	}
	said := a.Step(noon, hands.NewMessage(noon, "agent/oslo", inventory("n1", "n2")))
	if h, ok := said[0].Body.(protocol.RegisterSite); !ok || h.Pools[0].GPUs != 8 {
		t.Errorf("said %+v to a second node", said)
	}
	if said := a.Step(noon, hands.NewMessage(noon, "agent/oslo", inventory("n1", "n2"))); len(said) != 0 {
		t.Errorf("said %v to what it knows", said)
	}
}

// An agent that was begun anew hears of one of its jobs before it knows its nodes: the
// others keep the places that they were sold.
func TestTheQueueWaitsUntilTheNodesAreKnown(t *testing.T) {
	s := newSite(t, eager, 4)
	var facts []protocol.Message
	step := func(b protocol.Body) []protocol.Message {
		said := s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", b))
		facts = append(facts, s.agent.Events()...)
		return said
	}
	for _, id := range []protocol.JobID{"large", "next", "third"} {
		o := s.call(job(id, 4))[0].Options[0]
		step(protocol.Award{Job: id, Epoch: 1, Option: o, MayQueue: true, Lease: s.now.Add(10 * time.Second)})
		step(protocol.Confirm{Job: id, Epoch: 1, Code: protocol.AcceptConfirmed})
	}
	s.agent, s.hands = newSiteOf(t, eager, nil).agent, protocol.Sender{Party: "hands/oslo", Incarnation: 2}
	for _, m := range facts {
		if err := s.agent.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	s.agent.BeginIncarnation(2)
	said := bodies(step(protocol.Cancel{Job: "third", Epoch: 1}))
	if want := (protocol.Decline{Job: "third", Epoch: 1, Why: protocol.Reason{Code: protocol.Cancelled}}); len(said) != 1 || said[0] != want {
		t.Errorf("told to cancel one job it says %+v", said)
	}
	s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", inventory("a")))
	s.agent.Tick(s.now)
	if s.agent.queueIndex("next") < 0 || s.agent.fleet.RunOf("large") == nil {
		t.Error("what waited or ran is not here any more")
	}
	s.now = s.now.Add(time.Hour)
	if got := launched(s.exit("large", 1)); got != "next " {
		t.Errorf("launched %q", got)
	}
}

// A site that has no node may have none for long: an agent that was begun anew there
// still says what it owes of jobs that it has no more. Its hands are asked when it
// knows its nodes.
func TestWhatEndedIsReportedBeforeTheNodesAreKnown(t *testing.T) {
	s := newSite(t, MarginalCost{}, 4)
	var facts []protocol.Message
	hear := func(m protocol.Message) {
		s.agent.Step(s.now, m)
		facts = append(facts, s.agent.Events()...)
	}
	for _, id := range []protocol.JobID{"ended", "runs"} {
		o := s.call(job(id, 1))[0].Options[0]
		hear(s.market.NewMessage(s.now, "agent/oslo", protocol.Award{Job: id, Epoch: 1, Option: o, Lease: s.now.Add(10 * time.Second)}))
		hear(s.market.NewMessage(s.now, "agent/oslo", protocol.Confirm{Job: id, Epoch: 1, Code: protocol.AcceptConfirmed}))
		hear(s.hands.NewMessage(s.now, "agent/oslo", protocol.Started{Job: id, Epoch: 1}))
	}
	hear(s.hands.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: "ended", Epoch: 1}))
	s.agent = newSiteOf(t, MarginalCost{}, nil).agent
	for _, m := range facts {
		if err := s.agent.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	s.agent.BeginIncarnation(2)
	for range 3 {
		due := s.agent.Due()
		if due == 0 {
			t.Fatal("a site that has no node says nothing of what it owes")
		}
		s.now = max(s.now, due)
		said := bodies(s.agent.Tick(s.now))
		if d, ok := said[0].(protocol.UsageReport); len(said) != 1 || !ok || d.Job != "ended" || s.agent.Due() <= s.now {
			t.Fatalf("said %+v, and is due at %v again", said, s.agent.Due())
		}
	}
	s.now = s.now.Add(time.Minute)
	s.agent.Step(s.now, protocol.Message{At: s.now, From: "hands/oslo", Seq: 1 << 41, Body: inventory("a")})
	if said := s.agent.Tick(s.now); launched(said) != "runs " || len(said) != 3 {
		t.Errorf("when the nodes are known it says %+v; want a greeting, the report and what runs", bodies(said))
	}
}

func TestWhatHandsHoldIsTakenUpAgainAndEnds(t *testing.T) {
	a, hands := unknown(t)
	v := inventory("n1")
	v.Held = []protocol.FoundRunning{{Since: noon.Add(-time.Hour), Launch: protocol.Launch{
		Job: protocol.Job{ID: "train", GPUs: 1, Share: 1000, Run: time.Hour}, Epoch: 4, Node: "n1", Devices: []int{3}, Model: "V100", Run: 2 * time.Hour}}}
	a.Step(noon, hands.NewMessage(noon, "agent/oslo", v))
	said := a.Step(noon, hands.NewMessage(noon, "agent/oslo", protocol.Finished{Job: "train", Epoch: 4, Failed: "exit code 1"}))
	d, ok := said[0].Body.(protocol.UsageReport)
	if !ok || d.Started != noon.Add(-time.Hour) || d.Node != "n1" || d.Devices[0] != 3 || d.Failed != "exit code 1" {
		t.Errorf("said %+v", said)
	}
}

// A site that its cluster refused a job rests; one that lost a node has others.
func TestALostJobGoesBackToTheMarket(t *testing.T) {
	for _, c := range []protocol.Code{protocol.ClusterRefused, protocol.NotStarted, protocol.Evicted, protocol.NodeLost, protocol.TakenOver} {
		t.Run(string(c), func(t *testing.T) { losing(t, c, c == protocol.ClusterRefused || c == protocol.NotStarted) })
	}
}

func losing(t *testing.T, code protocol.Code, rests bool) {
	a, hands := unknown(t)
	v := inventory("n1")
	job := protocol.Job{ID: "train", GPUs: 1, Share: 1000, Run: time.Hour, Arrival: noon, Deadline: noon.Add(9 * time.Hour)}
	v.Held = []protocol.FoundRunning{{Since: noon, Launch: protocol.Launch{Job: job, Epoch: 4, Node: "n1", Devices: []int{0}, Model: "V100", Run: time.Hour}}}
	a.Step(noon, hands.NewMessage(noon, "agent/oslo", v))
	lost := protocol.Interrupted{Job: "train", Epoch: 4, Why: protocol.Reason{Code: code}}
	said := a.Step(noon, hands.NewMessage(noon, "agent/oslo", lost))
	if d, ok := said[0].Body.(protocol.Decline); !ok || d.Epoch != 4 || d.Why.Code != code || a.fleet.RunOf("train") != nil {
		t.Fatalf("said %+v", said)
	}
	if said := a.Step(noon, hands.NewMessage(noon, "agent/oslo", lost)); len(said) != 0 {
		t.Errorf("said %v to what it knows", said)
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

// A site that was begun anew and does not know its nodes has no room; it does not
// say that it can never run a job, by which the market would refuse it.
func TestASiteWithoutNodesHasNoRoomYet(t *testing.T) {
	a, _ := unknown(t)
	feed, market := protocol.Sender{Party: protocol.SignalParty("oslo")}, protocol.Sender{Party: protocol.Coordinator}
	for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
		var ps []protocol.Point
		for h := range 24 {
			ps = append(ps, protocol.Point{At: noon.Floor(time.Hour).Add(time.Duration(h-23) * time.Hour), Value: 1000})
		}
		a.Step(noon, feed.NewMessage(noon, "agent/oslo", protocol.Signal{What: q, Points: ps}))
	}
	job := protocol.Job{ID: "train", GPUs: 1, Share: 1000, Run: time.Hour, Arrival: noon, Deadline: noon.Add(9 * time.Hour)}
	said := a.Step(noon, market.NewMessage(noon, "", protocol.CallForBids{Round: 1, Jobs: []protocol.Job{job}}))
	if m := said[0].Body.(protocol.Bids).Jobs[0]; m.Why.Code != protocol.NoCapacity {
		t.Errorf("said %+v", m)
	}
}

// A job that finds room only if others give back what they hold is not offered for: it
// would wait here in vain, and other sites have room.
func TestASiteOffersNothingOfWhatOthersHold(t *testing.T) {
	for name, habit := range map[string]MarginalCost{"plain": {}, "eager": eager} {
		s := newSite(t, habit)
		v := inventory("n1")
		v.Nodes[0].Others = []protocol.Milli{1000}
		s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", v))
		if m := s.call(job("all", 4))[0]; m.Why.Code != protocol.NoCapacity {
			t.Errorf("%s: it offers %+v", name, m)
		}
		if m := s.call(job("rest", 3))[0]; len(m.Options) == 0 {
			t.Errorf("%s: nothing is offered of what is free: %v", name, m.Why)
		}
	}
}

// When others give back what they hold the market hears of it, if a job found no room
// for them, and else not: they come and go all the time.
func TestTheMarketHearsWhenOthersGiveBackWhatAJobNeeds(t *testing.T) {
	s := newSite(t, MarginalCost{})
	hold := func(milli protocol.Milli) []protocol.Message {
		v := inventory("n1")
		v.Nodes[0].Others = []protocol.Milli{milli}
		return s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", v))
	}
	hold(1000)
	s.agent.Tick(s.now)
	s.confirm("", 0, protocol.Acknowledged)
	if said := hold(500); len(said) != 0 {
		t.Errorf("nobody needs what others give back, and it says %+v", bodies(said))
	}
	s.call(job("all", 4))
	if said := hold(1000); len(said) != 0 {
		t.Errorf("others take more, and it says %+v", bodies(said))
	}
	if said := hold(0); len(said) != 1 || said[0].KindName() != "hello" {
		t.Errorf("others give back what a job needs, and it says %+v", bodies(said))
	}
	if m := s.call(job("all", 4))[0]; len(m.Options) == 0 {
		t.Errorf("then it offers nothing: %v", m.Why)
	}
}

// An agent whose folder was put back from an older copy may think of what runs that it
// waits, or that its accept was never confirmed. What the hands hold runs all the same,
// and is not given back for others to run as well.
func TestWhatHandsHoldIsNotGivenBackByAnOlderJournal(t *testing.T) {
	for name, queued := range map[string]bool{"it waits": true, "its accept is not confirmed": false} {
		s := newSite(t, eager, 4)
		o := s.call(job("train", 4))[0].Options[0]
		if queued {
			o.Start, o.Finish = o.Start.Add(time.Hour), o.Finish.Add(time.Hour)
		}
		var facts []protocol.Message
		hear := func(b protocol.Body) {
			s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", b))
			facts = append(facts, s.agent.Events()...)
		}
		hear(protocol.Award{Job: "train", Epoch: 1, Option: o, MayQueue: queued, NotBeforeStart: true, Lease: s.now.Add(10 * time.Second)})
		if queued {
			hear(protocol.Confirm{Job: "train", Epoch: 1, Code: protocol.AcceptConfirmed})
		}
		s.agent = newSiteOf(t, eager, nil).agent
		for _, m := range facts {
			if err := s.agent.Restore(m); err != nil {
				t.Fatal(err)
			}
		}
		s.agent.BeginIncarnation(2)
		s.now = s.now.Add(5 * time.Hour)
		v := inventory("a")
		v.Held = []protocol.FoundRunning{{Since: s.now.Add(-time.Hour), Launch: protocol.Launch{
			Job: job("train", 4), Epoch: 1, Node: "a", Devices: []int{0, 1, 2, 3}, Model: "V100", Run: 9 * time.Hour}}}
		said := s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", v))
		for range 5 {
			s.now = max(s.now, s.agent.Due())
			said = append(said, s.agent.Tick(s.now)...)
		}
		for _, b := range bodies(said) {
			if d, ok := b.(protocol.Decline); ok {
				t.Errorf("%s: it says %+v", name, d)
			}
		}
		said = s.exit("train", 1)
		if len(said) == 0 || said[0].KindName() != "done" {
			t.Errorf("%s: told that it has ended it says %+v", name, bodies(said))
		}
	}
}

// An agent that lost its folder knows nothing of what runs before its hands have said
// so. What it is told to stop until then may run: it does not say that it is stopped.
func TestWhatMayRunIsNotSaidToBeStopped(t *testing.T) {
	s := newSiteOf(t, MarginalCost{}, nil)
	cancel := func() []protocol.Message {
		return s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", protocol.Cancel{Job: "train", Epoch: 4}))
	}
	if said := cancel(); len(said) != 0 {
		t.Errorf("before it knows what runs it says %+v", bodies(said))
	}
	v := inventory("n1")
	v.Held = []protocol.FoundRunning{{Since: noon, Launch: protocol.Launch{
		Job: job("train", 1), Epoch: 4, Node: "n1", Devices: []int{0}, Model: "V100", Run: time.Hour}}}
	s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", v))
	if said := cancel(); len(said) != 1 || said[0].To != "hands/oslo" {
		t.Errorf("then it says %+v", bodies(said))
	}
	s = newSiteOf(t, MarginalCost{}, nil)
	s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", protocol.Inventory{}))
	if said := cancel(); len(said) != 1 || said[0].To != protocol.Coordinator {
		t.Errorf("where nothing runs it says %+v", bodies(said))
	}
}

// A node whose device plugin begins anew has no GPUs for a moment. Its site does not say
// for that that it can never run a job, by which the market would refuse it.
func TestASiteWhoseGPUsAreGoneForAMomentHasNoRoom(t *testing.T) {
	s := newSite(t, MarginalCost{})
	v := inventory("n1")
	s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", v))
	v.Nodes[0].GPUs = 0
	s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", v))
	if m := s.call(job("train", 1))[0]; m.Why.Code != protocol.NoCapacity {
		t.Errorf("while its GPUs are gone it says %+v", m)
	}
	s.now = s.now.Add(nodeLossGrace)
	if m := s.call(job("train", 1))[0]; m.Why.Code != protocol.NoSuchGPU {
		t.Errorf("when they stay away it says %+v", m)
	}
}

// An agent that is begun anew hears from its hands what ended meanwhile before it hears from
// its feed what an hour costs. It bills that when it knows, and not at nothing.
func TestWhatEndedIsNotBilledBeforeTheGridIsKnown(t *testing.T) {
	s := newSiteOf(t, eager, nil)
	v := inventory("n1")
	v.Held = []protocol.FoundRunning{{Since: noon, Launch: protocol.Launch{
		Job: job("train", 1), Epoch: 4, Node: "n1", Devices: []int{0}, Model: "V100", Run: time.Hour}}}
	s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", v))
	draw := protocol.HourlyEnergy{Hour: noon, Energy: 3_600_000_000}
	if said := s.exit("train", 4, draw); len(said) != 0 {
		t.Fatalf("of its grid it knows nothing, and says %+v", bodies(said))
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

// An agent may be away when a job starts, and when it ends. When it is begun anew its hands
// say that the job started, and how it ended; that was then, and not when it is heard.
func TestAJobThatStartedAndEndedWhileItsAgentWasAwayDidSoThen(t *testing.T) {
	s := newSite(t, eager, 4)
	var facts []protocol.Message
	hear := func(b protocol.Body) {
		s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", b))
		facts = append(facts, s.agent.Events()...)
	}
	o := s.call(job("train", 1))[0].Options[0]
	hear(protocol.Award{Job: "train", Epoch: 1, Option: o, Lease: s.now.Add(10 * time.Second)})
	hear(protocol.Confirm{Job: "train", Epoch: 1, Code: protocol.AcceptConfirmed})
	launch := s.agent.running["train"].launch
	s.agent, s.hands = newSite(t, eager).agent, protocol.Sender{Party: "hands/oslo", Incarnation: 2}
	for _, m := range facts {
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
		s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", b))
	}
	said := s.agent.Step(s.now, s.hands.NewMessage(s.now, "agent/oslo", protocol.Finished{Job: "train", Epoch: 1, Ended: ended}))
	if len(said) == 0 {
		t.Fatal("it says nothing")
	}
	if d, ok := said[0].Body.(protocol.UsageReport); !ok || d.Started != since || d.Ended != ended {
		t.Errorf("it ran from %v to %v, and is reported as %+v", since, ended, said[0].Body)
	}
}
