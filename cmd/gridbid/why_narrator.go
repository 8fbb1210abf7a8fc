package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/record"
)

// narratorFlags say who words a decision.
type narratorFlags struct {
	modelFlags
	level string
	wait  time.Duration
}

func (f *narratorFlags) registerFlags(cmd *cobra.Command) {
	f.modelFlags.registerFlags(cmd)
	cmd.Flags().StringVar(&f.level, "narrator", "", "have a model tell the decision in short: select orders ready sentences, prose words them (experimental), template asks no model")
	cmd.Flags().DurationVar(&f.wait, "model-wait", time.Minute, "how long to wait for the model")
}

// A narratedAnswer is `gridbid why --narrator --json`, schema version 1.
type narratedAnswer struct {
	Schema   int    `json:"schema"`
	Decision string `json:"decision"`
	advisor.Narration
}

// narrateDecision has a decision told, or the last on a job that gave it to a site.
func (f *narratorFlags) narrateDecision(ctx context.Context, what, path string, asJSON bool, out, talk io.Writer) error {
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
		return usageError{errors.New("--narrator: a model has to be named with --model URL and --model-name")}
	}
	d, err := latestDecision(what, path, talk)
	if err != nil {
		return err
	}
	told := advisor.NewNarrator(model, level, f.wait).NarrateDecision(ctx, d)
	if asJSON {
		return writeJSON(out, narratedAnswer{1, d.ID, told})
	}
	if told.Why != "" {
		fmt.Fprintf(talk, "told by %s: %s\n", told.By, format.CleanText(told.Why))
	}
	var shown []string
	for _, s := range told.Text { // it names sites as the ledger does
		shown = append(shown, format.CleanText(s))
	}
	w := bufio.NewWriter(out)
	format.WrapText(w, strings.Join(shown, " "))
	return w.Flush()
}

// latestDecision returns the decision of an id, or of a job the last that has a winner, or
// else the last.
func latestDecision(what, path string, talk io.Writer) (d record.DecisionRecord, err error) {
	log, err := readRun(path, talk)
	if err != nil {
		return d, err
	}
	if err := checkUnambiguous(what, log); err != nil {
		return d, err
	}
	found := false
	for _, id := range log.Decisions() {
		r, ok := log.Decision(id)
		if ok && (r.ID == what || r.Job.Name == what) && (!found || d.Winner == nil || r.Winner != nil) {
			d, found = r, true
		}
	}
	if !found {
		return d, fmt.Errorf("%w or decision %q in %s", errUnknownJob, what, path)
	}
	return d, nil
}
