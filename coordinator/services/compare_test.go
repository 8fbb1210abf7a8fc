package services

import (
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// twoGrids is a federation of a cheap site that emits 400 g an hour and replica, and a clean one that costs a cent
// more; a kilogram costs 1.9 cents.
func twoGrids(t *testing.T) *federation {
	f := newFederation(t, map[string]int{"clean": 8, "dirty": 8}, "clean", "dirty")
	f.it.cfg.Weights = protocol.Weights{Carbon: 19_000, WaitNow: 2_000_000}
	f.rows = func(site string, row *protocol.ReplicaBid) {
		step := protocol.CostStep{Cost: 60_000, Carbon: 100_000}
		if site == "dirty" {
			step = protocol.CostStep{Cost: 50_000, Carbon: 400_000}
		}
		row.HeldCost, row.HeldCarbon = step.Cost, step.Carbon
		if step.Count = row.Available; step.Count > 0 {
			row.Steps = []protocol.CostStep{step}
		}
	}
	return f
}

// byCost returns a service that is divided by cost, with carbon at so many thousandths of its price.
func byCost(id string, wanted int, weight protocol.Milli) protocol.Service {
	s := aService(id, wanted)
	s.Division.Rule, s.CarbonWeight = protocol.DivideByCost, weight
	return s
}

// A service that weighs carbon three times goes to the clean site, one that weighs it once to the cheap one.
func TestCarbonCountsAsOftenAsAServiceWeighsIt(t *testing.T) {
	for weight, want := range map[protocol.Milli]map[string]int{0: {"dirty": 4}, 1000: {"dirty": 4}, 2500: {"dirty": 4}, 3000: {"clean": 4}} {
		f := twoGrids(t)
		f.say(protocol.OperatorAPI, protocol.SubmitService{Service: byCost("chat", 4, weight)})
		f.run(time.Minute)
		f.want("chat", want)
	}
}

// A decision by cost says where a rebalance would put the replicas if carbon were twice as dear, and one that
// moves what it saves.
func TestADecisionSaysWhatDearerCarbonWouldChange(t *testing.T) {
	f := twoGrids(t)
	last := func() (d protocol.ServiceDivision) {
		for _, b := range f.said {
			if x, ok := b.(protocol.ServiceDivision); ok {
				d = x
			}
		}
		return d
	}
	f.say(protocol.OperatorAPI, protocol.SubmitService{Service: byCost("chat", 4, 0)})
	f.run(time.Minute)
	if d := last(); !reflect.DeepEqual(d.CarbonDoubled, []protocol.SiteCount{{Site: "dirty", Count: 4, Before: 4}}) {
		t.Errorf("at twice the price $0.0576 at the dirty site is still less than $0.0619: %+v", d)
	}
	f.it.cfg.Weights.Carbon = 60_000 // $0.074 and $0.066
	f.say(protocol.OperatorAPI, protocol.RebalanceService{Service: "chat"})
	f.run(time.Minute)
	d := last()
	if !reflect.DeepEqual(d.CarbonDoubled, []protocol.SiteCount{{Site: "clean", Count: 4}, {Site: "dirty", Before: 4}}) {
		t.Errorf("%+v", d)
	}
	if d.Stay != 4*50_000 || d.Cost != d.Stay || d.Starts != 0 {
		t.Errorf("nothing moves: %+v", d)
	}
}

// A replica that would take what a site leaves to jobs goes where that is not so, unless that is dearer than a job
// that waits; what runs beyond it leaves in a rebalance, and no more. At each of two equal sites six replicas have
// seven quarters of their even share of three, whatever is left to jobs.
func TestReplicasLeaveJobsTheirPartIfItIsNotTooDear(t *testing.T) {
	for _, x := range []struct {
		dear   protocol.Microdollars
		beyond int // of eight
		want   map[string]int
	}{
		{60_000, 2, map[string]int{"dirty": 6}},
		{60_000, 3, map[string]int{"clean": 1, "dirty": 5}},
		{60_000, 8, map[string]int{"clean": 1, "dirty": 5}},
		{3_000_000, 8, map[string]int{"dirty": 6}},
	} {
		f, beyond := twoGrids(t), 0
		f.rows = func(site string, row *protocol.ReplicaBid) {
			step := protocol.CostStep{Count: row.Available, Cost: x.dear}
			if site == "dirty" {
				step.Cost, row.Beyond = 50_000, beyond
			}
			row.HeldCost = step.Cost
			if row.Steps = nil; step.Count > 0 {
				row.Steps = []protocol.CostStep{step}
			}
		}
		f.say(protocol.OperatorAPI, protocol.SubmitService{Service: byCost("chat", 6, 0)})
		f.run(time.Minute)
		f.want("chat", map[string]int{"dirty": 6})
		beyond = x.beyond
		f.say(protocol.OperatorAPI, protocol.RebalanceService{Service: "chat"})
		f.run(time.Minute)
		f.want("chat", x.want)
	}
}
