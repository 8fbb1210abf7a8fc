package services

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

const noon protocol.Time = 1_649_851_200_000

// A federation is services and sites that answer at once: each holds what it is told, as far as it has
// room.
type federation struct {
	t       *testing.T
	now     protocol.Time
	it      *Services
	sites   []Site
	gpus    map[string]int // of each site
	held    map[string]map[protocol.ServiceID]protocol.AssignReplicas
	mute    map[string]bool                             // does not answer
	rows    func(site string, row *protocol.ReplicaBid) // changes what is bid; nil: nothing
	starts  map[string]bool                             // its replicas do not run yet
	senders map[protocol.Party]*protocol.Sender
	events  []protocol.Message
	said    []protocol.Body
}

func newFederation(t *testing.T, gpus map[string]int, names ...string) *federation {
	f := &federation{t: t, now: noon, it: New(Config{}, make(map[string]int)), gpus: gpus, held: make(map[string]map[protocol.ServiceID]protocol.AssignReplicas),
		mute: make(map[string]bool), starts: make(map[string]bool), senders: make(map[protocol.Party]*protocol.Sender)}
	for _, name := range names {
		f.sites = append(f.sites, Site{Name: name, Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: gpus[name], CPU: 1 << 20, Memory: 1 << 20}}})
		f.held[name] = make(map[protocol.ServiceID]protocol.AssignReplicas)
	}
	return f
}

func aService(id string, wanted int) protocol.Service {
	return protocol.Service{ID: protocol.ServiceID(id), Wanted: wanted, GPUs: 1, Share: 1000, CPU: 1000, Memory: 1024, Division: protocol.Division{Rule: protocol.DivideByCapacity}}
}

func (f *federation) message(from protocol.Party, b protocol.Body) protocol.Message {
	if f.senders[from] == nil {
		f.senders[from] = &protocol.Sender{Party: from}
	}
	return f.senders[from].NewMessage(f.now, protocol.Coordinator, b)
}

// say has a party send a message, and the sites answer.
func (f *federation) say(from protocol.Party, b protocol.Body) {
	m := f.message(from, b)
	out, event := f.it.Step(f.now, m, func() []Site { return f.sites })
	if event {
		f.events = append(f.events, m)
	}
	f.deliver(out)
}

// run lets time pass.
func (f *federation) run(d time.Duration) {
	for until := f.now.Add(d); ; {
		due := f.it.Due()
		if due == 0 || due > until {
			f.now = until
			return
		}
		f.now = max(f.now, due)
		f.deliver(f.it.Tick(f.now, f.sites))
	}
}

func (f *federation) deliver(out []Output) {
	for _, o := range out {
		f.said = append(f.said, o.Body)
		if o.Event {
			m := f.message(protocol.Coordinator, o.Body)
			m.To = o.To
			f.events = append(f.events, m)
		}
		switch b := o.Body.(type) {
		case protocol.CallForCapacity:
			for _, s := range f.sites {
				if !f.mute[s.Name] {
					f.say(protocol.AgentParty(s.Name), f.bid(s.Name, b))
				}
			}
		case protocol.AssignReplicas:
			if site := o.To.SiteName(); !f.mute[site] && f.held[site][b.Service.ID].Revision <= b.Revision {
				f.held[site][b.Service.ID] = b
				f.say(o.To, f.status(site, b.Service.ID))
			}
		}
	}
}

func (f *federation) status(site string, id protocol.ServiceID) protocol.ReplicaStatus {
	b := f.held[site][id]
	s := protocol.ReplicaStatus{Service: id, Revision: b.Revision, Assigned: b.Count, Ready: b.Count}
	if f.starts[site] {
		s.Ready = 0
	}
	return s
}

func (f *federation) bid(site string, c protocol.CallForCapacity) protocol.CapacityBid {
	free := f.gpus[site]
	for _, b := range f.held[site] {
		free -= b.Count * b.Service.GPUs
	}
	o := protocol.CapacityBid{Round: c.Round}
	for _, s := range c.Services {
		row := protocol.ReplicaBid{Service: s.ID, Available: max(free/s.GPUs, 0), HeldCost: 5, Held: f.status(site, s.ID)}
		row.Held.Service = ""
		if row.Available > 0 {
			row.Steps = []protocol.CostStep{{Count: row.Available, Cost: 5}}
		}
		if f.rows != nil {
			f.rows(site, &row)
		}
		o.Services = append(o.Services, row)
	}
	return o
}

// counts returns what the sites hold of a service.
func (f *federation) counts(id protocol.ServiceID) map[string]int {
	all := make(map[string]int)
	for _, s := range f.sites {
		if n := f.held[s.Name][id].Count; n > 0 {
			all[s.Name] = n
		}
	}
	return all
}

