package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/lab/packing"
)

// studyFlags are the flags of `gridbid pack study`.
type studyFlags struct {
	nodes, page string
	every       int
	seeds, days int
}

// newPlacementStudyCommand is `gridbid pack study`: policies when jobs end.
func newPlacementStudyCommand() *cobra.Command {
	var f studyFlags
	cmd := &cobra.Command{
		Use:   "study TRACE --nodes FILE",
		Short: "measure policies in a cluster where jobs end",
		Long: `Draw jobs with their durations from a trace, let them arrive, wait in rounds of
a minute, run and end, and measure allocation, waiting and jobs that gave up
after six hours, for each policy and for look-ahead and consolidation on top.
Every variant sees the same arrivals.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStudy(args[0], f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.nodes, "nodes", "", "node list, CSV")
	cmd.Flags().IntVar(&f.every, "every", 10, "take every so many-th node of the list")
	cmd.Flags().IntVar(&f.seeds, "seeds", 8, "runs with different arrivals")
	cmd.Flags().IntVar(&f.days, "days", 10, "days measured, after as many of filling")
	cmd.Flags().StringVar(&f.page, "write", "", "put the table into this page, between its study marks")
	if err := cmd.MarkFlagRequired("nodes"); err != nil {
		panic(err) // Invariant: the flag is declared above.
	}
	return cmd
}

func runStudy(file string, f studyFlags, out, progress io.Writer) error {
	if f.every < 1 || f.seeds < 1 || f.days < 1 {
		return usageError{fmt.Errorf("pack: --every, --seeds and --days must be at least 1")}
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
	if f.page != "" { // before the work: it takes minutes
		if _, _, err := table.splitPage(); err != nil {
			return usageError{fmt.Errorf("--write: %w", err)}
		}
	}
	say := func(done, all int, what string) { fmt.Fprintf(progress, "pack: %d of %d: %s\n", done+1, all, what) }
	o := packing.StudyOptions{Days: f.days, Round: 60, MaxWait: 6 * 3600, MoveCost: 300}
	rows, err := packing.RunAllStudies(nodes, jobs, packing.StudyVariants, []float64{0.9, 1.0, 1.1}, f.seeds, o, say)
	if err != nil {
		return usageError{err} // nothing to place, or nowhere
	}
	var text bytes.Buffer
	if err := packing.WriteStudy(&text, rows); err != nil {
		return err
	}
	if f.page != "" {
		return table.fillSlot(text.String())
	}
	_, err = out.Write(text.Bytes())
	return err
}

// readJobs reads a trace of jobs that end.
func readJobs(file string) ([]packing.TraceJob, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return packing.ReadJobs(file, f)
}
