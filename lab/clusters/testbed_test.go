//go:build kube

package clusters

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var testbed = flag.Bool("testbed", false, "run the same jobs under kube-scheduler and under the learned rule: takes ten minutes")

// The testbed's jobs: one each testbedGap, in turn with so many GPUs and so long on an H100.
const (
	testbedJobs = 36
	testbedGap  = 1500 * time.Millisecond
)

var (
	testbedGPUs = []int{1, 2, 1, 4, 1, 2, 1, 8, 1}
	testbedRuns = []time.Duration{12 * time.Second, 30 * time.Second, 18 * time.Second, 24 * time.Second}
)

// A testbedRun is the pod of a job, which was submitted at some time.
type testbedRun struct {
	kubetest.FinishedPod
	submitted time.Time
}

// A bill is what all jobs of one run of the testbed came to.
type bill struct {
	runs           int
	joules         float64 // of GPUs and cores at work, overhead of the facility included
	grams          float64
	dollars        float64
	wait, complete time.Duration // means from submission to start and to end
	last           time.Duration // the longest from submission to end
}

// weighted returns money and carbon in dollars, at the market's price of carbon.
func (b bill) weighted() float64 {
	return b.dollars + weights.CarbonCost(protocol.Milligrams(b.grams*1000)).InDollars()
}

// The same jobs on the same nodes of one control plane: first under Kubernetes' own scheduler, then
// under Gridbid with the learned rule in the place of the auction, in three hours of the invented
// regions. Pods of both end after the same time and are metered by the same model. Each job runs once,
// and under the learned rule money and carbon together are less.
func TestTestbedOfTheLearnedRuleBesideTheDefaultScheduler(t *testing.T) {
	if !*testbed {
		t.Skip("it takes ten minutes: make testbed")
	}
	c := kubetest.ClusterUser{Cluster: kubetest.New(t, kubeenv.PlaneOptions{Scheduler: true})}
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.AddNodes(0, "")
	for _, x := range s.Sites {
		c.AddNode(x.Name, "")
	}
	kubeconfig := c.AgentKubeconfig("plugin", "default")
	for _, hour := range []time.Duration{3 * time.Hour, 12 * time.Hour, 19 * time.Hour} {
		at := s.Start.Add(hour)
		stock := billOf(t, s, at, runStockScheduler(c))
		gridbid := billOf(t, s, at, runLearnedRule(t, c, s, at, kubeconfig))
		t.Logf("prices and carbon of %02.0f:00\n%-22s%s\n%-22s%s\n%-22senergy %+.1f %%, carbon %+.1f %%, money %+.1f %%, both %+.1f %%, completion %+.1f %%", hour.Hours(),
			"kube-scheduler", stock, "gridbid, "+scenarios.PolicyGreensched, gridbid, "difference", percent(stock.joules, gridbid.joules), percent(stock.grams, gridbid.grams),
			percent(stock.dollars, gridbid.dollars), percent(stock.weighted(), gridbid.weighted()), percent(stock.complete.Seconds(), gridbid.complete.Seconds()))
		if gridbid.weighted() >= stock.weighted() {
			t.Errorf("money and carbon come to $%.6f under the learned rule and $%.6f under kube-scheduler", gridbid.weighted(), stock.weighted())
		}
	}
}

// percent returns by how many per cent y is more than x.
func percent(x, y float64) float64 { return 100 * (y/x - 1) }

// String tells a bill in a row.
func (b bill) String() string {
	return fmt.Sprintf("%d jobs, %.3f kWh, %.1f g CO2, $%.5f, waited %.1f s, completed in %.1f s, the longest in %.1f s",
		b.runs, b.joules/3.6e6, b.grams, b.dollars, b.wait.Seconds(), b.complete.Seconds(), b.last.Seconds())
}

// arrivals calls submit for each job at its time, and returns when each was submitted.
func arrivals(submit func(id string, gpus int, run time.Duration)) map[string]time.Time {
	at := make(map[string]time.Time)
	next := time.Now()
	for i := range testbedJobs {
		time.Sleep(time.Until(next))
		id := fmt.Sprintf("job-%02d", i)
		at[id] = time.Now()
		submit(id, testbedGPUs[i%len(testbedGPUs)], testbedRuns[i%len(testbedRuns)])
		next = next.Add(testbedGap)
	}
	return at
}

// runStockScheduler runs the jobs under the cluster's own scheduler, and removes them.
func runStockScheduler(c kubetest.ClusterUser) []testbedRun {
	at := arrivals(func(id string, gpus int, run time.Duration) {
		c.CreateJob(kubetest.JobRequest{Name: id, GPUs: int64(gpus), Run: run, Unsuspended: true, Labels: map[string]string{}, Annotations: map[string]string{}})
	})
	for id := range at {
		c.AwaitJob(id, "complete", func(v kubetest.JobView) bool { return v.IsComplete })
	}
	return takeRuns(c, at, func(p kubetest.FinishedPod) string { return p.Owner })
}