func (f *federation) want(id protocol.ServiceID, want map[string]int) {
	f.t.Helper()
	if got := f.counts(id); !reflect.DeepEqual(got, want) {
		f.t.Fatalf("sites hold %v of %s; want %v", got, id, want)
	}
}

// restart replaces the services by others that are restored from the events.
func (f *federation) restart() {
	f.it = New(Config{}, make(map[string]int))
	for _, m := range f.events {
		f.it.Restore(m)
	}
}

// In the middle of a move the coordinator restarts: the old replicas stay until the new ones run, and then
// they go.
func TestARestartGoesOnWithAMove(t *testing.T) {
	f := newFederation(t, map[string]int{"a": 8, "b": 8}, "a", "b")
	x := aService("llm", 4)
	x.Division.Tiers = []protocol.SiteTier{{Sites: []string{"a"}}, {Sites: []string{"b"}}}
	f.mute["a"] = true
	f.say(protocol.Submitter, protocol.SubmitService{Service: x})
	f.run(time.Minute)
	f.want("llm", map[string]int{"b": 4})
	f.mute["a"], f.starts["a"] = false, true
	f.say(protocol.OperatorAPI, protocol.RebalanceService{Service: "llm"})
	f.run(10 * time.Second)
	f.want("llm", map[string]int{"a": 4, "b": 4})
	f.restart()
	f.run(10 * time.Minute)
	f.want("llm", map[string]int{"a": 4, "b": 4})
	f.starts["a"] = false
	f.run(3 * time.Minute)
	f.want("llm", map[string]int{"a": 4})
}

// A restart between a request and its division divides; one after a deletion removes what is left.
func TestARestartForgetsNoRequest(t *testing.T) {
	f := newFederation(t, map[string]int{"a": 8, "b": 8}, "a", "b")
	f.say(protocol.Submitter, protocol.SubmitService{Service: aService("llm", 4)})
	f.restart()
	f.run(time.Minute)
	f.want("llm", map[string]int{"a": 2, "b": 2})
	f.say(protocol.OperatorAPI, protocol.ScaleService{Service: "llm", Wanted: 6})
	f.restart()
	f.run(time.Minute)
	f.want("llm", map[string]int{"a": 3, "b": 3})
	f.mute["b"] = true
	f.say(protocol.OperatorAPI, protocol.DeleteService{Service: "llm"})
	f.want("llm", map[string]int{"b": 3})
	f.restart()
	f.run(time.Minute)
	f.mute["b"] = false
	f.run(2 * time.Minute)
	f.want("llm", map[string]int{})
	if !f.it.IsEmpty() {
		t.Error("the deleted service is still known")
	}
	f.restart()
	if !f.it.IsEmpty() {
		t.Error("after a restart the deleted service is known again")
	}
}

// A site that answers twice, or says that it has room for more than it has GPUs, changes nothing.
func TestHostileBidsAreNotHeard(t *testing.T) {
	f := newFederation(t, map[string]int{"a": 4, "b": 4}, "a", "b")
	f.mute["a"], f.mute["b"] = true, true
	f.say(protocol.Submitter, protocol.SubmitService{Service: aService("llm", 4)})
	f.run(time.Second)
	var call protocol.CallForCapacity
	for _, b := range f.said {
		if c, ok := b.(protocol.CallForCapacity); ok {
			call = c
		}
	}
	honest := f.bid("a", call)
	f.say(protocol.AgentParty("a"), honest)
	twice := f.bid("a", call)
	twice.Services[0].Available, twice.Services[0].Steps = 1, []protocol.CostStep{{Count: 1, Cost: 1}}
	f.say(protocol.AgentParty("a"), twice)
	lie := f.bid("b", call)
	lie.Services[0].Available, lie.Services[0].Steps = 5, []protocol.CostStep{{Count: 5, Cost: 0}}
	f.say(protocol.AgentParty("b"), lie)
	f.say(protocol.AgentParty("nowhere"), honest)
	f.mute["a"], f.mute["b"] = false, false
	f.run(10 * time.Second)
	f.want("llm", map[string]int{"a": 4})
	for reason, want := range map[string]int{"capacity-bid-twice": 1, "impossible-capacity-bid": 2} {
		if got := f.it.counts[reason]; got != want {
			t.Errorf("%s is counted %d times; want %d", reason, got, want)
		}
	}
}

