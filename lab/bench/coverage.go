package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/internal/stats"
	"github.com/gridbid/gridbid/scenarios"
)

// DefaultDraws is how many samples of a day's jobs are replayed: with the ten recorded days so
// many that a difference of 3 % is told in four cases of five (RunCoverageStudy, decision 0254).
const DefaultDraws = 4

// DrawNumbers returns the draws of a day for a number of them: of one draw the day's own jobs, 0.
func DrawNumbers(n int) (out []int) {
	if n <= 1 {
		return []int{0}
	}
	for draw := range n {
		out = append(out, draw+1)
	}
	return out
}

// A CoverageStudy checks intervals of differences on cases in which the truth is known: the
// auction against itself with its costs moved by another hash, without and with a difference
// planted.
type CoverageStudy struct {
	Days    []BenchDay // days and draws, each replayed under every jitter
	Jitters int        // seeds of the jitter; 2 or more
	Pairs   int        // cases: two sets of runs, each with one jitter per day and draw
	Planted float64    // by which fraction one set is made to cost more, in the cases with a difference
	Program string     // as in BenchPlan
	Dir     string     // as in BenchPlan

	Progress func(format string, args ...any)
}

// A CoverageResult is the outcome of a CoverageStudy.
type CoverageResult struct {
	Pairs   int              `json:"pairs"`
	Runs    int              `json:"runs"`  // days and draws of a case
	Units   int              `json:"units"` // values of an interval
	Figures []FigureCoverage `json:"figures"`
}

// A FigureCoverage is the outcome for one figure. Fractions are of the figure.
type FigureCoverage struct {
	Figure   string  `json:"figure"`
	PerRun   float64 `json:"per_run"`   // standard deviation of one run by chance
	HalfSize float64 `json:"half_size"` // of the intervals, as the mean
	Held     int     `json:"held"`      // cases without a difference whose interval holds 0
	Detected int     `json:"detected"`  // cases with the planted difference whose interval lies above 0
}

// coveredFigures are the figures of a study; the first one decides in Check whether enough draws
// are replayed.
func coveredFigures() []pairedFigure {
	return slices.DeleteFunc(slices.Clone(pairedFigures), func(f pairedFigure) bool { return f.unit != "%" })
}

// RunCoverageStudy replays what is not cached and computes the cases. A case takes two different
// jitters of each day and draw, drawn by a seed of its own, so that 200 cases need far fewer
// than 400 sets of replays and are still nearly independent.
func RunCoverageStudy(ctx context.Context, st CoverageStudy) (CoverageResult, error) {
	if err := os.MkdirAll(filepath.Join(st.Dir, "rows"), 0o755); err != nil {
		return CoverageResult{}, fmt.Errorf("bench: %w", err)
	}
	runs := make([][]BenchRow, len(st.Days)) // by day and draw, then jitter
	for i, d := range st.Days {
		for k := range st.Jitters {
			row, err := st.replayJittered(ctx, d, uint64(k+1))
			if err != nil {
				return CoverageResult{}, err
			}
			runs[i] = append(runs[i], row)
		}
		st.Progress("%d/%d %s: %d runs, $%.2f, standard deviation %.1f %%", i+1, len(st.Days), d.label(), st.Jitters, runs[i][0].JobsUSD, 100*spreadOfRuns(figureJobs, runs[i:i+1]))
	}
	return computeCoverage(runs, st.Pairs, st.Planted), nil
}

// replayJittered returns the row of the auction with a jitter, from the cache or replayed.
func (st CoverageStudy) replayJittered(ctx context.Context, d BenchDay, jitter uint64) (r BenchRow, err error) {
	path := Cache{st.Dir, st.Program}.File(fmt.Sprintf("%s-jitter-%d", d.Name, jitter), d.Hash, fmt.Sprint(d.Weights), fmt.Sprint(jitter))
	if ReadCached(path, &r) {
		return r, nil
	}
	res, err := scenarios.Replay(ctx, d.Scenario, scenarios.PolicyChance, new(membus.Bus), scenarios.Options{NoBids: true, Rule: scenarios.ChanceRule(jitter)})
	if err != nil {
		return r, fmt.Errorf("bench: %s, jitter %d: %w", d.label(), jitter, err)
	}
	r = rowOfTotals(d.Scenario, scenarios.PolicyChance, res.Totals, boundPair{})
	r.Draw = d.Draw
	return r, WriteCached(path, r)
}

// computeCoverage computes the cases of a study from its runs, by day and draw and then jitter.
func computeCoverage(runs [][]BenchRow, pairs int, planted float64) CoverageResult {
	out := CoverageResult{Pairs: pairs, Runs: len(runs)}
	days := make([]string, len(runs))
	for i, r := range runs {
		days[i] = dayOf(r[0])
	}
	x, y, dearer := make([]float64, len(runs)), make([]float64, len(runs)), make([]float64, len(runs))
	for _, f := range coveredFigures() {
		of := FigureCoverage{Figure: f.key, PerRun: spreadOfRuns(f, runs)}
		for c := range pairs {
			d := rand.New(rand.NewPCG(intervalSeed, uint64(c)))
			for i, r := range runs {
				two := d.Perm(len(r))[:2]
				x[i], y[i] = f.value(r[two[0]]), f.value(r[two[1]])
				dearer[i] = float64(x[i] * (1 + planted))
			}
			null := RatioInterval(days, x, y)
			out.Units = null.N
			of.HalfSize += (null.High - null.Low) / 2 / float64(pairs)
			if null.WithinChance() {
				of.Held++
			}
			if with := RatioInterval(days, dearer, y); !with.WithinChance() && with.Low > 0 {
				of.Detected++
			}
		}
		out.Figures = append(out.Figures, of)
	}
	return out
}

// spreadOfRuns returns the standard deviation of one run's figure by chance, as a fraction: of
// runs of the same jobs under different jitters, pooled over days and draws. Days with a figure
// that is not above zero, which negative prices can cause, have no such fraction and are left out.
func spreadOfRuns(f pairedFigure, runs [][]BenchRow) float64 {
	var sum, free float64
	for _, r := range runs {
		var logs []float64
		for _, x := range r {
			if v := f.value(x); v > 0 {
				logs = append(logs, math.Log(v))
			}
		}
		if len(logs) < len(r) {
			continue
		}
		_, sd := stats.MeanAndDeviation(logs)
		sum += float64(sd*sd) * float64(len(logs)-1)
		free += float64(len(logs) - 1)
	}
	return math.Sqrt(sum / max(free, 1))
}

// Check returns an error unless intervals of every figure hold the truth in 90 to 99.5 % of the
// cases, and a planted difference of the jobs' objective is detected in 80 % of them.
func (r CoverageResult) Check() error {
	for i, f := range r.Figures {
		held, detected := float64(f.Held)/float64(r.Pairs), float64(f.Detected)/float64(r.Pairs)
		switch {
		case held < 0.90:
			return fmt.Errorf("bench: %d of %d intervals of 95 %% of %s hold 0: they are too narrow", f.Held, r.Pairs, f.Figure)
		case held > 0.995:
			return fmt.Errorf("bench: %d of %d intervals of 95 %% of %s hold 0: they are too wide", f.Held, r.Pairs, f.Figure)
		case i == 0 && detected < 0.80:
			return fmt.Errorf("bench: the planted difference of %s is detected in %d of %d cases: raise the number of draws", f.Figure, f.Detected, r.Pairs)
		}
	}
	return nil
}
