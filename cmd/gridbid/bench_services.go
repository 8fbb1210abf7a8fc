package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/bench"
	"github.com/gridbid/gridbid/lab/serviceday"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// serviceBenchFlags are the flags of `gridbid bench services`.
type serviceBenchFlags struct {
	outputFlags
	data  string
	jobs  int
	draws int
	first int
	rate  float64
	rows  []string
	out   string
}

// newBenchServicesCommand is `gridbid bench services`.
func newBenchServicesCommand() *cobra.Command {
	var f serviceBenchFlags
	cmd := &cobra.Command{
		Use:   "services [SCENARIO...]",
		Short: "replay recorded days with a service beside the jobs, under several rules of division",
		Long: `Replay recorded days on which an inference service runs beside batch jobs, under rules
that divide its replicas over the sites: an even split, Karmada's weights, the nearest,
cheapest and greenest sites, and by cost. Load, number of replicas, start times, draw and
traffic are the same in all rows. The table has the means over days and draws, a bound that
no placement can be below, and each row against the even split with its interval: by the
totals of all days, and as the mean of the days.

The requests are those of Azure's trace of 2023, of an hour, made to a day: copies of it
one over the other, thinned to the rate of each origin in each minute. Rules of others run
on the first draw of each day alone.

Replays that are done are kept in the folder of --out: the same command goes on where it was
stopped. Another build of gridbid replays all.`,
		Example: `  gridbid bench services --data ../shared/data
  gridbid bench services real-days/ordinary_2022-04-13 --draws 6`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.data, "data", dataFolder(), "folder of recorded series and traces; also $GRIDBID_DATA")
	fl.IntVar(&f.jobs, "jobs", 2000, "batch jobs of each day")
	fl.IntVar(&f.draws, "draws", 2, "draws of jobs and load of each day")
	fl.IntVar(&f.first, "first-draw", 1, "number of the first of them: other numbers are other jobs and another load")
	fl.StringVar(&f.out, "out", ".gridbid/bench-services", "`FOLDER` for replays that are done")
	fl.Float64Var(&f.rate, "rate", 200, "requests per second, as the mean of the day; at 200 the service draws about a third of what it and the jobs do")
	fl.StringArrayVar(&f.rows, "rows", nil, "`ROW` to run beside the even split, repeatable (default: all)")
	f.registerOutput(cmd)
	return cmd
}

// run replays all days, and prints their tables.
func (f *serviceBenchFlags) run(cmd *cobra.Command, names []string) error {
	if f.jobs < 1 || f.draws < 1 || f.first < 1 || !(f.rate > 0 && f.rate <= 1000) {
		return usageError{fmt.Errorf("--jobs %d, --draws %d, --first-draw %d, --rate %g: want 1 or more, three times, and more than 0 to 1000", f.jobs, f.draws, f.first, f.rate)}
	}
	rows, err := f.rowsToRun()
	if err != nil {
		return usageError{err}
	}
	world, err := f.world()
	if errors.Is(err, os.ErrNotExist) {
		return usageError{fmt.Errorf("bench services: no recorded requests: %w: give the folder that has workload/azure_llm_2023_conv.csv.gz with --data", err)}
	}
	if err != nil {
		return usageError{err}
	}
	if len(names) == 0 {
		names = slices.DeleteFunc(spec.ShippedNames(), func(n string) bool { return n == spec.DefaultScenario })
	}
	if err := ensureWritableFolder(f.out); err != nil {
		return usageError{fmt.Errorf("--out: %w", err)}
	}
	cache := bench.Cache{Dir: f.out}
	if cache.Program, err = buildFingerprint(); err != nil {
		return err
	}
	var all []serviceday.Result
	for _, name := range names {
		for draw := f.first; draw < f.first+f.draws; draw++ {
			s, err := spec.LoadScenario(name, spec.Options{Data: f.data, MaxJobs: f.jobs, Draw: draw})
			if err != nil {
				return usageError{err}
			}
			day, err := serviceday.NewDay(world, s, draw, f.rate)
			if err != nil {
				return usageError{err}
			}
			for _, row := range rows {
				if row.FirstDraw && draw > f.first {
					continue
				}
				r, ran, err := day.RunCached(cmd.Context(), row, cache)
				if err != nil {
					return err
				}
				all = append(all, r)
				how := "replayed"
				if !ran {
					how = "cached"
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s draw %d %s: $%.2f, %.1f kg, %.3f %% in time, jobs $%.2f (%s)\n", r.Day, r.Draw, r.Row, r.TotalUSD, r.Kg, 100*r.Attained, r.JobsUSD, how)
			}
		}
	}
	return f.printView(cmd, serviceDayListing(all))
}

// rowsToRun returns the rows of --rows with the even split, or all.
func (f *serviceBenchFlags) rowsToRun() (out []serviceday.Row, err error) {
	var names []string
	for _, row := range serviceday.Rows() {
		names = append(names, row.Name)
		if len(f.rows) == 0 || row.Name == serviceday.EvenSplit || slices.Contains(f.rows, row.Name) {
			out = append(out, row)
		}
	}
	for _, name := range f.rows {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--rows: %q is none: want some of %s", name, strings.Join(names, "; "))
		}
	}
	return out, nil
}

