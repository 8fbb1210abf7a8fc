package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A BenchPlan is what to run: every entry on every day.
type BenchPlan struct {
	Days    []BenchDay
	Entries []string // policies, as scenarios.CanonicalPolicyName reads them
	Steps   int      // of the search for bounds; default 200
	Program string   // names the build, so that rows of another are run again
	Dir     string   // where rows are kept and tables written
	Sweep   bool     // the days differ by weights alone: for the trade-off, not for the summary

	Progress func(format string, args ...any) // told of progress; nil: nobody is
}

// A BenchRow is one replay.
type BenchRow struct {
	Scenario string  `json:"scenario"`
	Hash     string  `json:"hash"` // of the scenario
	Entry    string  `json:"entry"`
	Seed     uint64  `json:"seed"`
	KappaUSD float64 `json:"kappa_usd"` // per tonne
	DelayUSD float64 `json:"delay_usd"` // per GPU-hour waited by who cannot
	Sweep    bool    `json:"sweep,omitempty"`
	Stress   string  `json:"stress,omitempty"` // that the day was put to
	Load     float64 `json:"load"`             // GPU-hours asked for over GPU-hours there are

	JobsUSD     float64 `json:"jobs_usd"` // objective of the jobs alone, idle draw left out
	BoundUSD    float64 `json:"bound_usd"`
	Gap         float64 `json:"gap"` // JobsUSD over BoundUSD, less one
	IdleBound   float64 `json:"idle_bound_usd"`
	IdleGap     float64 `json:"idle_gap"` // the same with idle draw in both
	BusyKg      float64 `json:"busy_kg"`
	BusyCostUSD float64 `json:"busy_cost_usd"`

	Totals history.Totals `json:"totals"`
}

// A boundPair is the bounds of a scenario.
type boundPair struct {
	Jobs float64 `json:"jobs_usd"`
	Idle float64 `json:"idle_usd"`
}

// RunPlan runs what is missing of a plan and returns all rows, by day, then by
// entry. With an error it returns those that it has; a run that does not end, for it
// has too many jobs for its fleets, leaves out its own row and is told of at the end,
// by an error that is a scenarios.ErrJobsUnfinished.
func RunPlan(ctx context.Context, p BenchPlan) ([]BenchRow, error) {
	if p.Progress == nil {
		p.Progress = func(string, ...any) {}
	}
	if err := os.MkdirAll(filepath.Join(p.Dir, "rows"), 0o755); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	var rows []BenchRow
	n := 0
	var endless []error
	for _, d := range p.Days {
		floor, err := p.boundsOf(ctx, d.Scenario)
		if err != nil {
			return rows, err
		}
		for _, entry := range p.Entries {
			if err := ctx.Err(); err != nil {
				return rows, err
			}
			n++
			row, ran, err := p.rowOf(ctx, d.Scenario, entry, floor)
			if err != nil {
				err = fmt.Errorf("bench: %s under %s: %w", d.Name, entry, err)
				if !errors.Is(err, scenarios.ErrJobsUnfinished) {
					return rows, err
				}
				p.Progress("%d/%d %s seed %d %s: no row, it did not end", n, len(p.Days)*len(p.Entries), d.Name, d.Seed, entry)
				endless = append(endless, err)
				continue
			}
			row.Sweep, row.Stress = p.Sweep, d.Stress
			rows = append(rows, row)
			word := "kept"
			if ran {
				word = fmt.Sprintf("%.1fs", row.Totals.WallS)
			}
			gap := fmt.Sprintf("%.1f %% over the bound", 100*row.Gap)
			if row.BoundUSD <= 0 {
				gap = fmt.Sprintf("bound $%.2f", row.BoundUSD)
			}
			p.Progress("%d/%d %s seed %d %s: $%.2f, %s, %d late (%s)",
				n, len(p.Days)*len(p.Entries), d.Name, d.Seed, entry, row.JobsUSD, gap, row.Totals.Late, word)
		}
	}
	return rows, errors.Join(endless...)
}

// boundsOf returns the bounds of a scenario, kept or computed.
func (p BenchPlan) boundsOf(ctx context.Context, s spec.Scenario) (b boundPair, err error) {
	path := p.cacheFile("bound", s.Hash, fmt.Sprint(s.Weights), fmt.Sprint(p.Steps))
	if readCached(path, &b) {
		return b, nil
	}
	p.Progress("%s seed %d: computing its bound", s.Name, s.Seed)
	for idle, to := range map[bool]*float64{false: &b.Jobs, true: &b.Idle} {
		c, err := bound.ComputeCertificate(s, bound.Config{Steps: p.Steps, Idle: idle, Stop: ctx.Err})
		if err != nil {
			return b, err
		}
		*to = c.BoundUSD
	}
	return b, writeCached(path, b)
}

// rowOf returns one row, and whether it had to be run.
func (p BenchPlan) rowOf(ctx context.Context, s spec.Scenario, entry string, floor boundPair) (r BenchRow, ran bool, err error) {
	path := p.cacheFile(s.Name+"-"+scenarios.FileStem(entry), s.Hash, entry, fmt.Sprint(s.Weights))
	if readCached(path, &r) {
		return rowOfTotals(s, entry, r.Totals, floor), false, nil // against the bounds of now: of more steps, maybe
	}
	began := time.Now()
	res, err := scenarios.Replay(ctx, s, entry, new(membus.Bus), scenarios.Options{Wall: func() time.Duration { return time.Since(began) }})
	if err != nil {
		return r, false, err
	}
	r = rowOfTotals(s, entry, res.Totals, floor)
	return r, true, writeCached(path, r)
}

// rowOfTotals makes a row of a replay's totals.
func rowOfTotals(s spec.Scenario, entry string, t history.Totals, floor boundPair) BenchRow {
	kappa := s.Weights.Kappa.InDollars()
	r := BenchRow{
		Scenario: s.Name, Hash: s.Hash, Entry: entry, Seed: s.Seed, KappaUSD: kappa, DelayUSD: s.Weights.Delay.InDollars(), Load: scenarios.GPULoad(s),
		JobsUSD:  t.JobsUSD,
		BoundUSD: floor.Jobs, IdleBound: floor.Idle,
		BusyKg: t.CarbonKg - t.IdleKg, BusyCostUSD: t.CostUSD - t.IdleUSD, Totals: t,
	}
	if floor.Jobs > 0 {
		r.Gap = r.JobsUSD/floor.Jobs - 1
	}
	if floor.Idle > 0 {
		r.IdleGap = t.ObjectiveUSD/floor.Idle - 1
	}
	return r
}

// cacheFile names what is kept of a row by all that it depends on.
func (p BenchPlan) cacheFile(name string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append(parts, p.Program), "\x00")))
	return filepath.Join(p.Dir, "rows", name+"-"+hex.EncodeToString(sum[:8])+".json")
}

// readCached reads what was kept. A file that cannot be read is as none: its row is
// run again and the file replaced.
func readCached(path string, to any) bool {
	text, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(text, to) == nil
}

// writeCached keeps a row or a bound.
func writeCached(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.ReplaceFile(path, append(text, '\n'), 0o644)
}
