package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/internal/format"
)

// narratorFlags select how `gridbid why` words a decision, and by which model.
type narratorFlags struct {
	modelFlags
	level string
	wait  time.Duration
}

// registerFlags adds the flags, those of the model included.
func (f *narratorFlags) registerFlags(cmd *cobra.Command) {
	f.modelFlags.registerFlags(cmd)
	cmd.Flags().StringVar(&f.level, "narrator", "", "summarize the decision: template (no model), select (a model orders ready sentences) or prose (a model words them; experimental)")
	cmd.Flags().DurationVar(&f.wait, "model-wait", time.Minute, "longest wait for the model")
}

// A narratedAnswer is `gridbid why --narrator --json`, schema version 1.
type narratedAnswer struct {
	Schema   int    `json:"schema"`
	Decision string `json:"decision"`
	advisor.Narration
}

// narrateDecision prints a summary of a decision, or of the last award of a job, at the
// level of --narrator.
func (f *narratorFlags) narrateDecision(cmd *cobra.Command, o *outputFlags, what string, from recordSource) error {
	stderr := cmd.ErrOrStderr()
	level := advisor.Level(f.level)
	switch level {
	case advisor.Template, advisor.Select, advisor.Prose:
	default:
		return usageError{fmt.Errorf("--narrator %q: want %q", f.level, advisor.Levels)}
	}
	m, err := f.openModel()
	if err != nil {
		return err
	}
	var model advisor.Model
	if m != nil {
		model = m
	} else if level != advisor.Template {
		return usageError{fmt.Errorf("--narrator %s needs a model: add --model URL and --model-name NAME", f.level)}
	}
	d, err := latestDecision(what, from, stderr)
	if err != nil {
		return err
	}
	narration := advisor.NewNarrator(model, level, f.wait).NarrateDecision(cmd.Context(), d)
	// Why no higher level than By was reached.
	if narration.Why != "" && !o.forPrograms() {
		fmt.Fprintf(stderr, "worded by %s: %s\n", narration.By, format.CleanText(narration.Why))
	}
	var shown []string
	for _, s := range narration.Text { // names of sites come from the ledger: clean them
		shown = append(shown, format.CleanText(s))
	}
	return o.printValue(cmd, narratedAnswer{1, d.ID, narration}, func(out io.Writer) {
		w := bufio.NewWriter(out)
		format.WrapText(w, strings.Join(shown, " "))
		_ = w.Flush() // never fails: out is a buffer in memory
	})
}

// latestDecision returns the decision with an id. For a job id it returns the last decision
// with a winner, or the last decision if none has one.
func latestDecision(what string, from recordSource, stderr io.Writer) (d record.DecisionRecord, err error) {
	log, err := readRun(from, stderr)
	if err != nil {
		return d, err
	}
	if err := checkUnambiguous(what, log); err != nil {
		return d, err
	}
	found := false
	for _, id := range log.DecisionNumbers() {
		r, ok := log.DecisionDocument(id)
		if ok && (r.ID == what || r.Job.Name == what) && (!found || d.Winner == nil || r.Winner != nil) {
			d, found = r, true
		}
	}
	if !found {
		return d, fmt.Errorf("%w or decision %q in %s", errUnknownJob, what, from.path)
	}
	return d, nil
}
