package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/packing"
)

// studyFlags are the flags of `gridbid placement study`.
type studyFlags struct {
	outputFlags
	nodes, page string
	every       int
	seeds, days int
}

// newPlacementStudyCommand is `gridbid placement study`: it measures placement policies in
// a steady state, where jobs end and free their GPUs.
func newPlacementStudyCommand() *cobra.Command {
	var f studyFlags
	cmd := &cobra.Command{
		Use:   "study TRACE --nodes FILE",
		Short: "measure placement policies in a cluster where jobs arrive and end",
		Long: `Draw jobs with their durations from a trace, place them in rounds of one minute, and
measure the allocated GPUs, the waits and how many jobs gave up after six hours:
for each policy, and for look-ahead and consolidation on top. Every variant gets the
same arrivals.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.runStudy(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&f.nodes, "nodes", "", "node list, `FILE.csv`")
	cmd.Flags().IntVar(&f.every, "every", 10, "use each `N`th node of the list")
	cmd.Flags().IntVar(&f.seeds, "seeds", 8, "number of runs with different arrivals")
	cmd.Flags().IntVar(&f.days, "days", 10, "days to measure, after as many days of warm-up")
	cmd.Flags().StringVar(&f.page, "write", "", "write the table into this `PAGE`, between its study marks")
	f.registerOutput(cmd)
	cmd.MarkFlagsMutuallyExclusive("write", "output")
	if err := cmd.MarkFlagRequired("nodes"); err != nil {
		panic(err) // Invariant: the flag is declared above.
	}
	return cmd
}

// runStudy runs every variant of the placement study at loads of 90, 100 and 110 %, and writes the
// table.
func (f *studyFlags) runStudy(cmd *cobra.Command, file string) error {
	if f.every < 1 || f.seeds < 1 || f.days < 1 {
		return usageError{fmt.Errorf("placement: --every, --seeds and --days must be at least 1")}
	}
	n, err := os.Open(f.nodes)
	if err != nil {
		return usageError{err}
	}
	defer n.Close()
	all, err := packing.ReadNodes(f.nodes, n)
	if err != nil {
		return usageError{err}
	}
	var nodes []fgd.Node
	for i := 0; i < len(all); i += f.every {
		nodes = append(nodes, all[i])
	}
	jobs, err := readJobs(file)
	if err != nil {
		return usageError{err}
	}
	table := pageSlot{f.page, "<!-- study -->\n", "<!-- /study -->"}
	if f.page != "" { // checked first, as the study takes minutes
		if _, _, err := table.splitPage(); err != nil {
			return usageError{fmt.Errorf("--write: %w", err)}
		}
	}
	progressLine := func(done, all int, what string) {
		fmt.Fprintf(notesOf(cmd), "placement: %d of %d: %s\n", done+1, all, what)
	}
	// Times are in seconds: rounds of a minute, and six hours until a job gives up.
	o := packing.StudyOptions{Days: f.days, Round: 60, MaxWait: 6 * 3600, MoveCost: 300}
	rows, err := packing.RunAllStudies(nodes, jobs, packing.StudyVariants, []float64{0.9, 1.0, 1.1}, f.seeds, o, progressLine)
	if err != nil {
		return usageError{err} // no jobs in the trace, or no nodes
	}
	return table.writeOrPrint(cmd, &f.outputFlags, studyListing(rows))
}

// studyListing returns rows as a listing; people read a Markdown table, as docs/fgd.md has it.
func studyListing(rows []packing.StudyRow) printer.View {
	type row = packing.StudyRow
	return printer.Listing[row]{Rows: rows, Text: func(w io.Writer) { _ = packing.WriteStudy(w, rows) }, Columns: []printer.Column[row]{
		{Head: "VARIANT", Value: func(r row) any { return r.Variant }},
		{Head: "LOAD", Value: func(r row) any { return r.Load }},
		{Head: "ALLOC PCT", Value: func(r row) any { return r.Alloc }},
		{Head: "AGAINST FGD", Value: func(r row) any { return r.Gain }},
		{Head: "STANDARD ERROR", Value: func(r row) any { return r.Error }},
		{Head: "WAIT S", Value: func(r row) any { return r.Wait }},
		{Head: "WAIT P95 S", Value: func(r row) any { return r.Wait95 }},
		{Head: "GAVE UP PCT", Value: func(r row) any { return r.Failed }},
		{Head: "WORK GIVEN UP PCT", Value: func(r row) any { return r.FailedWork }},
		{Head: "MOVES/H", Value: func(r row) any { return r.Moves }},
	}}
}

// readJobs reads a trace of jobs with durations.
func readJobs(file string) ([]packing.TraceJob, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return packing.ReadJobs(file, f)
}
