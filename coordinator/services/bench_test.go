package services

import (
	"cmp"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// BenchmarkDivideServices divides services of 10 replicas over 64 sites in one call: from the last bid to the
// decisions. Those by cost are divided apart, as each asks for a GPU model of its own, and the first hundred of
// a call say what a rebalance and dearer carbon would change.
func BenchmarkDivideServices(b *testing.B) {
	var sites []Site
	for i := range 64 {
		sites = append(sites, Site{Name: fmt.Sprintf("s%02d", i), Pools: []protocol.Pool{{Model: "V100", GPUs: 400, CPU: 1 << 30}, {Model: "A100", GPUs: 400, CPU: 1 << 30}}})
	}
	for _, rule := range []protocol.DivisionRule{protocol.DivideByCapacity, protocol.DivideByCost} {
		for _, count := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%s/%d services", cmp.Or(rule, "cost"), count), func(b *testing.B) { divideServices(b, sites, rule, count) })
		}
	}
}

func divideServices(b *testing.B, sites []Site, rule protocol.DivisionRule, count int) {
	var used time.Duration
	for b.Loop() {
		b.StopTimer()
		k := New(Config{Weights: protocol.Weights{Carbon: 190_000}}, make(map[string]int))
		submitter := protocol.Sender{Party: protocol.Submitter}
		for i := range count {
			s := aService(fmt.Sprint("llm", i), 10)
			if s.Division.Rule = rule; rule == protocol.DivideByCost {
				s.Models = [][]string{{"V100"}, {"A100"}}[i%2]
			}
			k.Step(noon, submitter.NewMessage(noon, protocol.Coordinator, protocol.SubmitService{Service: s}), nil)
		}
		out := k.Tick(noon.Add(k.cfg.Gather), sites)
		call := out[0].Body.(protocol.CallForCapacity)
		bids := make([]protocol.CapacityBid, len(sites))
		for i := range sites {
			bids[i].Round = call.Round
			for _, s := range call.Services {
				row := protocol.ReplicaBid{Service: s.ID, Available: 400}
				for n := range 10 { // nodes, of which the first replica wakes one
					row.Steps = append(row.Steps, protocol.CostStep{Count: 1, Cost: protocol.Microdollars(90_000 + 1000*i + n), Carbon: 500_000},
						protocol.CostStep{Count: 39, Cost: protocol.Microdollars(40_000 + 1000*i + n), Carbon: 300_000})
				}
				bids[i].Services = append(bids[i].Services, row)
			}
		}
		b.StartTimer()
		began := cpuTime()
		for i, s := range sites {
			agent := protocol.Sender{Party: protocol.AgentParty(s.Name)}
			out, _ = k.Step(noon.Add(k.cfg.Gather), agent.NewMessage(noon, protocol.Coordinator, bids[i]), func() []Site { return sites })
		}
		used += cpuTime() - began
		if len(out) < count {
			b.Fatalf("%d messages for %d services", len(out), count)
		}
	}
	b.ReportMetric(used.Seconds()*1000/float64(b.N), "cpu-ms/op")
}

// cpuTime returns what the process has used of the processors: machines that test are shared.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of ourselves it does not fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
