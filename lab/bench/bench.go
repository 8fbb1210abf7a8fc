package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A BenchPlan is a benchmark to run: every entry on every day.
type BenchPlan struct {
	Days        []BenchDay
	Entries     []string // policies, as scenarios.CanonicalPolicyName reads them
	Steps       int      // steps of the search for bounds; 0: 200
	Program     string   // fingerprint of the build, so that rows of another build are not reused
	Dir         string   // folder of cached rows and of tables
	SearchSteps int      // of the search for the best schedule of each day; 0: none
	Sweep       bool     // the days differ by weights alone: for the trade-off, not for the summary

	Progress func(format string, args ...any) // called with lines of progress; may be nil
}

// A BenchRow holds the figures of one replay: one entry on one day.
type BenchRow struct {
	Scenario string  `json:"scenario"`
	Hash     string  `json:"hash"` // of the scenario
	Entry    string  `json:"entry"`
	Seed     uint64  `json:"seed"`
	Draw     int     `json:"draw,omitempty"` // of the day's jobs; 0: its own
	KappaUSD float64 `json:"kappa_usd"`      // per tonne
	DelayUSD float64 `json:"delay_usd"`      // per GPU-hour of waiting of jobs that are wanted now
	Sweep    bool    `json:"sweep,omitempty"`
	Stress   string  `json:"stress,omitempty"` // kind of stress day; "" for an ordinary day
	Load     float64 `json:"load"`             // requested GPU-hours over available GPU-hours

	JobsUSD     float64 `json:"jobs_usd"` // objective of the jobs alone, idle draw left out
	BoundUSD    float64 `json:"bound_usd"`
	Gap         float64 `json:"gap"` // JobsUSD over BoundUSD, less one
	IdleBound   float64 `json:"idle_bound_usd"`
	IdleGap     float64 `json:"idle_gap"` // the same with idle draw in both
	BusyKg      float64 `json:"busy_kg"`
	BusyCostUSD float64 `json:"busy_cost_usd"`

	Savable SavableShare `json:"savable"`

	Totals history.Totals `json:"totals"`
}

// cache returns where rows and bounds of the plan are kept.
func (p BenchPlan) cache() Cache { return Cache{p.Dir, p.Program} }

// A boundPair holds the two lower bounds of a scenario: on the objective of jobs alone, and
// with the idle draw of nodes.
type boundPair struct {
	Jobs float64 `json:"jobs_usd"`
	Idle float64 `json:"idle_usd"`

	Proof bound.Certificate `json:"proof"` // of Jobs
}

// RunPlan runs the rows of a plan that are not cached, and returns all rows, by day and then
// by entry. With an error it returns the rows that it has. A replay whose jobs do not all
// end, as the fleets are too small for them, has no row; RunPlan runs the others and then
// returns an error that is a scenarios.ErrJobsUnfinished.
func RunPlan(ctx context.Context, p BenchPlan) ([]BenchRow, error) {
	if p.Progress == nil {
		p.Progress = func(string, ...any) {}
	}
	if err := os.MkdirAll(filepath.Join(p.Dir, "rows"), 0o755); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	var rows []BenchRow
	searched := make(map[string]SearchedDay)
	n := 0
	// Runs whose jobs did not all end are reported after the others.
	var unfinished []error
	for _, d := range p.Days {
		floor, err := p.boundsOf(ctx, d.Scenario)
		if err != nil {
			return rows, err
		}
		first := len(rows)
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
				p.Progress("%d/%d %s %s: no row, as not all of its jobs ended", n, len(p.Days)*len(p.Entries), d.label(), entry)
				unfinished = append(unfinished, err)
				continue
			}
			row.Sweep, row.Stress, row.Draw = p.Sweep, d.Stress, d.Draw
			rows = append(rows, row)
			word := "cached"
			if ran {
				word = fmt.Sprintf("%.1fs", row.Totals.WallS)
			}
			gap := fmt.Sprintf("%.1f %% over the bound", 100*row.Gap)
			// A gap to a bound of zero or less says nothing; print the bound instead.
			if row.BoundUSD <= 0 {
				gap = fmt.Sprintf("bound $%.2f", row.BoundUSD)
			}
			p.Progress("%d/%d %s %s: $%.2f, %s, %d late (%s)",
				n, len(p.Days)*len(p.Entries), d.label(), entry, row.JobsUSD, gap, row.Totals.Late, word)
		}
		p.warnOfDay(d.Scenario, rows[first:])
		if p.SearchSteps > 0 {
			k, err := p.searchDay(ctx, d.Scenario, floor, rows[first:])
			var wide *bound.WideGangError
			switch {
			case errors.As(err, &wide): // shares are taken against the best run, or the bound
				p.Progress("%s seed %d: no best known schedule: %v", d.Name, d.Seed, wide)
			case err != nil:
				return rows, err
			default:
				searched[d.Hash] = k
				p.Progress("%s seed %d: %s", d.Name, d.Seed, k.progressText())
			}
		}
	}
	AddSavableShares(rows, searched)
	return rows, errors.Join(unfinished...)
}