// What is not valid is refused with its reason, and what is not known is not heard.
func TestImpossibleRequestsAreRefused(t *testing.T) {
	f := newFederation(t, map[string]int{"a": 4}, "a")
	f.say(protocol.Submitter, protocol.SubmitService{Service: aService("llm", -1)})
	if b, ok := f.said[0].(protocol.ServiceDivision); !ok || !b.Deleted || b.Why.Code != protocol.Malformed || b.Why.Note == "" {
		t.Errorf("a service of -1 replicas is answered %+v", f.said)
	}
	f.say(protocol.OperatorAPI, protocol.ScaleService{Service: "llm", Wanted: 3})
	f.say(protocol.AgentParty("a"), protocol.DeleteService{Service: "llm"})
	f.say(protocol.AgentParty("a"), protocol.ReplicaStatus{Service: "llm"})
	bounded := aService("llm", 2)
	bounded.Max = 3
	f.say(protocol.Submitter, protocol.SubmitService{Service: bounded})
	f.say(protocol.OperatorAPI, protocol.ScaleService{Service: "llm", Wanted: 4})
	f.run(time.Minute)
	f.want("llm", map[string]int{"a": 2})
}

// A silent site keeps its replicas until it was silent for too long; then they run elsewhere, and it is
// told so when it is back.
func TestReplicasOfASilentSiteGoElsewhereAfterAWhile(t *testing.T) {
	f := newFederation(t, map[string]int{"a": 4, "b": 8}, "a", "b")
	x := aService("llm", 6)
	f.say(protocol.Submitter, protocol.SubmitService{Service: x})
	f.run(time.Minute)
	f.want("llm", map[string]int{"a": 2, "b": 4})
	f.mute["a"] = true
	f.say(protocol.SiteMonitor, protocol.SiteCondition{Site: "a", State: protocol.SiteSilent, Since: f.now})
	f.run(4 * time.Minute)
	f.want("llm", map[string]int{"a": 2, "b": 4})
	f.run(2 * time.Minute)
	f.want("llm", map[string]int{"a": 2, "b": 6}) // a does not know yet
	f.mute["a"] = false
	f.say(protocol.SiteMonitor, protocol.SiteCondition{Site: "a", State: protocol.SiteOK, Since: f.now})
	f.run(2 * time.Minute)
	f.want("llm", map[string]int{"b": 6})
}

// A service that was scaled to nothing before is forgotten as it is deleted.
func TestAServiceWithoutReplicasIsDeleted(t *testing.T) {
	f := newFederation(t, map[string]int{"a": 4}, "a")
	f.say(protocol.Submitter, protocol.SubmitService{Service: aService("llm", 2)})
	f.run(2 * time.Second)
	f.say(protocol.OperatorAPI, protocol.ScaleService{Service: "llm"})
	f.run(2 * time.Second)
	f.say(protocol.OperatorAPI, protocol.DeleteService{Service: "llm"})
	if f.run(time.Minute); len(f.it.all) != 0 {
		t.Errorf("%d services are known; want none", len(f.it.all))
	}
}

// Whatever is asked of services in whatever order, sites that answer are never told to hold more than they
// have GPUs, and in the end each service has what it wants or all room is taken.
func TestNoSiteIsToldToHoldMoreThanItHas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		gpus := map[string]int{"a": rapid.IntRange(0, 9).Draw(rt, "a"), "b": rapid.IntRange(0, 9).Draw(rt, "b"), "c": rapid.IntRange(0, 9).Draw(rt, "c")}
		f := newFederation(t, gpus, "a", "b", "c")
		check := func() {
			for _, s := range f.sites {
				sum := 0
				for _, b := range f.held[s.Name] {
					sum += b.Count * b.Service.GPUs
				}
				if sum > gpus[s.Name] {
					rt.Fatalf("%s has %d GPUs, and is told to hold %d: %v", s.Name, gpus[s.Name], sum, f.held[s.Name])
				}
			}
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			id := fmt.Sprintf("s%d", rapid.IntRange(1, 3).Draw(rt, "id"))
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0, 1:
				x := aService(id, rapid.IntRange(0, 12).Draw(rt, "wanted"))
				x.GPUs = int(id[1] - '0') // a changed shape is another test
				x.Division.Rule = rapid.SampledFrom([]protocol.DivisionRule{protocol.DivideByCost, protocol.DivideByCapacity, protocol.DivideByWeights}).Draw(rt, "rule")
				f.say(protocol.Submitter, protocol.SubmitService{Service: x})
			case 2:
				f.say(protocol.OperatorAPI, protocol.ScaleService{Service: protocol.ServiceID(id), Wanted: rapid.IntRange(0, 12).Draw(rt, "scaled")})
			case 3:
				f.say(protocol.OperatorAPI, protocol.RebalanceService{Service: protocol.ServiceID(id)})
			case 4:
				f.say(protocol.OperatorAPI, protocol.DeleteService{Service: protocol.ServiceID(id)})
			case 5:
				f.restart()
			}
			f.run(time.Duration(rapid.IntRange(0, 5).Draw(rt, "seconds")) * time.Second)
			check()
		}
		f.run(10 * time.Minute)
		check()
		for _, s := range f.it.inOrder() {
			sum := 0
			for _, n := range f.counts(s.spec.ID) {
				sum += n
			}
			if sum+s.pending != s.spec.Wanted {
				rt.Fatalf("%s wants %d, holds %d and waits for %d", s.spec.ID, s.spec.Wanted, sum, s.pending)
			}
		}
	})
}

