package agents

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
)

// A serviceSite is an agent of two nodes with 4 GPUs each, and what it said and recorded.
type serviceSite struct {
	t           *testing.T
	agent       *Agent
	coordinator protocol.Sender
	executor    protocol.Sender
	now         protocol.Time
	events      []protocol.Message
	said        []protocol.Message
}

func newServiceSite(t *testing.T, cfg Config) *serviceSite {
	var nodes []capacity.Node
	for _, name := range []string{"n1", "n2"} {
		nodes = append(nodes, capacity.Node{Node: fgd.Node{Name: name, CPU: 64_000, Memory: 1 << 19, GPUs: 4, Model: "V100"}, Host: power.SleepingHost(4)})
	}
	f, err := capacity.New(capacity.Config{Nodes: nodes, Power: power.DefaultTable(), PreferAwake: true})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Site, cfg.Services = "oslo", true
	return &serviceSite{t: t, agent: New(cfg, f, forecast.New(forecast.Config{})), now: 1_649_851_200_000,
		coordinator: protocol.Sender{Party: protocol.Coordinator}, executor: protocol.Sender{Party: protocol.ExecutorParty("oslo")}}
}

// hear has the agent read a message.
func (s *serviceSite) hear(from *protocol.Sender, b protocol.Body) {
	s.now = s.now.Add(time.Second)
	s.said = s.agent.Step(s.now, from.NewMessage(s.now, protocol.AgentParty("oslo"), b))
	s.events = append(s.events, s.agent.Events()...)
}

// order returns the RunReplicas that was sent last, and the status.
func (s *serviceSite) order() (o protocol.RunReplicas, st protocol.ReplicaStatus) {
	for _, m := range s.said {
		switch b := m.Body.(type) {
		case protocol.RunReplicas:
			o = b
		case protocol.ReplicaStatus:
			st = b
		}
	}
	return o, st
}

func llm(count int, revision uint64) protocol.AssignReplicas {
	return protocol.AssignReplicas{Service: protocol.Service{ID: "llm", Wanted: count, GPUs: 1, Share: 1000, CPU: 1000, Memory: 1024}, Revision: revision, Count: count}
}

// running returns the numbers of replicas.
func running(all []protocol.Replica) (numbers []int) {
	for _, r := range all {
		numbers = append(numbers, r.Number)
	}
	return numbers
}

// A site places what it is assigned, reports it as ready when it runs, takes away what came last, looks for
// other nodes for what was lost, and ignores an assignment that is older than one it knows.
func TestASiteHoldsWhatItIsAssigned(t *testing.T) {
	s := newServiceSite(t, Config{})
	s.hear(&s.coordinator, llm(5, 1))
	o, st := s.order()
	if len(o.Replicas) != 5 || st != (protocol.ReplicaStatus{Service: "llm", Revision: 1, Assigned: 5}) {
		t.Fatalf("5 assigned: orders %+v, reports %+v", o, st)
	}
	s.hear(&s.executor, protocol.ReplicasRunning{Service: "llm", Revision: o.Revision, Running: running(o.Replicas)})
	if _, st = s.order(); st.Ready != 5 {
		t.Fatalf("5 run: reports %+v", st)
	}
	s.hear(&s.coordinator, llm(3, 2))
	if o, _ = s.order(); !reflect.DeepEqual(running(o.Replicas), []int{1, 2, 3}) {
		t.Fatalf("3 of 5 are left: orders %v", running(o.Replicas))
	}
	if _, st = s.order(); st.Revision != 1 {
		t.Fatalf("2 are still to stop: reports %+v", st)
	}
	if free, _ := s.agent.fleet.IdleGPUs(); free != 3000 {
		t.Errorf("%d thousandths of 8 GPUs are free while 2 of 5 replicas stop", free)
	}
	s.hear(&s.executor, protocol.ReplicasRunning{Service: "llm", Revision: 2, Running: []int{1, 2, 3}})
	s.hear(&s.coordinator, llm(9, 1))
	if o, st = s.order(); o.Replicas != nil || st.Revision != 2 {
		t.Fatalf("an older assignment: orders %+v, reports %+v", o, st)
	}
	s.hear(&s.executor, protocol.ReplicasRunning{Service: "llm", Revision: 2, Running: []int{1, 2}, Lost: []int{3}})
	if o, st = s.order(); !reflect.DeepEqual(running(o.Replicas), []int{1, 2, 6}) || st.Pending != 0 || st.Ready != 2 {
		t.Fatalf("one is lost: orders %v, reports %+v", running(o.Replicas), st)
	}
	s.hear(&s.coordinator, llm(10, 3))
	if _, st = s.order(); st.Pending != 2 || st.Since != s.now {
		t.Fatalf("10 of 8 GPUs: reports %+v", st)
	}
	s.hear(&s.coordinator, llm(0, 4))
	if o, st = s.order(); o.Revision == 0 || len(o.Replicas) != 0 || st.Revision == 4 || st.Pending != 0 {
		t.Fatalf("none assigned: orders %+v, reports %+v", o, st)
	}
	s.hear(&s.executor, protocol.ReplicasRunning{Service: "llm", Revision: o.Revision})
	if free, _ := s.agent.fleet.IdleGPUs(); free != 8000 {
		t.Errorf("%d thousandths of 8 GPUs are free after all", free)
	}
}

