package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/internal/quotafile"
	"github.com/gridbid/gridbid/protocol"
)

// newImportCommand is `gridbid import`: it proposes the quota tree and the priority classes of a file as a
// change of the policy.
func newImportCommand() *cobra.Command {
	var f policySentenceFlags
	var file string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "import -f FILE",
		Short: "propose the quotas and priority classes of a file, its own or Kubernetes' and Kueue's",
		Long: `Read the quota tree and the priority classes of a file and propose them in place of those
in force, as "gridbid policy say" proposes a rule: it replays the day of the run with and without the change,
stores the proposal for "gridbid policy apply", and changes nothing until then.

A file holds Gridbid's own lists (keys quotas and priority_classes), an ElasticQuotaTree,
the Cohorts, ClusterQueues, LocalQueues and ResourceFlavors of Kueue, or PriorityClasses,
separated by ---. Namespaces are tenants. Quotas limit GPUs of any model: what a file says
of other resources is noted and left out, and a field that is not known is an error with
its line. docs/quotas.md says how each format is read. The list "quotas: []" removes the
tree, and "priority_classes: []" the classes.`,
		Example: `  gridbid import -f quotas.yaml --dry-run
  gridbid import -f elasticquotatree.yaml --run .gridbid/last
  gridbid import -f kueue.yaml --api 127.0.0.1:7480`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return usageError{fmt.Errorf("import: %w", err)}
			}
			read, err := quotafile.Parse(file, text)
			if err != nil {
				return usageError{err}
			}
			for _, n := range read.Notes {
				fmt.Fprintf(notesOf(cmd), "note: %s\n", format.CleanText(n))
			}
			if dryRun {
				if read.HasClasses {
					fmt.Fprintf(notesOf(cmd), "%s\n", policy.DescribeClasses(read.Classes))
				}
				return f.printView(cmd, quotaListing(read.Quotas))
			}
			was, _, err := f.policyContext(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			change := policy.Change{Base: was.Version}
			if read.HasQuotas && len(read.Quotas)+len(was.Quotas) > 0 {
				change.Ops = append(change.Ops, policy.Op{Op: "quotas", Quotas: read.Quotas})
			}
			if read.HasClasses && len(read.Classes)+len(was.Classes) > 0 {
				change.Ops = append(change.Ops, policy.Op{Op: "classes", Classes: read.Classes})
			}
			if len(change.Ops) == 0 {
				return usageError{errors.New("import: none of what the file lists is in force, and its lists are empty: nothing would change")}
			}
			return f.proposeChange(cmd, was, policyProposal{Sentence: filepath.Base(file), Change: change})
		},
	}
	f.ledger.registerRun(cmd, "folder of a run: its day is replayed")
	fl := cmd.Flags()
	fl.StringVarP(&file, "file", "f", "", "`FILE` to read")
	_ = cmd.MarkFlagRequired("file")
	fl.BoolVar(&dryRun, "dry-run", false, "print the tree, and propose nothing")
	fl.StringVar(&f.api, "api", os.Getenv("GRIDBID_API"), "`ADDRESS` (HOST:PORT) of a live coordinator's API: the change is made against its policy; also $GRIDBID_API")
	fl.BoolVar(&f.noImpact, "no-impact", false, "do not replay the day")
	f.registerOutput(cmd)
	return cmd
}

// quotaListing returns a quota tree as a listing, a row for each quota.
func quotaListing(quotas []protocol.Quota) printer.View {
	gpus := func(v protocol.Milli) any { return float64(v) / 1000 }
	return printer.Listing[protocol.Quota]{Rows: quotas, Columns: []printer.Column[protocol.Quota]{
		{Head: "NAME", Value: func(q protocol.Quota) any { return q.Name }},
		{Head: "PARENT", Value: func(q protocol.Quota) any { return q.Parent }},
		{Head: "MIN", Value: func(q protocol.Quota) any { return gpus(q.Min) }},
		{Head: "MAX", Value: func(q protocol.Quota) any {
			if q.Max == 0 {
				return nil // no cap
			}
			return gpus(q.Max)
		}},
		{Head: "WEIGHT", Value: func(q protocol.Quota) any { return gpus(q.Weight) }},
		{Head: "LENDS", Value: func(q protocol.Quota) any { return gpus(q.Min - q.Kept) }},
		{Head: "BAND", Value: func(q protocol.Quota) any { return q.Band }},
	}}
}
