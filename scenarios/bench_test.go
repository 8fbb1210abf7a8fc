package scenarios

import (
	"testing"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/natsbus"
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
