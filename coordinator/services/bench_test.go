package services

import (
	"fmt"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// BenchmarkDivideThousandServices divides 1,000 services of 10 replicas over 64 sites in one call: from the
// last bid to the decisions.
func BenchmarkDivideThousandServices(b *testing.B) {
	var sites []Site
	for i := range 64 {
		sites = append(sites, Site{Name: fmt.Sprintf("s%02d", i), Pools: []protocol.Pool{{Model: "V100", GPUs: 400, CPU: 1 << 30}}})
	}
	for b.Loop() {
		b.StopTimer()
		k := New(Config{}, make(map[string]int))
		submitter := protocol.Sender{Party: protocol.Submitter}
		for i := range 1000 {
			k.Step(noon, submitter.NewMessage(noon, protocol.Coordinator, protocol.SubmitService{Service: aService(fmt.Sprint("llm", i), 10)}), nil)
		}
		out := k.Tick(noon.Add(k.cfg.Gather), sites)
		call := out[0].Body.(protocol.CallForCapacity)
		var rows []protocol.ReplicaBid
		for _, s := range call.Services {
			rows = append(rows, protocol.ReplicaBid{Service: s.ID, Available: 400, Steps: []protocol.CostStep{{Count: 400, Cost: 7}}})
		}
		b.StartTimer()
		for _, s := range sites {
			agent := protocol.Sender{Party: protocol.AgentParty(s.Name)}
			out, _ = k.Step(noon.Add(k.cfg.Gather), agent.NewMessage(noon, protocol.Coordinator, protocol.CapacityBid{Round: call.Round, Services: rows}), func() []Site { return sites })
		}
		if len(out) < 1000 {
			b.Fatalf("%d messages for 1,000 services", len(out))
		}
	}
}
