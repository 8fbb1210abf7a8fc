package division

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// fleet returns a service of so many replicas over sites with room for twice as many. At each site
// a part of a node is awake; behind it are nodes of eight replicas. Where waking is priced, the
// first replica of such a node is dear and the others are cheap.
func fleet(rng *rand.Rand, replicas, sites int, wakes bool) Request {
	r := Request{Wanted: replicas}
	for i := range sites {
		s := Site{Name: fmt.Sprintf("site-%04d", i), Weight: 1 + rng.Int64N(4), Start: 20_000}
		s.Free = 1 + rng.IntN(4*replicas/sites)
		level := protocol.Microdollars(40_000 + rng.IntN(130_000))
		for n := 1 + rng.IntN(8); n < s.Free+8; n += 8 {
			switch {
			case len(s.Steps) == 0:
				s.Steps = append(s.Steps, Step{Replicas: n, Cost: level})
			case wakes:
				s.Steps = append(s.Steps, Step{Replicas: 1, Cost: level + 90_000}, Step{Replicas: 7, Cost: level})
			default:
				s.Steps = append(s.Steps, Step{Replicas: 8, Cost: level + protocol.Microdollars(1000*len(s.Steps))})
			}
		}
		r.Sites = append(r.Sites, s)
	}
	return r
}

func BenchmarkDivide(b *testing.B) {
	for _, sites := range []int{64, 1000} {
		for _, bc := range []struct {
			name  string
			kind  Kind
			wakes bool
		}{{"cost", ByCost, false}, {"cost, nodes wake", ByCost, true}, {"free-replicas", ByFreeReplicas, false}, {"weight", ByWeight, false}} {
			r := fleet(rand.New(rand.NewPCG(5, uint64(sites))), 10_000, sites, bc.wakes)
			r.Kind = bc.kind
			b.Run(fmt.Sprintf("%s/10000 replicas/%d sites", bc.name, sites), func(b *testing.B) {
				var d Division
				began := cpuTime()
				for b.Loop() {
					d = divide(b, r)
				}
				b.ReportMetric((cpuTime()-began).Seconds()*1000/float64(b.N), "cpu-ms/op")
				if bc.kind == ByCost {
					b.ReportMetric(100*float64(d.Cost-d.LowerBound)/float64(d.LowerBound), "%gap")
				}
			})
		}
	}
}

// cpuTime returns what the process has used of the processors: machines that test are shared.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of ourselves it does not fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A round divides 1,000 services of 100 replicas over 64 sites, each of which grows or shrinks.
func BenchmarkRound(b *testing.B) {
	for _, rebalance := range []bool{false, true} {
		name := "steady"
		if rebalance {
			name = "rebalanced"
		}
		rng := rand.New(rand.NewPCG(5, 6))
		services := make([]Request, 1000)
		for i := range services {
			r := fleet(rng, 100, 64, true)
			services[i] = held(r, divide(b, r))
			services[i].Wanted += rng.IntN(21) - 10
			services[i].Rebalance, services[i].Move = rebalance, Move{Horizon: 6 * time.Hour, Hysteresis: 200}
		}
		b.Run(name+"/1000 services/64 sites", func(b *testing.B) {
			began := cpuTime()
			for b.Loop() {
				for _, r := range services {
					divide(b, r)
				}
			}
			b.ReportMetric((cpuTime()-began).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// Services compete for rooms at 64 sites that have GPUs for half of what they would have at all of
// Services compete for rooms at 64 sites that have GPUs for one and a half times what is wanted. All
// find the same sites cheap; what they save there differs.
func BenchmarkJoint(b *testing.B) {
	for _, services := range []int{100, 1000} {
		rng := rand.New(rand.NewPCG(5, uint64(services)))
		requests, rooms, level := make([]Request, services), make([]Room, 64), make([]int, 64)
		for k := range rooms {
			rooms[k], level[k] = Room{fmt.Sprintf("site-%04d", k), 0}, 40_000+rng.IntN(130_000)
		}
		for i := range requests {
			r := Request{Wanted: 1 + rng.IntN(40)}
			gpus, power := 1<<rng.IntN(4), 500+rng.IntN(1000) // per mille of what a replica of so many GPUs usually draws
			for k := range rooms {
				s := priced(rooms[k].Name, 0, 40, flat(40, protocol.Microdollars(level[k]*gpus*power/1000+rng.IntN(10_000)*gpus)))
				s.Room, s.Takes = rooms[k].Name, protocol.Milli(1000*gpus)
				rooms[k].Free += protocol.Milli(r.Wanted*gpus*1000*3) / 2 / 64
				r.Sites = append(r.Sites, s)
			}
			requests[i] = r
		}
		b.Run(fmt.Sprintf("%d services/64 sites", services), func(b *testing.B) {
			var j Joint
			began := cpuTime()
			for b.Loop() {
				j = divideAll(b, requests, rooms)
			}
			b.ReportMetric((cpuTime()-began).Seconds()*1000/float64(b.N), "cpu-ms/op")
			turn := protocol.Microdollars(0)
			for _, d := range inTurn(b, requests, rooms) {
				turn += d.Cost
			}
			b.ReportMetric(100*float64(j.Cost-j.LowerBound)/float64(j.LowerBound), "%gap")
			b.ReportMetric(100*float64(turn-j.LowerBound)/float64(j.LowerBound), "%gap-in-turn")
		})
	}
}
