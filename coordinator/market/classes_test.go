package market

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var twoClasses = []protocol.PriorityClass{{Name: "production", Value: 100}, {Name: "batch", Value: -10, Default: true, Preemption: protocol.PreemptNever}}

// newClassMarket returns a market of two sites with priority classes.
func newClassMarket(t *testing.T) *testMarket {
	s := newTestMarket(t, "bern", "oslo")
	s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Classes: twoClasses})
	if len(s.market.CurrentPolicy().Classes) != 2 {
		t.Fatal("the classes were not put into force")
	}
	return s
}

// A job gets the priority of its class, or of the default one, and keeps it when classes change and the
// coordinator restarts. A class that does not exist is refused with the nearest name.
func TestAClassGivesTheJobItsPriority(t *testing.T) {
	s := newClassMarket(t)
	var events []protocol.Message
	submit := func(id protocol.JobID, class string, priority int) protocol.Submit {
		j := s.job()
		j.ID, j.PriorityClass, j.Priority = id, class, priority
		s.send(protocol.Submitter, protocol.Submit{Job: j})
		events = append(events, s.market.Events()...)
		return protocol.Submit{Job: j}
	}
	first := submit("first", "production", 0)
	submit("plain", "", 0)
	submit("numbered", "", 7)
	submit("typo", "prodution", 0)
	if r := lastSent[protocol.Reject](s); r.Job != "typo" || r.Why.Code != protocol.Malformed || !strings.Contains(r.Why.Note, `unknown class "prodution" (did you mean "production"?)`) {
		t.Errorf("the unknown class is answered with %+v", r)
	}
	submit("both", "production", 5)
	if r := lastSent[protocol.Reject](s); r.Job != "both" || !strings.Contains(r.Why.Note, "leave one out") {
		t.Errorf("a class and a priority are answered with %+v", r)
	}
	want := map[protocol.JobID]int{"first": 100, "plain": -10, "numbered": 7}
	check := func(k *Market, when string) {
		for id, priority := range want {
			if l := k.lots[id]; l.job.Priority != priority || l.submitted.Priority != priority {
				t.Errorf("%s %s has priority %d, want %d", when, id, l.job.Priority, priority)
			}
		}
	}
	check(s.market, "submitted,")
	restored := New(Config{}, &soonest{})
	restored.Restore(protocol.Message{At: noon, From: protocol.Coordinator, Body: protocol.Policy{Version: 2, By: "ada", Classes: []protocol.PriorityClass{{Name: "production", Value: 1}}}})
	for _, m := range events {
		restored.Restore(m)
	}
	check(restored, "restored under other classes,")
	// A repeated submission is known again, before and after.
	for _, k := range []*Market{s.market, restored} {
		said := k.Step(s.now, s.message(protocol.Submitter, first))
		if len(said) != 1 || count[protocol.Reject](said) != 0 {
			t.Errorf("a repeated submission is answered with %+v", said)
		}
	}
	s.wait()
	call := lastSent[protocol.CallForBids](s)
	i := slices.IndexFunc(call.Jobs, func(j protocol.Job) bool { return j.ID == "plain" })
	if i < 0 || call.Jobs[i].PriorityClass != "batch" || call.Jobs[i].Priority != -10 {
		t.Errorf("the call has %+v", call.Jobs)
	}
}

