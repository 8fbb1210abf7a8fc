package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/baseline"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var (
	elasticDraws  = flag.Int("elastic.draws", 0, "measure elastic jobs against rigid ones on so many draws of a recorded day")
	elasticCurve  = flag.String("elastic.curve", "resnet18", "the speed-up curve")
	elasticShare  = flag.Float64("elastic.share", 0.5, "the share of jobs that are elastic, of those that can be")
	elasticJobs   = flag.Int("elastic.jobs", 2000, "jobs of a draw")
	elasticFolder = flag.String("elastic.data", "../../../shared/data", "the folder of the recorded data")
)

// elasticDay is the ordinary day, some of whose jobs are elastic.
const elasticDay = `name: elastic
about: "The ordinary day, and some of its jobs are elastic."
seed: 1
window: {file: "${data}/scenarios/ordinary_2022-04-13.csv"}
jobs: {trace: "${data}/workload/philly_2017.csv.gz", max: 2000, one_node: true, elastic: {share: SHARE, curve: CURVE}}
nodes: {file: "${data}/workload/nodes_alibaba_gpu_v2023.csv", scale: auto}
`

// elasticRuns are what is replayed of each draw: jobs that can scale, the same that can only be paused, and the
// same that can do neither.
var elasticRuns = []struct{ jobs, policy string }{
	{"rigid", scenarios.PolicyAuction}, {"pausable", scenarios.PolicyAuction}, {"elastic", scenarios.PolicyAuction},
	{"elastic", baseline.RuleCarbonScaler}, {"pausable", baseline.RuleSuspendResume}, {"rigid", "home-fifo"},
}

// elasticPairs are the comparisons, by index of elasticRuns.
var elasticPairs = [][2]int{{2, 0}, {1, 0}, {2, 1}, {2, 3}, {3, 4}, {3, 5}}

// TestElasticAgainstRigid measures what elastic jobs are worth, and where CarbonScaler stands. It needs the data,
// and judges nothing: one day is no proof.
func TestElasticAgainstRigid(t *testing.T) {
	if *elasticDraws == 0 {
		t.Skip("measure with -elastic.draws N")
	}
	rows := make([][]BenchRow, len(elasticRuns))
	for draw := 1; draw <= *elasticDraws; draw++ {
		elastic, rigid := loadElasticDay(t, *elasticShare, draw), loadElasticDay(t, 0, draw)
		days := map[string]spec.Scenario{"elastic": elastic, "rigid": rigid, "pausable": withPausesOf(rigid, elastic)}
		for i, run := range elasticRuns {
			res, err := scenarios.Replay(t.Context(), days[run.jobs], run.policy, new(membus.Bus), scenarios.Options{NoBids: true})
			if err != nil {
				t.Fatalf("draw %d, %s under %s: %v", draw, run.jobs, run.policy, err)
			}
			row := rowOfTotals(days[run.jobs], run.policy, res.Totals, boundPair{})
			row.Draw = draw
			rows[i] = append(rows[i], row)
			t.Logf("draw %2d: %-8s %-14s objective of jobs $%.2f, energy and carbon $%.2f, %.2f kg, mean wait %.1f min, late %d", draw, run.jobs, run.policy,
				row.JobsUSD, row.BusyCostUSD, row.BusyKg, row.Totals.WaitS.Mean/60, row.Totals.Late)
		}
	}
	for _, p := range elasticPairs {
		var pairs []runPair
		for i := range rows[p[0]] {
			pairs = append(pairs, runPair{rows[p[0]][i], rows[p[1]][i]})
		}
		ours, reference := elasticRuns[p[0]], elasticRuns[p[1]]
		for _, f := range pairedFigures {
			d := f.compare(ours.policy, reference.policy, pairs)
			scale := 1.0
			if f.unit == "%" {
				scale = 100
			}
			t.Logf("%s %s against %s %s, %s: %+.1f %s (%+.1f to %+.1f), %s", ours.jobs, ours.policy, reference.jobs, reference.policy, f.head, scale*d.Mean, f.unit, scale*d.Low, scale*d.High, d.Verdict)
		}
	}
}

// loadElasticDay loads a draw of the day with a share of elastic jobs.
func loadElasticDay(t *testing.T, share float64, draw int) spec.Scenario {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	text := strings.NewReplacer("SHARE", fmt.Sprint(share), "CURVE", *elasticCurve).Replace(elasticDay)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := spec.LoadScenario(file, spec.Options{Data: *elasticFolder, Draw: draw, MaxJobs: *elasticJobs})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withPausesOf returns a day whose jobs can be paused as those of another day, and are as they were else.
func withPausesOf(rigid, elastic spec.Scenario) spec.Scenario {
	jobs := make([]protocol.Job, len(rigid.Jobs))
	for i, j := range rigid.Jobs {
		j.Pause, j.State = elastic.Jobs[i].Pause, elastic.Jobs[i].State
		jobs[i] = j
	}
	rigid.Jobs = jobs
	return rigid
}
