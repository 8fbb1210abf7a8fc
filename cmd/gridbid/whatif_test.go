package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A site that is down in a window runs nothing then, and runs jobs outside it.
func TestAnOutageIsPlayedInItsWindow(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 60})
	if err != nil {
		t.Fatal(err)
	}
	type span struct{ from, to protocol.Time }
	runs := func(s spec.Scenario) (all map[string][]span) {
		res, err := scenarios.Replay(t.Context(), s, scenarios.PolicyAuctionNow, new(membus.Bus), scenarios.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all = make(map[string][]span)
		for _, id := range res.History.JobIDs() {
			if r, _ := res.History.LatestJob(id); r.Run != nil {
				all[r.Run.Site] = append(all[r.Run.Site], span{r.Run.Started, r.Run.Ended})
			}
		}
		return all
	}
	during := func(all []span, from, to protocol.Time) (n int) {
		for _, x := range all {
			if x.from < to && x.to > from {
				n++
			}
		}
		return n
	}
	before := runs(s)
	busiest := slices.MaxFunc(s.Sites, func(a, b spec.Site) int { return len(before[a.Name]) - len(before[b.Name]) }).Name
	mine := before[busiest]
	slices.SortFunc(mine, func(a, b span) int { return int(a.from - b.from) })
	from := mine[len(mine)/2].from.Add(-time.Minute)
	to := from.Add(2 * time.Hour)
	now := runs(applyDayChange(s, query.DayChange{Down: busiest, From: from, To: to, Carbon: -1}))[busiest]
	if n := during(mine, from, to); n == 0 {
		t.Fatalf("nothing ran at %s in the window, so nothing is tested", busiest)
	}
	if n := during(now, from.Add(1), to); n != 0 {
		t.Errorf("%d jobs run at %s while it is down", n, busiest)
	}
	if during(now, 0, from)+during(now, to, protocol.Time(1<<62)) == 0 {
		t.Errorf("nothing runs at %s outside the window either", busiest)
	}
}

func TestOutagesStayInOrderAndApart(t *testing.T) {
	out := func(all ...protocol.Time) (o []spec.Outage) {
		for i := 0; i < len(all); i += 2 {
			o = append(o, spec.Outage{From: all[i], To: all[i+1]})
		}
		return o
	}
	had := out(10, 20, 40, 50)
	for _, tc := range []struct{ add, want []spec.Outage }{
		{out(1, 5), out(1, 5, 10, 20, 40, 50)}, {out(25, 30), out(10, 20, 25, 30, 40, 50)}, {out(15, 45), out(10, 50)},
		{out(20, 30), out(10, 30, 40, 50)}, {out(60, 70), out(10, 20, 40, 50, 60, 70)}, {out(12, 14), out(10, 20, 40, 50)},
	} {
		if got := tc.add[0].MergeInto(had); !slices.Equal(got, tc.want) {
			t.Errorf("%v and %v: %v; want %v", had, tc.add, got, tc.want)
		}
	}
}

// A ledger names its scenario as that calls itself, which is not how it ships.
func TestTheScenarioOfALedgerIsFound(t *testing.T) {
	t.Chdir("../..")
	for _, what := range spec.ShippedNames() {
		if _, err := os.Stat("../shared/data"); err != nil && what != spec.DefaultScenario {
			t.Skip("no recorded data")
		}
		s, err := spec.LoadScenario(what, spec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, policy, err := scenarioOf(ledgerOfScenario(t, s)); err != nil || got.Hash != s.Hash || policy != "auction" {
			t.Errorf("%s: %v, policy %q", what, err, policy)
		}
	}
}

// What-ifs find the data of a run that lies elsewhere, and say how.
func TestTheDataOfALedgersScenarioMayLieElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	data := t.TempDir()
	if err := os.Mkdir("day", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(data, "jobs.csv"): "job_id,submit_s,duration_s,gpus,vc\na,0,600,1,v\n",
		filepath.Join("day", "scenario.yaml"): `name: day
start: 2022-04-13T00:00:00Z
sites:
  - name: oslo
    region: {price: {mean: 50, swing: 40}, carbon: {mean: 300, swing: 120}, match: 0.4}
    fleet: [{count: 1, model: T4, gpus: 2, cpu: 16, memory: 64}]
jobs: {trace: "${data}/jobs.csv", from: 0}
`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := spec.LoadScenario("day", spec.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	path := ledgerOfScenario(t, s)
	t.Setenv("GRIDBID_DATA", data)
	if got, _, err := scenarioOf(path); err != nil || got.Hash != s.Hash {
		t.Errorf("with GRIDBID_DATA: %v", err)
	}
	t.Setenv("GRIDBID_DATA", "")
	if _, _, err := scenarioOf(path); err == nil || !strings.Contains(err.Error(), "GRIDBID_DATA") {
		t.Errorf("without: %v; want to be told of GRIDBID_DATA", err)
	}
}

// What-ifs know every name that a replay takes, also of runs that were not replayed.
func TestWhatIfsNameWhatSitesKnow(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := query.NewDataset(nil)
	log.SetReplay(whatIfReplay(t.Context(), recordSource{path: ledgerOfScenario(t, s)}, io.Discard))
	q, back := log.ParseQuestion("compare auction/perfect with home-fifo")
	if back != nil || !slices.Equal(q.Policies, []string{"auction/perfect", "home-fifo"}) {
		t.Errorf("read as %v, %+v", q.Policies, back)
	}
}

// A run that was replayed with flags which change the scenario is replayed with them.
func TestWhatIfsAreAnsweredOfARunWithFlags(t *testing.T) {
	for _, flags := range [][]string{
		{"--max-jobs", "40"}, {"--max-jobs", "40", "--kappa", "120", "--carbon", "marginal", "--seed", "3"},
	} {
		run := t.TempDir()
		if _, stderr, err := execute(newReplayCommand(), append([]string{"--policy", "auction", "--bus", "mem", "--no-bound", "--run", run}, flags...)...); err != nil {
			t.Fatalf("replay: %v\n%s", err, stderr)
		}
		path := filepath.Join(run, "auction.ledger")
		log, err := readRun(recordSource{path: path}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		log.SetReplay(whatIfReplay(t.Context(), recordSource{path: path}, io.Discard))
		if a := log.AnswerQuestion("what if the carbon price were 300"); a.Kind != "answer" || len(a.Figures) == 0 {
			t.Errorf("%v: %s %q", flags, a.Kind, a.Text)
		}
	}
}

// ledgerOfScenario is a ledger of a replay of s, in which nothing is said.
func ledgerOfScenario(t *testing.T, s spec.Scenario) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "auction.ledger")
	w, err := wal.CreateFile(path, map[string]string{"scenario": s.Name, "hash": s.Hash, "policy": "auction", "seed": strconv.FormatUint(s.Seed, 10)})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestALiveLedgerIsNoReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "auction.ledger")
	w, err := wal.CreateFile(path, map[string]string{"scenario": "six-regions", "policy": "auction", "live": "up"})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := scenarioOf(path); err == nil || !strings.Contains(err.Error(), "not the replay of a scenario") {
		t.Errorf("the scenario of a live ledger: %v; want that it is no replay", err)
	}
}
