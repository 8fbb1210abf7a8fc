package bench

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var (
	manySites      = flag.Int("many-sites", 90, "sites of TestAskingTheBestSites")
	manySitesNodes = flag.Int("many-sites-nodes", 1000, "nodes of eight GPUs at all sites together, and one each at the least")
	manySitesJobs  = flag.Int("many-sites-jobs", 60, "jobs of TestAskingTheBestSites, in a day")
	manySitesDays  = flag.Int("many-sites-draws", 1, "draws of jobs and of sites, each replayed with all sites asked and with some")
	onlySome       = flag.Bool("only-some", false, "do not replay with all sites asked")
	manySitesPprof = flag.String("many-sites-profiles", "", "folder for a CPU profile of each tenth of the jobs and a heap profile at its end")
)

// Of many sites a few are asked for each job. It costs little, and saves most of the work.
func TestAskingTheBestSites(t *testing.T) {
	var dearer []float64
	var before, after float64
	for draw := range *manySitesDays {
		s := scenarioOfSites(t, *manySites, *manySitesJobs, draw)
		some, used := replayAsking(t, s, 0)
		after += used.Seconds()
		t.Logf("draw %d, 64 sites asked: %s, %d MB at the most", draw, some.line(used), peakMB())
		if *onlySome {
			continue
		}
		all, used := replayAsking(t, s, *manySites)
		before += used.Seconds()
		t.Logf("draw %d, all sites asked: %s", draw, all.line(used))
		dearer = append(dearer, 100*(some.jobsUSD/all.jobsUSD-1))
	}
	if len(dearer) == 0 {
		return
	}
	i := bootstrapInterval(dearer)
	t.Logf("%d sites, %d jobs, %d draws: the objective is %+.2f %% [%+.2f..%+.2f], CPU %.1f s in place of %.1f", *manySites, *manySitesJobs, len(dearer), i.Mean, i.Low, i.High, after, before)
	if i.Mean > 5 {
		t.Errorf("asking some sites costs %.1f %% more", i.Mean)
	}
}

// An askedRun is the outcome of a replay.
type askedRun struct {
	jobsUSD      float64 // the objective without idle draw
	placed, jobs int
	late         int
	wait         time.Duration
}

func (r askedRun) line(cpu time.Duration) string {
	return fmt.Sprintf("$%.2f, %d of %d jobs placed, %d late, mean wait %v, %.1f CPU-s", r.jobsUSD, r.placed, r.jobs, r.late, r.wait.Round(time.Second), cpu.Seconds())
}

// replayAsking replays a scenario with so many sites asked for each job, and returns what it came to and what CPU
// time it took.
func replayAsking(t *testing.T, s spec.Scenario, most int) (askedRun, time.Duration) {
	t.Helper()
	began, tenths := processTime(), 0
	calls, asked := 0, 0 // and how many bids for a job they asked for
	count := func(m protocol.Message) error {
		switch b := m.Body.(type) {
		case protocol.CallForBids:
			calls++
		case protocol.Bids:
			asked += len(b.Jobs)
		}
		return nil
	}
	profileTenth(t, 1)
	progress := func(now protocol.Time, ended int) { // of runs of an hour and more
		if done := 10 * ended / *manySitesJobs; done > tenths && *manySitesJobs >= 10_000 {
			tenths = done
			t.Logf("%v: %d jobs have ended, %.1f CPU-s, %d MB at the most; %d calls, %d bids for a job", now, ended, (processTime() - began).Seconds(), peakMB(), calls, asked)
			profileTenth(t, done+1)
		}
	}
	res, err := scenarios.Replay(t.Context(), s, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{MostSites: most, NoBids: true, Progress: progress, Record: count})
	if err != nil {
		t.Fatal(err)
	}
	x := res.Totals
	return askedRun{jobsUSD: x.JobsUSD, placed: x.Placed, jobs: x.Jobs, late: x.Late, wait: time.Duration(x.WaitS.Mean * float64(time.Second))}, processTime() - began
}

// profileTenth ends the profiles of the tenth of the jobs before this one and, of ten, begins that of this one.
func profileTenth(t *testing.T, tenth int) {
	t.Helper()
	if *manySitesPprof == "" {
		return
	}
	pprof.StopCPUProfile()
	create := func(kind string, of int) *os.File {
		f, err := os.Create(filepath.Join(*manySitesPprof, fmt.Sprintf("%s-%02d.pprof", kind, of)))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if tenth > 1 {
		heap := create("heap", tenth-1)
		if err := errors.Join(pprof.Lookup("allocs").WriteTo(heap, 0), heap.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if tenth <= 10 {
		if err := pprof.StartCPUProfile(create("cpu", tenth)); err != nil { // the file is closed with the process
			t.Fatal(err)
		}
	}
}

// processTime returns the user and system time of this process.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMB returns the most resident memory that this process has had, in megabytes.
func peakMB() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Maxrss) / 1000
}

// scenarioOfSites returns a day at so many sites like those of six-regions, each with prices and carbon of its
// own, and nodes of eight V100.
func scenarioOfSites(t *testing.T, sites, jobs, draw int) spec.Scenario {
	t.Helper()
	regions := []struct{ price, swing, carbon, carbonSwing int }{{19, 29, 43, 52}, {90, 66, 452, 161}, {52, 49, 277, 145}, {42, 80, 661, 173}, {94, 67, 82, 26}, {31, 44, 419, 128}}
	var b strings.Builder
	fmt.Fprintf(&b, "name: many-sites\nseed: %d\nstart: 2026-03-11T00:00:00Z\njobs: {count: %d}\nsites:\n", draw+1, jobs)
	for i := range sites {
		r := regions[i%len(regions)]
		by := 70 + (i*37+draw*11)%61 // per cent
		fmt.Fprintf(&b, "  - {name: site-%04d, region: {price: {mean: %d, swing: %d}, carbon: {mean: %d, swing: %d}, match: 0.5, peak: 18}, day_ahead: true, pue: 1.1, fleet: [{count: %d, model: V100, gpus: 8, cpu: 96, memory: 512}]}\n",
			i, r.price*by/100, r.swing*by/100, r.carbon*by/100, r.carbonSwing*by/100, max(1, *manySitesNodes/sites))
	}
	file := filepath.Join(t.TempDir(), "many-sites.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := spec.LoadScenario(file, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
