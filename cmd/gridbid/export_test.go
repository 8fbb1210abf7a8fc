package main

import (
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/history"
)

// replayTwoPolicies replays few jobs under two policies and returns the run's folder.
func replayTwoPolicies(t *testing.T, flags ...string) string {
	t.Helper()
	run := t.TempDir()
	args := append([]string{"--policy", "auction,home-fifo", "--bus", "mem", "--no-bound", "--max-jobs", "30", "--run", run}, flags...)
	if _, stderr, err := execute(newReplayCommand(), args...); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	return run
}

// columnSums returns the sums of the numbers of a CSV by policy and column, and its rows as "rows".
func columnSums(t *testing.T, path string) map[string]map[string]float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	sums := make(map[string]map[string]float64)
	for _, row := range rows[1:] {
		of := sums[row[1]] // the policy
		if of == nil {
			of = make(map[string]float64)
			sums[row[1]] = of
		}
		of["rows"]++
		for i, cell := range row {
			if v, err := strconv.ParseFloat(cell, 64); err == nil {
				of[rows[0][i]] += v
			}
		}
	}
	return sums
}

// What is exported adds up to the replay's table.
func TestTheExportAddsUpToTheTable(t *testing.T) {
	run, out := replayTwoPolicies(t), t.TempDir()
	if _, stderr, err := execute(newExportCommand(), "--run", run, "--table", "jobs,sites,rounds,bids,signals", "--out", out); err != nil {
		t.Fatalf("export: %v\n%s", err, stderr)
	}
	totals, err := readTotals(run)
	if err != nil || len(totals) != 2 {
		t.Fatalf("%d policies, %v", len(totals), err)
	}
	jobs, sites := columnSums(t, filepath.Join(out, "jobs.csv")), columnSums(t, filepath.Join(out, "sites.csv"))
	rounds, bids := columnSums(t, filepath.Join(out, "rounds.csv")), columnSums(t, filepath.Join(out, "bids.csv"))
	for _, want := range totals {
		j, s, r := jobs[want.Policy], sites[want.Policy], rounds[want.Policy]
		for _, sum := range []struct {
			name      string
			got, want float64
		}{
			{"jobs", j["rows"], float64(want.Jobs)},
			{"energy", j["energy_kwh"] + s["idle_energy_kwh"], want.EnergyKWh},
			{"energy of jobs and of sites", j["energy_kwh"], s["jobs_energy_kwh"]},
			{"carbon", j["carbon_kg"] + s["correction_carbon_kg"] + s["idle_carbon_kg"], want.CarbonKg},
			{"idle carbon", s["idle_carbon_kg"], want.IdleKg},
			{"energy cost", j["energy_usd"] + s["correction_energy_usd"], want.JobsEnergyUSD},
			{"idle cost", s["idle_energy_usd"], want.IdleUSD},
			{"transfer", j["transfer_usd"], want.TransferUSD},
			{"delay", j["delay_usd"], want.DelayUSD},
			{"lateness", j["late_usd"], want.LateUSD},
			{"payments", j["paid_usd"], want.PaidUSD},
			{"mean wait", j["wait_s"] / float64(want.Placed), want.WaitS.Mean},
			{"rounds", r["rows"], float64(want.Rounds)},
			{"awards", r["awards"], float64(want.Awards)},
			{"holds", r["holds"], float64(want.Holds)},
		} {
			if math.Abs(sum.got-sum.want) > 1e-6*max(1, math.Abs(sum.want)) {
				t.Errorf("%s: %s is %v in the export; want %v", want.Policy, sum.name, sum.got, sum.want)
			}
		}
		if bids[want.Policy]["rows"] < j["rows"] {
			t.Errorf("%s: %v bids of %v jobs", want.Policy, bids[want.Policy]["rows"], j["rows"])
		}
	}
}

func TestExportRefusesWrongFlags(t *testing.T) {
	run := ledgerOf(t, "auction")
	for _, tc := range []struct{ flags, want string }{
		{"--table,houses", `--table: no table "houses": want jobs, sites, rounds, bids, signals, payments, charges`},
		{"--format,xlsx", `--format: no format "xlsx": want csv, json, parquet`},
		{"--table,jobs,--table,sites", "standard output takes one table"},
		{"--policy,home-fifo", "no ledger of policy"},
	} {
		_, _, err := execute(newExportCommand(), append(strings.Split(tc.flags, ","), "--run", run)...)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", tc.flags, err, tc.want)
		}
	}
	// A ledger without the rest of a replay, as that of a live federation, can be exported too.
	out, _, err := execute(newExportCommand(), "--run", run)
	if err != nil || strings.Count(out, "\n") != 3 || !strings.Contains(out, "train-1") {
		t.Errorf("export of a ledger alone: %v\n%s", err, out)
	}
	if run, err := readRunTables(run, "auction", history.Config{}, nil); err != nil || run.Meta.Weights.Carbon != 100_000 {
		t.Errorf("its weights are %+v, %v; want those of its round", run.Meta.Weights, err)
	}
}