// world reads the requests.
func (f *serviceBenchFlags) world() (*serviceday.World, error) {
	r, err := readRequests(filepath.Join(f.data, "workload", "azure_llm_2023_conv.csv.gz"), nil)
	if err != nil {
		return nil, err
	}
	return serviceday.NewWorld(r.pairs, r.minutes.Whole())
}

// serviceDayListing returns results as a listing: the means of each row, then their changes.
func serviceDayListing(all []serviceday.Result) printer.View {
	type row = serviceday.Result
	means, bound := serviceday.Means(all)
	changes := serviceday.Changes(all)
	l := printer.Listing[row]{Rows: means, Columns: []printer.Column[row]{
		{Head: "ROW", Value: func(r row) any { return r.Row }},
		{Head: "REPLAYS", Value: func(r row) any { return r.Means }},
		{Head: "IN TIME PCT", Verb: "%.3f", Value: func(r row) any { return 100 * r.Attained }},
		{Head: "REPLICA H", Verb: "%.0f", Value: func(r row) any { return r.ReplicaHours }},
		{Head: "GPU H", Verb: "%.0f", Value: func(r row) any { return r.GPUHours }},
		{Head: "MISSING H", Verb: "%.1f", Value: func(r row) any { return r.MissingHours }},
		{Head: "KWH", Verb: "%.0f", Value: func(r row) any { return r.KWh }},
		{Head: "KG", Verb: "%.1f", Value: func(r row) any { return r.Kg }},
		{Head: "$", Verb: "%.2f", Value: func(r row) any { return r.USD }},
		{Head: "$ WITH CARBON", Verb: "%.2f", Value: func(r row) any { return r.TotalUSD }},
		{Head: "MOVES", Value: func(r row) any { return r.Moves }},
		{Head: "STARTS", Value: func(r row) any { return r.ColdStarts }},
		{Head: "RTT MS", Verb: "%.0f", Value: func(r row) any { return r.RTT }},
		{Head: "JOBS $", Verb: "%.2f", Value: func(r row) any { return r.JobsUSD }},
	}}
	l.Data = struct {
		Results     []row               `json:"results"`
		Changes     []serviceday.Change `json:"changes"`
		Relaxations []string            `json:"relaxations"`
	}{all, changes, serviceday.Relaxations}
	table := l
	l.Text = func(w io.Writer) {
		_ = table.Print(w, printer.Table) // never fails: w is a buffer in memory
		fmt.Fprintf(w, "\nbound: $%.2f with carbon, or $%.2f or %.1f kg where that is all that counts. It leaves out: %s\n\nagainst the even split, of all days together and as the mean of the days:\n",
			bound.TotalUSD, bound.USD, bound.Kg, strings.Join(serviceday.Relaxations, "; "))
		for _, c := range changes {
			unit := "%"
			if c.Points {
				unit = "points"
			}
			fmt.Fprintf(w, "  %-24s %-18s %+7.2f [%+.2f, %+.2f]   %+7.2f [%+.2f, %+.2f] %s\n", c.Row, c.Figure,
				100*c.Mean, 100*c.Low, 100*c.High, 100*c.ByDay.Mean, 100*c.ByDay.Low, 100*c.ByDay.High, unit)
		}
	}
	return l
}
