package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/internal/propagation"
	"github.com/gridbid/gridbid/internal/quotafile"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

// newImportCommand is `gridbid import`: it proposes the quota tree and the priority classes of a file as a
// change of the policy, or submits the services of policies that propagate workloads.
func newImportCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import -f FILE",
		Short: "take over quotas, priority classes or propagation policies, as Kubernetes, Kueue and Karmada have them",
		Long: `Read the quota tree and the priority classes of a file and propose them in place of those
in force, as "gridbid policy say" proposes a rule: it replays the day of the run with and without the change,
stores the proposal for "gridbid policy apply", and changes nothing until then.

Such a file holds Gridbid's own lists (keys quotas and priority_classes), an ElasticQuotaTree,
the Cohorts, ClusterQueues, LocalQueues and ResourceFlavors of Kueue, or PriorityClasses,
separated by ---. Namespaces are tenants. Quotas limit GPUs, of all models or of one: what a
file says of other resources is noted and left out, and a field that is not known is an error
with its line. docs/quotas.md says how each format is read. The list "quotas: []" removes the
tree, and "priority_classes: []" the classes.

Files with a PropagationPolicy or a ClusterPropagationPolicy (policy.karmada.io/v1alpha1 or
policy.one.alibabacloud.com/v1alpha1) and the Deployments and StatefulSets that it selects
are submitted as services. Clusters are sites of the same name; --set says which site a
placeholder such as ${Cluster 1 ID} stands for. A field that services do not honour is an
error with its line, or with --ignore-unsupported a note. docs/services.md says what each is.`,
		Example: `  gridbid import -f quotas.yaml --dry-run
  gridbid import -f elasticquotatree.yaml --run .gridbid/last
  gridbid import -f kueue.yaml --api 127.0.0.1:7480
  gridbid import -f policy.yaml -f deployment.yaml --set 'Cluster 1 ID=oslo' --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := readImportFiles(f.files)
			if err != nil {
				return usageError{err}
			}
			if slices.ContainsFunc(files, func(x propagation.File) bool { return propagation.IsAbout(x.Text) }) {
				return f.importServices(cmd, files)
			}
			switch {
			case len(f.set) > 0 || f.ignore:
				return usageError{errors.New("import: --set and --ignore-unsupported are for files with a PropagationPolicy: leave them out")}
			case len(files) > 1:
				return usageError{errors.New("import: -f names several files: quotas and classes replace those in force as a whole; write them into one file")}
			}
			return f.importQuotas(cmd, files[0])
		},
	}
	f.ledger.registerRun(cmd, "folder of a run: its day is replayed")
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.files, "file", "f", nil, "`FILE` to read; repeatable for services")
	_ = cmd.MarkFlagRequired("file")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the tree, or the services, and change nothing")
	fl.StringArrayVar(&f.set, "set", nil, "what a placeholder ${NAME} of a policy stands for, as `NAME=SITE`; repeatable")
	fl.BoolVar(&f.ignore, "ignore-unsupported", false, "note what services do not honour, instead of refusing the policy")
	fl.StringVar(&f.api, "api", os.Getenv("GRIDBID_API"), "`ADDRESS` (HOST:PORT) of a live coordinator's API: the change is made against its policy, and services are submitted to it; also $GRIDBID_API")
	fl.BoolVar(&f.noImpact, "no-impact", false, "do not replay the day")
	f.registerOutput(cmd)
	return cmd
}

// importFlags are the flags of `gridbid import`.
type importFlags struct {
	policySentenceFlags
	files, set     []string
	dryRun, ignore bool
}

// readImportFiles reads the files of -f.
func readImportFiles(names []string) (files []propagation.File, err error) {
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("import: %w", err)
		}
		files = append(files, propagation.File{Name: name, Text: text})
	}
	return files, nil
}

// importServices submits the services of policies and workloads.
func (f *importFlags) importServices(cmd *cobra.Command, files []propagation.File) error {
	o := propagation.Options{Set: make(map[string]string), IgnoreUnsupported: f.ignore}
	for _, x := range f.set {
		name, site, ok := strings.Cut(x, "=")
		if !ok || name == "" || site == "" {
			return usageError{fmt.Errorf("import: --set %q: want NAME=SITE", x)}
		}
		o.Set[name] = site
	}
	read, err := propagation.Parse(files, o)
	if err != nil {
		return usageError{err}
	}
	for _, n := range read.Notes {
		fmt.Fprintf(notesOf(cmd), "note: %s\n", format.CleanText(n))
	}
	submit := apiFlags{api: cmp.Or(f.api, defaultAPIAddress), outputFlags: f.outputFlags}
	for _, s := range read.Services {
		text, err := s.YAML()
		if err != nil {
			return fmt.Errorf("import: service %s: %w", s.ID, err)
		}
		if f.dryRun {
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "---\n%s", text); err != nil {
				return err
			}
			continue
		}
		if err := submit.changeService(cmd, http.MethodPost, "/v1/services", text); err != nil {
			return err
		}
	}
	return nil
}

// importQuotas proposes quotas and classes.
func (f *importFlags) importQuotas(cmd *cobra.Command, file propagation.File) error {
	read, err := quotafile.Parse(file.Name, file.Text)
	if err != nil {
		return usageError{err}
	}
	for _, n := range read.Notes {
		fmt.Fprintf(notesOf(cmd), "note: %s\n", format.CleanText(n))
	}
	if f.dryRun {
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
	return f.proposeChange(cmd, was, policyProposal{Sentence: filepath.Base(file.Name), Change: change})
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
		{Head: "MODELS", Value: func(q protocol.Quota) any { return quota.DescribeModels(q) }},
		{Head: "USD A MONTH", Value: func(q protocol.Quota) any {
			if q.Budget == 0 {
				return nil // no budget
			}
			return q.Budget.InDollars()
		}},
		{Head: "KG A MONTH", Value: func(q protocol.Quota) any {
			if q.CarbonBudget == 0 {
				return nil
			}
			return q.CarbonBudget.InKilograms()
		}},
	}}
}