// runLearnedRule runs the jobs under Gridbid, whose sites have one node each, and removes them.
func runLearnedRule(t *testing.T, c kubetest.ClusterUser, s spec.Scenario, hour protocol.Time, kubeconfig string) []testbedRun {
	hub := newHub()
	market, ctx := openUnder(t, hub, scenarios.PolicyGreensched)
	sub := newSubmitter(t, hub)
	for _, x := range s.Sites {
		c.SetNodeOwner(x.Name, x.Name)
		stop := market.add(ctx, t, LiveSite{
			Config:     executor.Config{Site: x.Name, Sharing: kube.SharingDevicePlugin, Power: uncappedH100(t)},
			Kubeconfig: kubeconfig,
			Price:      protocol.Microdollars(valueAt(x, protocol.GridPrice, hour)), Carbon: protocol.Milligrams(valueAt(x, protocol.GridCarbon, hour)), PUE: protocol.Milli(valueAt(x, protocol.GridPUE, hour)),
		})
		defer c.SetNodeOwner(x.Name, "")
		defer stop()
	}
	hub.await(t, len(s.Sites))
	h100, _ := power.DefaultTable().LookupModel("H100")
	at := arrivals(func(id string, gpus int, run time.Duration) {
		sub.submitJob(newJob(id, gpus, 1000, run*time.Duration(h100.Speed)/1000), run, nil)
	})
	sub.await(testbedJobs, 5*time.Minute)
	return takeRuns(c, at, func(p kubetest.FinishedPod) string { return p.Job })
}

// uncappedH100 returns a table of H100s without power caps, since no daemon sets one on these nodes.
func uncappedH100(t *testing.T) power.Table {
	t.Helper()
	g, _ := power.DefaultTable().LookupModel("H100")
	g.Caps = nil
	table, err := power.DefaultTable().WithGPU(g)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// takeRuns returns the runs of the jobs that were submitted, one of each, and removes them from the
// cluster. jobOf names a pod's job.
func takeRuns(c kubetest.ClusterUser, at map[string]time.Time, jobOf func(kubetest.FinishedPod) string) (all []testbedRun) {
	c.Helper()
	ran := make(map[string]int)
	for _, p := range c.AllFinishedPods() {
		id := jobOf(p)
		ran[id]++
		all = append(all, testbedRun{p, at[id]})
	}
	for id := range at {
		if ran[id] != 1 {
			c.Errorf("%s ran %d times to its end", id, ran[id])
		}
	}
	if len(ran) != len(at) {
		c.Errorf("pods of %d jobs ended; want %d", len(ran), len(at))
	}
	c.DeleteAllJobs()
	return all
}

// billOf meters the pods of a run by the power model, at the grids of an hour.
func billOf(t *testing.T, s spec.Scenario, hour protocol.Time, all []testbedRun) (b bill) {
	t.Helper()
	g, _ := power.DefaultTable().LookupModel("H100")
	for _, r := range all {
		i := slices.IndexFunc(s.Sites, func(x spec.Site) bool { return x.Name == r.Node })
		if i < 0 || r.GPUs == 0 {
			t.Fatalf("%+v: it ran on no node of the testbed, or without GPUs", r)
		}
		site := s.Sites[i]
		draw := power.JobPower(g, power.Choice{Draw: g.Load}, power.DefaultHost(8), protocol.Milli(1000*r.GPUs), 4000)
		joules := float64(draw) / 1000 * r.Ended.Sub(r.Started).Seconds() * valueAt(site, protocol.GridPUE, hour) / 1000
		b.runs++
		b.joules += joules
		b.grams += joules / 3.6e6 * valueAt(site, protocol.GridCarbon, hour) / 1000
		b.dollars += joules / 3.6e6 * valueAt(site, protocol.GridPrice, hour) / 1e6
		b.wait += r.Started.Sub(r.submitted) / testbedJobs
		b.complete += r.Ended.Sub(r.submitted) / testbedJobs
		b.last = max(b.last, r.Ended.Sub(r.submitted))
	}
	return b
}

// valueAt returns a site's value of a quantity in an hour: microdollars or milligrams per kWh, or
// thousandths.
func valueAt(x spec.Site, what protocol.Quantity, hour protocol.Time) float64 {
	points := x.Signals[what]
	i := len(points) - 1
	for i > 0 && points[i].At > hour {
		i--
	}
	return float64(points[i].Value)
}
