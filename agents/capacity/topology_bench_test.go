package capacity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// rackedFleet returns a fleet of nodes of 8 GPUs in racks of 16, blocks of 4 racks and zones of 2 blocks, three
// quarters taken by jobs of 1 to 8 GPUs.
func rackedFleet(b *testing.B, nodes int) (*Fleet, *rand.Rand) {
	all := make([]Node, nodes)
	for i := range all {
		all[i] = inRack(fmt.Sprintf("n%05d", i), fmt.Sprintf("z%d", i/128), fmt.Sprintf("r%d", i/16%4))
		all[i].Topology = slices.Insert(all[i].Topology, 1, protocol.Label{Key: "block", Value: fmt.Sprintf("b%d", i/64%2)})
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

// BenchmarkRequiredLevel quotes a gang that requires one rack or zone, and one whose pods go in groups in racks
// and blocks of a zone, while jobs come and go, beside the same gang without a wish, and with domains that are
// found anew by a scan of all nodes.
func BenchmarkRequiredLevel(b *testing.B) {
	const rack, zone, groups, scan = "rack required", "zone required", "groups in racks, blocks and a zone", ", scan of all nodes"
	for _, tc := range []struct {
		nodes, gpus int
		hows        []string
	}{{1213, 32, []string{"no wish", rack, rack + scan}}, {12130, 512, []string{"no wish", zone, zone + scan, groups, groups + scan}}} {
		f, dice := rackedFleet(b, tc.nodes)
		for _, how := range tc.hows {
			b.Run(fmt.Sprintf("%d GPUs by 4 on %d nodes, %s", tc.gpus, tc.nodes, how), func(b *testing.B) {
				g := gang("gang", tc.gpus/4, 4, 1)
				how, scans := strings.CutSuffix(how, scan)
				switch how {
				case rack:
					g.RequiredTopology = "rack"
				case groups:
					g.Groups = []protocol.PodGroup{{Level: "block", Pods: 32}, {Level: "rack", Pods: 8}}
					fallthrough
				case zone:
					g.RequiredTopology = zoneLevel
				}
				f.quoteGang(noon, &g, "V100", time.Hour)
				fits, took := 0, make([]time.Duration, 0, b.N)
				b.ResetTimer()
				for i := range b.N {
					id := protocol.JobID(fmt.Sprint(dice.IntN(tc.nodes)))
					if r := f.RunOf(id); r != nil {
						f.EndRun(noon, id)
						f.StartRun(noon, job(protocol.JobID(fmt.Sprint("again", i)), r.Job.GPUs), RunConfig{Model: "V100", Run: time.Hour}, 0)
					}
					if scans {
						f.domains = nil
					}
					start := time.Now()
					if _, ok := f.quoteGang(noon, &g, "V100", time.Hour); ok {
						fits++
					}
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "median-ns/set")
				b.ReportMetric(float64(took[0].Nanoseconds()), "best-ns/set")
				b.ReportMetric(float64(fits)/float64(b.N), "fits")
			})
		}
	}
}
