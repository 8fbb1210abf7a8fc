package scenarios

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// BenchmarkDay replays a day under the auction: the synthetic one of this package's
// tests, and the ordinary recorded day if its data is there. It also reports simulated
// hours per second, messages read, and allocations per decision.
func BenchmarkDay(b *testing.B) {
	real, err := spec.LoadScenario("real-days/ordinary_2022-04-13", spec.Options{Data: "../../shared/data"})
	for _, day := range []struct {
		name string
		s    spec.Scenario
		err  error
	}{{"small-200-jobs", small(200), nil}, {"ordinary-2000-jobs", real, err}} {
		for _, on := range []string{"mem", "nats"} {
			b.Run(day.name+"/"+on, func(b *testing.B) {
				if day.err != nil {
					b.Skipf("no recorded data: %v", day.err)
				}
				messages, decisions, hours := 0, 0, 0.0
				b.ReportAllocs()
				for b.Loop() {
					res, err := Replay(b.Context(), day.s, PolicyAuction, hub(b, on), Options{})
					if err != nil {
						b.Fatal(err)
					}
					messages += res.Totals.Messages
					decisions += res.Totals.Decisions
					hours += MeteredUntil(day.s).Sub(day.s.Start).Hours()
				}
				seconds := b.Elapsed().Seconds()
				b.ReportMetric(float64(messages)/seconds, "messages/s")
				b.ReportMetric(float64(decisions)/seconds, "decisions/s")
				b.ReportMetric(hours/seconds, "simulated-hours/s")
			})
		}
	}
}

// BenchmarkDayWithGangs replays the ordinary recorded day with gangs, and the same GPU-hours on the same
// nodes without any: each gang as jobs of its pods. It reports the CPU time of both.
func BenchmarkDayWithGangs(b *testing.B) {
	for _, share := range []float64{0.4, 1} {
		whole, err := spec.LoadScenario("real-days/ordinary_2022-04-13", spec.Options{Data: "../../shared/data", Gangs: share})
		if err != nil {
			b.Skipf("no recorded data: %v", err)
		}
		split := whole
		split.Hash, split.Jobs = whole.Hash+" split", nil
		for _, j := range whole.Jobs {
			if !j.IsGang() {
				split.Jobs = append(split.Jobs, j)
				continue
			}
			for c := range j.Pods {
				for k := range j.Pods[c].Pods {
					pod := j.PodsOf(c, 1)
					pod.ID = protocol.JobID(fmt.Sprintf("%s-%d-%d", j.ID, c, k))
					split.Jobs = append(split.Jobs, pod)
				}
			}
		}
		for _, day := range []struct {
			name string
			s    spec.Scenario
		}{{"gangs", whole}, {"pods", split}} {
			b.Run(fmt.Sprintf("%s-%g", day.name, share), func(b *testing.B) {
				before := cpuSeconds(b)
				for b.Loop() {
					if _, err := Replay(b.Context(), day.s, PolicyAuction, new(membus.Bus), Options{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((cpuSeconds(b)-before)/float64(b.N), "cpu-s/op")
				b.ReportMetric(float64(len(day.s.Jobs)), "jobs")
			})
		}
	}
}

// cpuSeconds returns the CPU time of this process.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e9
}

func hub(b *testing.B, on string) bus.Bus {
	b.Helper()
	if on == "mem" {
		return new(membus.Bus)
	}
	server, err := natsbus.StartServer(natsbus.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { server.Close() })
	return server
}
