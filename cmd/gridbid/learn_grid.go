package main

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/learn/grids"
)

// gridFlags are the flags of `gridbid learn grid`.
type gridFlags struct {
	outputFlags
	cfg grids.Config
	out string
}

// newLearnGridCommand is `gridbid learn grid`.
func newLearnGridCommand() *cobra.Command {
	f := gridFlags{cfg: grids.Config{Version: buildVersion()}}
	cmd := &cobra.Command{
		Use:   "grid --out FOLDER",
		Short: "train what sites correct their forecasts of price and carbon by",
		Long: `Train a net that says by how much the usual forecast rules will be off, on recorded
grids of 2020 to 2022, and measure it on weeks and zones that it has not seen. FOLDER
gets grid.json, the weights. The table has the mean absolute error over the mean value,
by lead time, of the usual rule and of the corrected one, on weeks that nothing was
trained or chosen on: after 36 hours of history, as on recorded days, and after 28 days.
A seen zone taught the net in other weeks. At the end it says which kind of series may
have it as its usual rule, by errors alone (docs/learned.md). One seed and the same data
give the same weights, byte for byte. It takes a minute of one core.`,
		Example: `  gridbid learn grid --data ../shared/data --seed 1 --out w
  gridbid replay --policy auction,auction/learned --weights w/grid.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.out == "" {
				return usageError{fmt.Errorf("learn: name the folder of the weights with --out FOLDER")}
			}
			if err := ensureWritableFolder(f.out); err != nil {
				return usageError{fmt.Errorf("learn: --out: %w", err)}
			}
			return f.trainGrid(cmd)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.cfg.Data, "data", dataFolder(), "folder of recorded series; also $GRIDBID_DATA")
	fl.Uint64Var(&f.cfg.Seed, "seed", 1, "seed of the training")
	fl.StringVar(&f.out, "out", "", "`FOLDER` of the weights")
	f.registerOutput(cmd)
	return cmd
}

// trainGrid trains weights, writes them, and prints what their errors are.
func (f *gridFlags) trainGrid(cmd *cobra.Command) error {
	notes := notesOf(cmd)
	weights, err := grids.Train(cmd.Context(), f.cfg)
	if err != nil {
		return err
	}
	text, err := weights.Write()
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	file := filepath.Join(f.out, "grid.json")
	if err := atomicfile.ReplaceFile(file, text, 0o644); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	fmt.Fprintf(notes, "%s lessons; %s  %s\n", chart.FormatNumber(float64(weights.Decisions), 0), weights.SHA256, file)
	l, err := forecast.ParseLearned(text)
	if err != nil {
		return err
	}
	errs, err := grids.Measure(cmd.Context(), l, f.cfg.Data)
	if err != nil {
		return err
	}
	return f.printView(cmd, gridErrorListing(errs))
}

// A gridErrorRow is the errors of one zone at one range of leads.
type gridErrorRow struct {
	grids.ZoneError
	Lead int // upper end, in hours
	At   int // index of the range
}

// gridErrorListing returns errors as a listing: for people a row per zone, for programs one per zone
// and range of leads.
func gridErrorListing(errs []grids.ZoneError) printer.View {
	var rows []gridErrorRow
	for _, e := range errs {
		for i, lead := range grids.Leads {
			rows = append(rows, gridErrorRow{e, lead, i})
		}
	}
	type row = gridErrorRow
	return printer.Listing[row]{
		Rows: rows, Data: errs, Text: func(w io.Writer) { writeGridErrors(w, errs) },
		Columns: []printer.Column[row]{
			{Head: "KIND", Value: func(r row) any { return r.Kind }},
			{Head: "ZONE", Value: func(r row) any { return r.Zone }},
			{Head: "SEEN", Value: func(r row) any { return r.Seen }},
			{Head: "HISTORY H", Value: func(r row) any { return r.History }},
			{Head: "TO H", Value: func(r row) any { return r.Lead }},
			{Head: "FORECASTS", Value: func(r row) any { return r.N[r.At] }},
			{Head: "DEFAULT PERCENT", Value: func(r row) any { return r.Default[r.At] }},
			{Head: "CORRECTED PERCENT", Value: func(r row) any { return r.Corrected[r.At] }},
		},
	}
}

// writeGridErrors writes the table for people, and what follows for each kind of series.
func writeGridErrors(out io.Writer, errs []grids.ZoneError) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	last := ""
	for _, e := range errs {
		if e.Kind != last {
			fmt.Fprintf(w, "%s\tzone\thistory", e.Kind)
			for _, to := range grids.Leads {
				fmt.Fprintf(w, "\tto %d h", to)
			}
			fmt.Fprintln(w)
			last = e.Kind
		}
		fmt.Fprintf(w, "%s\t%s\t%d h", map[bool]string{true: "seen", false: "unseen"}[e.Seen], e.Zone, e.History)
		for i := range e.Default {
			fmt.Fprintf(w, "\t%.1f > %.1f %%", e.Default[i], e.Corrected[i])
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // never fails: out is a buffer in memory
	for _, v := range grids.Judge(errs) {
		fmt.Fprintln(out, v)
	}
}