// After a restart an agent has its replicas where they were, and asks the executor about them; its log needs
// only the newest assignment and list.
func TestARestartedAgentHasItsReplicas(t *testing.T) {
	s := newServiceSite(t, Config{})
	s.hear(&s.coordinator, llm(2, 1))
	s.hear(&s.coordinator, llm(6, 2))
	s.hear(&s.coordinator, llm(5, 3))
	want, _ := s.order()
	again := newServiceSite(t, Config{})
	again.now = s.now
	var needed []protocol.Message
	for _, m := range s.events {
		if s.agent.NeedsEvent(m) {
			needed = append(needed, m)
		}
	}
	if len(needed) != 2 {
		t.Errorf("%d of %d events are needed; want the newest assignment and list", len(needed), len(s.events))
	}
	for _, m := range needed {
		if err := again.agent.Restore(m); err != nil {
			t.Fatal(err)
		}
	}
	again.said = again.agent.Tick(again.now)
	got, st := again.order()
	if !reflect.DeepEqual(got.Replicas, want.Replicas) || !reflect.DeepEqual(got.Stopping, want.Stopping) || st.Revision != 0 || st.Ready != 0 {
		t.Errorf("after the restart it orders %+v, reports %+v; before it ordered %+v", got, st, want)
	}
	if free, _ := again.agent.fleet.IdleGPUs(); free != 2000 {
		t.Errorf("%d thousandths of 8 GPUs are free beside 5 replicas and one that is to stop", free)
	}
	again.hear(&again.executor, protocol.ReplicasRunning{Service: "llm", Revision: got.Revision, Running: running(got.Replicas)})
	if free, _ := again.agent.fleet.IdleGPUs(); free != 3000 {
		t.Errorf("%d thousandths of 8 GPUs are free beside 5 replicas", free)
	}
	if _, st := again.order(); st.Revision != 3 || st.Assigned != 5 || st.Ready != 5 {
		t.Errorf("once the executor has answered it reports %+v", st)
	}
	again.coordinator = s.coordinator
	again.hear(&again.coordinator, llm(6, 4))
	if o, _ := again.order(); !reflect.DeepEqual(running(o.Replicas), []int{1, 2, 3, 4, 5, 7}) {
		t.Errorf("a sixth after the restart: %v; numbers are never given twice", running(o.Replicas))
	}
}