// A preview says what a rebalance would decide; nobody is told to hold anything else, and it is no event.
func TestAPreviewOfARebalanceMovesNothing(t *testing.T) {
	f := newFederation(t, map[string]int{"a": 4, "b": 8}, "a", "b")
	f.mute["b"] = true
	f.say(protocol.Submitter, protocol.SubmitService{Service: aService("llm", 4)})
	f.run(time.Minute)
	f.mute["b"] = false
	events, was := len(f.events), f.held["a"]["llm"]
	f.said = nil
	f.say(protocol.OperatorAPI, protocol.RebalanceService{Service: "llm", Preview: true})
	f.run(time.Minute)
	var got []protocol.SiteCount
	for _, b := range f.said {
		switch b := b.(type) {
		case protocol.ServiceDivision:
			if !b.Preview {
				t.Errorf("it decided %+v", b)
			}
			got = b.Sites
		case protocol.AssignReplicas:
			t.Errorf("a site was told %+v", b)
		}
	}
	if want := []protocol.SiteCount{{Site: "a", Count: 1, Before: 4}, {Site: "b", Count: 3}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the preview has %+v; want %+v", got, want)
	}
	if len(f.events) != events || !reflect.DeepEqual(f.held["a"]["llm"], was) {
		t.Errorf("%d events after %d, and a holds %+v", len(f.events), events, f.held["a"]["llm"])
	}
}

// A site's queue repeats what it submitted to hear how it stands: that changes nothing and is no event. What the
// object of the cluster's user says counts, whatever others set.
func TestAQueueAsksByRepeatingItself(t *testing.T) {
	f := newFederation(t, map[string]int{"a": 8, "b": 8}, "a", "b")
	queue := protocol.QueueParty("a")
	x := aService("a.lab.deployment.llm", 4)
	x.Tenant = "a/lab"
	ask := func(b protocol.Body) protocol.ServiceStatus {
		t.Helper()
		f.said = nil
		f.say(queue, b)
		for _, b := range f.said {
			if s, ok := b.(protocol.ServiceStatus); ok {
				return s
			}
		}
		t.Fatalf("%+v was answered %+v", b, f.said)
		return protocol.ServiceStatus{}
	}
	submit := protocol.SubmitService{Service: x}
	if s := ask(submit); s.Decided || s.Wanted != 4 || s.Deleted {
		t.Errorf("submitted, it stands at %+v", s)
	}
	f.run(time.Minute)
	events, due := len(f.events), f.it.Due()
	want := protocol.ServiceStatus{Service: x.ID, Wanted: 4, Decided: true, Sites: []protocol.SiteOfReplicas{{Site: "a", Count: 2, Ready: 2}, {Site: "b", Count: 2, Ready: 2}}}
	if s := ask(submit); !reflect.DeepEqual(s, want) || len(f.events) != events || f.it.Due() != due {
		t.Errorf("repeated, it stands at %+v after %d more events, due %d and not %d", s, len(f.events)-events, f.it.Due(), due)
	}
	f.restart()
	if s := ask(submit); s.Wanted != 4 || !s.Decided || len(f.events) != events {
		t.Errorf("after a restart it stands at %+v", s)
	}
	f.say(protocol.OperatorAPI, protocol.ScaleService{Service: x.ID, Wanted: 6})
	f.run(time.Minute)
	f.want(x.ID, map[string]int{"a": 3, "b": 3})
	ask(submit)
	f.run(time.Minute)
	f.want(x.ID, map[string]int{"a": 2, "b": 2})
	f.say(protocol.QueueParty("b"), protocol.DeleteService{Service: x.ID})
	f.run(time.Minute)
	f.want(x.ID, map[string]int{"a": 2, "b": 2})
	f.mute["b"] = true
	f.sites = f.sites[:1]
	f.say(protocol.OperatorAPI, protocol.DecommissionSite{Site: "b"})
	f.run(time.Minute)
	want.Sites = []protocol.SiteOfReplicas{{Site: "a", Count: 4, Ready: 4}}
	if s := ask(submit); !reflect.DeepEqual(s, want) {
		t.Errorf("with a site removed it stands at %+v", s)
	}
	for range 2 {
		if s := ask(protocol.DeleteService{Service: x.ID}); !s.Deleted {
			t.Errorf("deleted, it stands at %+v", s)
		}
	}
	f.want(x.ID, map[string]int{})
}
