package realdays_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/baseline"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var (
	judge = flag.Bool("judge", false, "replay all recorded days: takes minutes")
	data  = flag.String("data", "../../../shared/data", "folder of the recorded data")
)

// load reads a recorded day, or skips the test.
func load(t *testing.T, name string) spec.Scenario {
	t.Helper()
	if !*judge {
		t.Skip("recorded days take minutes: make real")
	}
	if _, err := os.Stat(*data); err != nil {
		t.Skipf("recorded data is not here: %v", err)
	}
	s, err := spec.LoadScenario(name, spec.Options{Data: *data})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mayLose is on how many days the auction may cost more than some baseline, or
// be late with more jobs than jobs that stay at home.
const mayLose = 1

func TestJudgedAgainstEveryBaseline(t *testing.T) {
	days := slices.DeleteFunc(spec.ShippedNames(), func(name string) bool { return !strings.HasPrefix(name, "real-days/") })
	var lost atomic.Int32
	t.Run("days", func(t *testing.T) {
		for _, name := range days {
			s := load(t, name)
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				totals := make(map[string]history.Totals)
				for _, policy := range judged() {
					began := time.Now()
					res, err := scenarios.Replay(t.Context(), s, policy, new(membus.Bus), scenarios.Options{
						Wall: func() time.Duration { return time.Since(began) },
					})
					if err != nil {
						t.Fatalf("%s: %v", policy, err)
					}
					totals[policy] = res.Totals
				}
				t.Log(row(s, totals))
				if why := loses(totals); why != "" {
					lost.Add(1)
					t.Logf("  lost: %s", why)
				}
			})
		}
	})
	if n := lost.Load(); n > mayLose {
		t.Errorf("the auction lost on %d of %d days; want at most %d", n, len(days), mayLose)
	}
}

// judged returns the auction and the policies that it is judged against.
func judged() []string {
	rules := slices.DeleteFunc(baseline.RuleNames(), func(name string) bool { return name == baseline.RuleCarbonScaler }) // no job of these days is elastic
	return append([]string{scenarios.PolicyAuction}, rules...)
}

// loses says by what the auction lost, or "".
func loses(totals map[string]history.Totals) string {
	ours := totals[scenarios.PolicyAuction]
	var why []string
	for _, policy := range judged()[1:] {
		if theirs := totals[policy]; theirs.ObjectiveUSD < ours.ObjectiveUSD {
			why = append(why, fmt.Sprintf("%s costs $%.2f, the auction $%.2f", policy, theirs.ObjectiveUSD, ours.ObjectiveUSD))
		}
	}
	if home := totals[baseline.RuleHomeFIFO]; home.Late < ours.Late {
		why = append(why, fmt.Sprintf("%d jobs are late, at home %d", ours.Late, home.Late))
	}
	return strings.Join(why, "; ")
}

// row tells a day in one line.
func row(s spec.Scenario, totals map[string]history.Totals) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d jobs:", s.Name, len(s.Jobs))
	for _, policy := range judged() {
		x := totals[policy]
		fmt.Fprintf(&b, "\n  %-20s objective $%10.2f  %8.1f kWh  %8.1f kg  $%9.2f  late %4d  unplaced %3d  wait %8.0f s  %6.1f s",
			policy, x.ObjectiveUSD, x.EnergyKWh, x.CarbonKg, x.CostUSD, x.Late, x.Unplaced, x.WaitS.Mean, x.WallS)
	}
	return b.String()
}

// A day of two thousand recorded jobs has the same ledger each time, over
// either bus.
func TestJudgedLedgerIsTheSameOverEachBus(t *testing.T) {
	s := load(t, "real-days/ordinary_2022-04-13")
	if len(s.Jobs) < 2000 {
		t.Errorf("the day has %d jobs; want 2000", len(s.Jobs))
	}
	nats := func() bus.Bus {
		server, err := natsbus.StartServer(natsbus.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		return server
	}
	var first string
	for _, run := range []struct {
		name string
		hub  bus.Bus
	}{{"over NATS", nats()}, {"over NATS again", nats()}, {"in memory", new(membus.Bus)}} {
		ledger, err := wal.NewWriter(io.Discard, run.name, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := scenarios.Replay(t.Context(), s, scenarios.PolicyAuction, run.hub, scenarios.Options{Record: ledger.AppendMessage})
		if err != nil {
			t.Fatalf("%s: %v", run.name, err)
		}
		digest := ledger.ChainDigest()
		t.Logf("%s: %d messages, ledger %s", run.name, res.Totals.Messages, digest)
		if first == "" {
			first = digest
		}
		if digest != first {
			t.Errorf("%s the ledger is %s; want %s", run.name, digest, first)
		}
	}
}