// An agent that is killed between an assignment and the list that follows from it, and once more before it has
// written that, still has the replicas stopped.
func TestARestartedAgentStopsWhatWasTakenAway(t *testing.T) {
	s := newServiceSite(t, Config{})
	s.hear(&s.coordinator, llm(2, 1))
	s.hear(&s.coordinator, llm(0, 2))
	events := s.events[:len(s.events)-1]
	for range 2 {
		again := newServiceSite(t, Config{})
		again.now = s.now
		for _, m := range events {
			if err := again.agent.Restore(m); err != nil {
				t.Fatal(err)
			}
		}
		events = slices.DeleteFunc(slices.Clone(events), func(m protocol.Message) bool { return !again.agent.NeedsEvent(m) })
		again.said = again.agent.Tick(again.now)
		if o, _ := again.order(); o.Revision != 2 || len(o.Replicas) != 0 || len(o.Stopping) != 2 {
			t.Errorf("from %d events it orders %+v", len(events), o)
		}
	}
}

// What the executor does not answer is repeated.
func TestAnOrderIsRepeatedUntilItIsAnswered(t *testing.T) {
	s := newServiceSite(t, Config{})
	s.hear(&s.coordinator, llm(1, 1))
	first, _ := s.order()
	s.said = s.agent.Tick(s.now.Add(firstRetryDelay))
	if o, _ := s.order(); !reflect.DeepEqual(o, first) {
		t.Errorf("it repeats %+v; want %+v", o, first)
	}
	s.hear(&s.executor, protocol.ReplicasRunning{Service: "llm", Revision: first.Revision, Running: []int{1}})
	if due := s.agent.servicesDue(); due != s.now.Floor(time.Hour).Add(time.Hour) { // when its meter is read
		t.Errorf("an answered order is due again at %v", due)
	}
}

// A bid counts what fits beside what is held, and prices it; a site says why it bids none.
func TestCapacityBids(t *testing.T) {
	feed := protocol.Sender{Party: protocol.SignalParty("oslo")}
	bid := func(s *serviceSite, x protocol.Service) protocol.ReplicaBid {
		for what, v := range map[protocol.Quantity]int64{protocol.GridPrice: 55_000, protocol.GridCarbon: 28_000, protocol.GridPUE: 1100} {
			s.hear(&feed, protocol.Signal{What: what, Points: []protocol.Point{{At: s.now.Floor(time.Hour), Value: v}}})
		}
		s.hear(&s.coordinator, protocol.CallForCapacity{Round: 7, Services: []protocol.Service{x, x}})
		b := s.said[0].Body.(protocol.CapacityBid)
		if len(s.said) != 1 || b.Round != 7 || len(b.Services) != 1 || !s.said[0].IsPlausible() {
			t.Fatalf("to a call that names a service twice it says %+v", s.said)
		}
		return b.Services[0]
	}
	x := llm(5, 1).Service
	two := x
	two.ID, two.GPUs = "two", 2
	s := newServiceSite(t, Config{})
	s.hear(&s.coordinator, llm(3, 1))
	if b := bid(s, two); b.Available != 2 {
		t.Errorf("beside 3 replicas on nodes of 4 and 4, %d of 2 GPUs fit; want 2: %+v", b.Available, b)
	}
	if b := bid(s, x); b.Available != 5 || b.Held.Assigned != 3 || b.HeldCost <= 0 || b.Steps[0].Count != 1 {
		t.Errorf("of the service itself: %+v; the fourth fills its node, and the next wakes another", b)
	}
	for why, change := range map[protocol.Code]func(*Config, *protocol.Service){
		protocol.NotAllowed: func(_ *Config, x *protocol.Service) { x.Sites = []string{"bern"} },
		protocol.FitsNoNode: func(_ *Config, x *protocol.Service) { x.GPUs = 5 },
		protocol.NoSuchGPU:  func(_ *Config, x *protocol.Service) { x.Models = []string{"B200"} },
		protocol.RefusedByTerms: func(c *Config, _ *protocol.Service) {
			c.Terms = terms.Terms{Own: []string{"home"}, Exclude: []string{"x"}}
		},
	} {
		cfg, x := Config{}, x
		change(&cfg, &x)
		if b := bid(newServiceSite(t, cfg), x); b.Available != 0 || b.Why.Code != why {
			t.Errorf("%s: %+v", why, b)
		}
	}
	if b := bid(newServiceSite(t, Config{Terms: terms.Terms{Tariff: terms.Tariff{GPUHour: 1}}}), x); b.Why.Code != protocol.RefusedByTerms {
		t.Errorf("a site with a tariff bids %+v for replicas that nobody would pay", b)
	}
	s = newServiceSite(t, Config{})
	s.agent.cfg.Services = false
	if b := bid(s, x); b.Available != 0 || b.Why.Code != protocol.RunsNoServices {
		t.Errorf("a site that runs no services bids %+v", b)
	}
}