// warnOfDay reports why the figures of a day mean less than they seem to, and marks its rows.
func (p BenchPlan) warnOfDay(s spec.Scenario, rows []BenchRow) {
	all := make([]history.Totals, len(rows))
	for i, r := range rows {
		all[i] = r.Totals
	}
	warnings := scenarios.MisleadingFigures(s, all)
	for _, w := range warnings {
		p.Progress("warning: %s seed %d: %s", s.Name, s.Seed, w)
	}
	for i := range rows {
		rows[i].Totals.Warnings = warnings
	}
}

// boundsOf returns the bounds of a scenario, from the cache or computed.
func (p BenchPlan) boundsOf(ctx context.Context, s spec.Scenario) (b boundPair, err error) {
	path := p.cache().File("bound", s.Hash, fmt.Sprint(s.Weights), fmt.Sprint(p.Steps))
	if ReadCached(path, &b) {
		return b, nil
	}
	p.Progress("%s seed %d: computing its lower bounds", s.Name, s.Seed)
	// Two bounds: with idle draw and without (decision 0202).
	for idle, to := range map[bool]*float64{false: &b.Jobs, true: &b.Idle} {
		c, err := bound.ComputeCertificate(s, bound.Config{Steps: p.Steps, Idle: idle, Stop: ctx.Err})
		if err != nil {
			return b, err
		}
		*to = c.BoundUSD
		if !idle {
			b.Proof = c
		}
	}
	return b, WriteCached(path, b)
}

// rowOf returns one row, from the cache or replayed, and whether it was replayed.
func (p BenchPlan) rowOf(ctx context.Context, s spec.Scenario, entry string, floor boundPair) (r BenchRow, ran bool, err error) {
	path := p.rowPath(s, entry)
	if ReadCached(path, &r) {
		return rowOfTotals(s, entry, r.Totals, floor), false, nil // with the bounds of this run: its Steps may differ
	}
	began := time.Now()
	res, err := scenarios.Replay(ctx, s, entry, new(membus.Bus), scenarios.Options{NoBids: true, Wall: func() time.Duration { return time.Since(began) }})
	if err != nil {
		return r, false, err
	}
	// Before the row: a row in the cache has its schedule there.
	if err := p.writeSchedule(s, entry, res.History); err != nil {
		return r, false, fmt.Errorf("bench: %w", err)
	}
	r = rowOfTotals(s, entry, res.Totals, floor)
	return r, true, WriteCached(path, r)
}

// rowOfTotals returns the row of a replay with totals t. Gaps are zero where the bound is not
// above zero, as prices can be negative.
func rowOfTotals(s spec.Scenario, entry string, t history.Totals, floor boundPair) BenchRow {
	kappa := s.Weights.Kappa.InDollars()
	r := BenchRow{
		Scenario: s.Name, Hash: s.Hash, Entry: entry, Seed: s.Seed, KappaUSD: kappa, DelayUSD: s.Weights.WaitNow.InDollars(), Load: s.GPULoad(),
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
