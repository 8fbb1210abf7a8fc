package services

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Two services want the same GPUs. The one that saves most by them gets them, whoever came first
// (SERVING.md, S-D9): here x, of 4 GPUs a replica, saves $0.075 a GPU-hour at se, and y $0.25.
func TestServicesThatCompeteAreDividedTogether(t *testing.T) {
	sites := []Site{
		{Name: "fr", Pools: []protocol.Pool{{Model: "V100", GPUs: 16, CPU: 1 << 30}}},
		{Name: "se", Pools: []protocol.Pool{{Model: "V100", GPUs: 8, CPU: 1 << 30}}},
	}
	cost := map[string]map[protocol.ServiceID]protocol.Microdollars{"se": {"x": 1_000_000, "y": 200_000}, "fr": {"x": 1_300_000, "y": 450_000}}
	for name, other := range map[string]func(x, y *protocol.Service){
		"se to y": func(x, y *protocol.Service) {},
		// Of other models a site's free GPUs are not one room: each has its turn.
		"in turn": func(x, y *protocol.Service) { y.Models = []string{"V100"} },
	} {
		x, y := aService("x", 2), aService("y", 6)
		x.GPUs = 4
		x.Division.Rule, y.Division.Rule = protocol.DivideByCost, protocol.DivideByCost
		other(&x, &y)
		k := New(Config{}, make(map[string]int))
		submitter := protocol.Sender{Party: protocol.Submitter}
		for _, s := range []protocol.Service{x, y} {
			k.Step(noon, submitter.NewMessage(noon, protocol.Coordinator, protocol.SubmitService{Service: s}), nil)
		}
		at := noon.Add(k.cfg.Gather)
		call := k.Tick(at, sites)[0].Body.(protocol.CallForCapacity)
		got := make(map[protocol.ServiceID]map[string]int)
		for _, site := range sites {
			b := protocol.CapacityBid{Round: call.Round}
			for _, s := range call.Services {
				n := site.Pools[0].GPUs / s.GPUs
				b.Services = append(b.Services, protocol.ReplicaBid{Service: s.ID, Available: n, Steps: []protocol.CostStep{{Count: n, Cost: cost[site.Name][s.ID]}}})
			}
			agent := protocol.Sender{Party: protocol.AgentParty(site.Name)}
			out, _ := k.Step(at, agent.NewMessage(noon, protocol.Coordinator, b), func() []Site { return sites })
			for _, o := range out {
				if d, ok := o.Body.(protocol.ServiceDivision); ok {
					got[d.Service] = make(map[string]int)
					for _, s := range d.Sites {
						got[d.Service][s.Site] = s.Count
					}
				}
			}
		}
		want := map[protocol.ServiceID]map[string]int{"x": {"fr": 2}, "y": {"se": 6}}
		if name == "in turn" {
			want = map[protocol.ServiceID]map[string]int{"x": {"se": 2}, "y": {"fr": 6}}
		}
		for id, sites := range want {
			for site, n := range sites {
				if got[id][site] != n || len(got[id]) != 1 {
					t.Errorf("%s: %s goes to %v; want %v", name, id, got[id], sites)
				}
			}
		}
	}
}