// What jobs would save by a GPU is part of what a replica costs there, held or not, for as long as the price
// was announced; a service of half a GPU pays half.
func TestReplicasPayWhatTheirGPUsAreWorthToJobs(t *testing.T) {
	feed := protocol.Sender{Party: protocol.SignalParty("oslo")}
	s := newServiceSite(t, Config{})
	s.hear(&s.coordinator, llm(1, 1))
	half := llm(1, 1).Service
	half.ID, half.Share = "half", 500
	costs := func(x protocol.Service) (free, held protocol.Microdollars) {
		s.hear(&s.coordinator, protocol.CallForCapacity{Round: 7, Services: []protocol.Service{x}})
		b := s.said[0].Body.(protocol.CapacityBid).Services[0]
		return b.Steps[0].Cost, b.HeldCost
	}
	for what, v := range map[protocol.Quantity]int64{protocol.GridPrice: 55_000, protocol.GridCarbon: 28_000, protocol.GridPUE: 1100} {
		s.hear(&feed, protocol.Signal{What: what, Points: []protocol.Point{{At: s.now.Floor(time.Hour), Value: v}}})
	}
	x := llm(1, 1).Service
	free, held := costs(x)
	ofHalf, _ := costs(half)
	values := make([]protocol.Microdollars, 48)
	for i := range values {
		values[i] = 30_000
	}
	price := protocol.ShadowPrice{Site: "oslo", Model: "V100", From: s.now, Slot: 15 * time.Minute, Values: values}
	s.hear(&s.coordinator, protocol.CallForBids{Round: 1, ShadowPrices: []protocol.ShadowPrice{price}})
	if got, gotHeld := costs(x); got != free+30_000 || gotHeld != held+30_000 {
		t.Errorf("at $0.03 a GPU-hour a replica costs %d and a held one %d; before it was %d and %d", got, gotHeld, free, held)
	}
	if got, _ := costs(half); got != ofHalf+15_000 {
		t.Errorf("half a GPU costs %d; before it was %d", got, ofHalf)
	}
	s.hear(&s.coordinator, protocol.CallForBids{Round: 2})
	if got, _ := costs(x); got != free {
		t.Errorf("without a price a replica costs %d; want %d", got, free)
	}
}

// A replica got the device of one that had stopped; then the agent is killed, and its log does not say that the
// executor had answered. What runs keeps its device.
func TestARestartedAgentKeepsWhatFollowedAStoppedReplica(t *testing.T) {
	s := newServiceSite(t, Config{})
	first := func(count int, revision uint64) protocol.AssignReplicas {
		b := llm(count, revision)
		b.Service.ID = "first"
		return b
	}
	s.hear(&s.coordinator, first(8, 1))
	s.hear(&s.coordinator, first(7, 2))
	o, _ := s.order()
	s.hear(&s.executor, protocol.ReplicasRunning{Service: "first", Revision: o.Revision, Running: running(o.Replicas)})
	s.hear(&s.coordinator, llm(1, 3))
	want, _ := s.order()
	again := newServiceSite(t, Config{})
	again.now = s.now
	for _, m := range s.events {
		if s.agent.NeedsEvent(m) {
			if err := again.agent.Restore(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	again.said = again.agent.Tick(again.now)
	if got, st := again.order(); len(want.Replicas) != 1 || !reflect.DeepEqual(got.Replicas, want.Replicas) || st.Pending != 0 {
		t.Errorf("after the restart it orders %+v, reports %+v; before it ordered %+v", got, st, want)
	}
}
