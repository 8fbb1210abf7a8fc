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

func (f *narratorFlags) flags(cmd *cobra.Command) {
	f.modelFlags.flags(cmd)
	cmd.Flags().StringVar(&f.level, "narrator", "", "have a model tell the decision in short: select orders ready sentences, prose words them (experimental), template asks no model")
	cmd.Flags().DurationVar(&f.wait, "model-wait", time.Minute, "how long to wait for the model")
}

// A toldAnswer is `gridbid why --narrator --json`, schema version 1.
type toldAnswer struct {
	Schema   int    `json:"schema"`
	Decision string `json:"decision"`
	advisor.Told
}

// tell has a decision told, or the last on a job that gave it to a site.
func (f *narratorFlags) tell(ctx context.Context, what, path string, asJSON bool, out, talk io.Writer) error {
	level := advisor.Level(f.level)
	switch level {
	case advisor.Template, advisor.Select, advisor.Prose:
	default:
		return badInput{fmt.Errorf("--narrator %q: want %q", f.level, advisor.Levels)}
	}
	m, err := f.open()
	if err != nil {
		return err
	}
	var model advisor.Model
	if m != nil {
		model = m
	} else if level != advisor.Template {
		return badInput{errors.New("--narrator: a model has to be named with --model URL and --model-name")}
	}
	d, err := last(what, path, talk)
	if err != nil {
		return err
	}
	told := advisor.NewNarrator(model, level, f.wait).Tell(ctx, d)
	if asJSON {
		return tellJSON(out, toldAnswer{1, d.ID, told})
	}
	if told.Why != "" {
		fmt.Fprintf(talk, "told by %s: %s\n", told.By, format.Clean(told.Why))
	}
	var shown []string
	for _, s := range told.Text { // it names sites as the ledger does
		shown = append(shown, format.Clean(s))
	}
	w := bufio.NewWriter(out)
	format.Wrap(w, strings.Join(shown, " "))
	return w.Flush()
}

// last returns the decision of an id, or of a job the last that has a winner, or
// else the last.
func last(what, path string, talk io.Writer) (d record.Record, err error) {
	log, err := readRun(path, talk)
	if err != nil {
		return d, err
	}
	if err := one(what, log); err != nil {
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
