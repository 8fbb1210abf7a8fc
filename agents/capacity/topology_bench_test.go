package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// rackedFleet returns a fleet of nodes of 8 GPUs in racks of 16 and zones of 8 racks, three quarters taken by
// jobs of 1 to 8 GPUs.
func rackedFleet(b *testing.B, nodes int) (*Fleet, *rand.Rand) {
	all := make([]Node, nodes)
	for i := range all {
		all[i] = inRack(fmt.Sprintf("n%05d", i), fmt.Sprintf("z%d", i/128), fmt.Sprintf("r%d", i/16%8))
	}
	f, err := New(Config{Nodes: all, Power: power.DefaultTable()})
	if err != nil {
		b.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for i := 0; ; i++ {
		j := job(protocol.JobID(fmt.Sprint(i)), 1<<dice.IntN(4))
		f.ObserveArrival(j)
		if idle, _ := f.IdleGPUs(); int(idle) < nodes*2000 {
			return f, dice
		}
		f.StartRun(noon, j, RunConfig{Model: "V100", Run: time.Hour}, 0)
	}
}

// BenchmarkRequiredLevel quotes a gang that requires one rack or zone, while jobs come and go, beside the same
// gang without a wish, and with domains that are found anew by a scan of all nodes.
func BenchmarkRequiredLevel(b *testing.B) {
	for _, tc := range []struct {
		nodes, gpus int
		level       string
	}{{1213, 32, "rack"}, {12130, 512, zoneLevel}} {
		f, dice := rackedFleet(b, tc.nodes)
		for _, how := range []string{"no wish", tc.level + " required", tc.level + " required, scan of all nodes"} {
			b.Run(fmt.Sprintf("%d GPUs by 4 on %d nodes, %s", tc.gpus, tc.nodes, how), func(b *testing.B) {
				g := gang("gang", tc.gpus/4, 4, 1)
				if how != "no wish" {
					g.RequiredTopology = tc.level
				}
				best, spent, fits := time.Duration(math.MaxInt64), time.Duration(0), 0
				for i := range b.N {
					id := protocol.JobID(fmt.Sprint(dice.IntN(tc.nodes)))
					if r := f.RunOf(id); r != nil {
						f.EndRun(noon, id)
						f.StartRun(noon, job(protocol.JobID(fmt.Sprint("again", i)), r.Job.GPUs), RunConfig{Model: "V100", Run: time.Hour}, 0)
					}
					if how != "no wish" && how != tc.level+" required" {
						f.domains = nil
					}
					start := time.Now()
					if _, ok := f.quoteGang(noon, &g, "V100", time.Hour); ok {
						fits++
					}
					took := time.Since(start)
					spent, best = spent+took, min(best, took)
				}
				b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/set")
				b.ReportMetric(float64(best.Nanoseconds()), "best-ns/set")
				b.ReportMetric(float64(fits)/float64(b.N), "fits")
			})
		}
	}
}
