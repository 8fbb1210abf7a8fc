package pack

import (
	"testing"

	"github.com/gridbid/gridbid/cluster-agent/fgd"
)

// BenchmarkTrace places one seed's arrivals of a published trace, up to 130%
// load; ns/decision is decide and take, files and metrics apart.
func BenchmarkTrace(b *testing.B) {
	for _, name := range []string{"default", "gpuspec33", "multigpu50", "cpu250", "gpushare100"} {
		b.Run(name, func(b *testing.B) {
			t := openTrace(b, name)
			sequence, rank, err := t.Arrivals(1.3, 42)
			if err != nil {
				b.Fatal(err)
			}
			requests := make([]fgd.Request, len(sequence))
			for i, p := range sequence {
				requests[i] = t.Pods[p].Request
			}
			decisions := 0
			for b.Loop() {
				b.StopTimer()
				c, err := fgd.New(fgd.Config{Rank: rank, MaxJobs: maxJobs}, t.Nodes, t.Target)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				for _, r := range requests {
					c.Place(r)
				}
				decisions += len(sequence)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(decisions), "ns/decision")
		})
	}
}