// Awards of one round go out by priority, and then in the order of arrival.
func TestAwardsGoOutByPriority(t *testing.T) {
	s := newClassMarket(t)
	for i, id := range []protocol.JobID{"a", "b", "c", "d"} {
		j := s.job()
		j.ID = id
		if i >= 2 {
			j.PriorityClass = "production"
		}
		s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	s.wait()
	o := s.option(0, time.Hour)
	s.offer("bern")
	var order []string
	for _, m := range s.offer("oslo", bidsOf("a", o), bidsOf("b", o), bidsOf("c", o), bidsOf("d", o)) {
		if a, ok := m.Body.(protocol.Award); ok {
			order = append(order, string(a.Job))
		}
	}
	if got := strings.Join(order, ""); got != "cdab" {
		t.Errorf("awards went out for %q, want cdab", got)
	}
}

// In a StrictFIFO queue nobody passes a job that finds no room; who waits by choice, and who can never
// run, holds up nobody. Another queue is not concerned.
func TestAStrictQueueKeepsItsOrder(t *testing.T) {
	for _, tc := range []struct {
		name     string
		strategy protocol.QueueingStrategy
		head     protocol.JobBids // of the first job at oslo
		want     string           // jobs that are awarded
	}{
		{"BestEffortFIFO lets others pass", protocol.BestEffortFIFO, noBids("lab-0", protocol.NoCapacity), "lab-1 other-0"},
		{"StrictFIFO does not", protocol.StrictFIFO, noBids("lab-0", protocol.NoCapacity), "other-0"},
		{"a head that starts lets the next start", protocol.StrictFIFO, bidsOf("lab-0", protocol.BidOption{Start: noon.Add(time.Second), Finish: noon.Add(time.Hour), Model: "V100", Energy: 1, Carbon: 1, Money: 1}), "lab-0 lab-1 other-0"},
		{"a head that starts later does not", protocol.StrictFIFO, bidsOf("lab-0", protocol.BidOption{Start: noon.Add(2 * time.Hour), Finish: noon.Add(3 * time.Hour), Model: "V100", Energy: 1, Carbon: 1, Money: 1}), "lab-0 other-0"},
		{"a head that fits no site is out of the way", protocol.StrictFIFO, noBids("lab-0", protocol.FitsNoNode), "lab-1 other-0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newTestMarket(t)
			s.send("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", GPUs: 8}}})
			lab, other := quotaOf("lab", 0, 0), quotaOf("other", 0, 0)
			lab.Queueing = tc.strategy
			s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Quotas: []protocol.Quota{lab, other}})
			for _, id := range []protocol.JobID{"lab-0", "lab-1", "other-0"} {
				j := s.job()
				j.ID, j.Tenant = id, strings.Split(string(id), "-")[0]
				s.send(protocol.Submitter, protocol.Submit{Job: j})
			}
			s.wait()
			o := s.option(0, time.Hour)
			var got []string
			for _, m := range s.offer("oslo", tc.head, bidsOf("lab-1", o), bidsOf("other-0", o)) {
				switch b := m.Body.(type) {
				case protocol.Award:
					got = append(got, string(b.Job))
				case protocol.Defer:
					if b.Job == "lab-1" && (b.Why.Code != protocol.QueueBlocked || b.Why.Note != "job lab-0 stands before it in the queue of lab") {
						t.Errorf("lab-1 waits for %+v", b.Why)
					}
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("awards %q, want %q", got, tc.want)
			}
		})
	}
}

// Values of classes have 32 bits, as in Kubernetes; jobs of such a class pass the wire, and a number without a
// class stays within a thousand.
func TestAClassMayHaveAnyValueOfKubernetes(t *testing.T) {
	const critical = 2_000_001_000 // system-node-critical
	s := newTestMarket(t, "oslo")
	s.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Classes: []protocol.PriorityClass{{Name: "system", Value: critical}, {Name: "least", Value: math.MinInt32}}})
	j := s.job()
	j.PriorityClass = "system"
	s.send(protocol.Submitter, protocol.Submit{Job: j})
	s.wait()
	data, err := protocol.Encode(s.sent[len(s.sent)-1])
	if err != nil {
		t.Fatal(err)
	}
	m, err := protocol.Decode(data)
	if got := m.Body.(protocol.CallForBids).Jobs[0]; err != nil || got.Priority != critical || got.InvalidReason() != "" {
		t.Errorf("called with priority %d, %v", got.Priority, err)
	}
	if j.PriorityClass, j.Priority = "", 1001; j.InvalidReason() == "" {
		t.Error("a job without a class may have priority 1001")
	}
	if _, key, problem := protocol.InvalidPriorityClass([]protocol.PriorityClass{{Name: "x", Value: math.MaxInt32 + 1}}); key != "value" || problem == "" {
		t.Errorf("a class of 33 bits: %q %q", key, problem)
	}
}
