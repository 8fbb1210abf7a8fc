package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gridbid/gridbid/internal/stats"
)

// A deadResult compares awards of a federation of which some sites are dead with those of one that has all.
type deadResult struct {
	Sites int       `json:"sites"`
	Dead  int       `json:"dead"` // of Sites: they stopped before the measurement
	Sync  bool      `json:"sync"` // whether the server syncs each entry to disk
	Runs  []deadRun `json:"runs"`
	// By which part of those without, awards with dead sites take longer: the mean over the runs, and its
	// standard deviation from one run to another.
	P50 spreadOfRuns `json:"p50_longer"`
	P99 spreadOfRuns `json:"p99_longer"`
}

// A deadRun is one measurement of both, in turn.
type deadRun struct {
	Without latencySpread `json:"without"`
	With    latencySpread `json:"with"`
}

// A spreadOfRuns is a mean and a standard deviation.
type spreadOfRuns struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// newSpreadOfRuns returns the mean and the sample standard deviation of the runs' figures.
func newSpreadOfRuns(all []float64) (s spreadOfRuns) {
	s.Mean, s.SD = stats.MeanAndDeviation(all)
	return s
}

// measureDeadSites runs two federations of n sites, of one of which some are dead, and has them award jobs in
// turn, so that what else the machine does befalls both. Each run is so many awards of each.
func measureDeadSites(ctx context.Context, n, dead int, flush bool, each, runs int) (r deadResult, err error) {
	r = deadResult{Sites: n, Dead: dead, Sync: flush}
	var both [2]*loadFederation
	for i := range both {
		s, err := loadSites(n)
		if err != nil {
			return r, err
		}
		f, within, err := startLoadFederation(ctx, s, flush)
		if err != nil {
			return r, err
		}
		defer f.close()
		if i == 1 {
			f.stopSites(dead)
		}
		// The market notices who is dead in the first rounds.
		if _, err := f.awardsOneByOne(within, "warm", 20+each/10); err != nil {
			return r, err
		}
		both[i] = f
	}
	var longer50, longer99 []float64
	for run := range runs {
		var took [2][]time.Duration
		for batch := range batchCount {
			for turn := range both {
				i := (turn + batch) % 2
				more, err := both[i].awardsOneByOne(ctx, fmt.Sprintf("each-%d-%d", run, batch), max(1, each/batchCount))
				if err != nil {
					return r, err
				}
				took[i] = append(took[i], more...)
				if err := sleepContext(ctx, drainTime); err != nil {
					return r, err
				}
			}
		}
		one := deadRun{latencySpreadOf(took[0]), latencySpreadOf(took[1])}
		if one.Without.P50 <= 0 {
			return r, errors.New("an award takes no time: the clock of this machine stands")
		}
		r.Runs = append(r.Runs, one)
		longer50 = append(longer50, float64(one.With.P50)/float64(one.Without.P50)-1)
		longer99 = append(longer99, float64(one.With.P99)/float64(one.Without.P99)-1)
	}
	r.P50, r.P99 = newSpreadOfRuns(longer50), newSpreadOfRuns(longer99)
	return r, nil
}

// medianOf returns the median of a figure over runs.
func medianOf[R any, T int | int64 | float64 | time.Duration](runs []R, figure func(R) T) T {
	all := make([]T, len(runs))
	for i, r := range runs {
		all[i] = figure(r)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// writeDeadResults prints what dead sites cost the others.
func writeDeadResults(out io.Writer, all []deadResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "sites\tdead\tsync\truns\tp50 without\twith\tp50 longer\tsd\tp99 without\twith\tp99 longer\tsd\t")
	for _, r := range all {
		ms := func(figure func(deadRun) time.Duration) string {
			return fmt.Sprintf("%.2f", float64(medianOf(r.Runs, figure))/1e6)
		}
		fmt.Fprintf(w, "%d\t%d\t%v\t%d\t%s\t%s\t%+.0f %%\t%.0f %%\t%s\t%s\t%+.0f %%\t%.0f %%\t\n", r.Sites, r.Dead, r.Sync, len(r.Runs),
			ms(func(x deadRun) time.Duration { return x.Without.P50 }), ms(func(x deadRun) time.Duration { return x.With.P50 }), 100*r.P50.Mean, 100*r.P50.SD,
			ms(func(x deadRun) time.Duration { return x.Without.P99 }), ms(func(x deadRun) time.Duration { return x.With.P99 }), 100*r.P99.Mean, 100*r.P99.SD)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, `Milliseconds from submission to award, median of the runs, of two federations in turn: without
and with dead sites. Longer: the mean over the runs, and its standard deviation from run to run.`)
	return err
}
