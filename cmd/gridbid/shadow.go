package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/shadow"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// shadowSuffix follows the name of a policy in that of the choices beside its ledger.
const shadowSuffix = ".shadow.jsonl"

// shadowFlags are the flags of `gridbid shadow`.
type shadowFlags struct {
	ledgerSelector
	outputFlags
	weights, out string
	follow       bool
}

// newShadowCommand is `gridbid shadow`: greensched beside the rule in force.
func newShadowCommand() *cobra.Command {
	var f shadowFlags
	cmd := &cobra.Command{
		Use:   "shadow",
		Short: "run the learned policy greensched in shadow: what it would have done, and cost",
		Long: `Have the learned policy greensched decide the rounds of a record beside the rule in
force, from all that that rule knew, and compare what both chose. Its choices are written
to a file and never sent: the command reads the record, and has no connection to the bus.
With --live --follow it runs beside a coordinator until you stop it; the coordinator does
not wait for it.

Each job counts once, in the first round in which greensched chose a place for it. Costs,
carbon and waits are those that sites bid in that round. docs/learned.md says more.

"gridbid why JOB" reads the choices that stand beside a ledger, and others with --shadow.
Weights that are refused end the command before it reads anything.`,
		Example: `  gridbid replay --policy auction && gridbid shadow && gridbid why job-0042
  gridbid shadow --live --follow --out choices.jsonl
  gridbid why train-7 --live --shadow choices.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.runShadow(cmd); err != nil {
				return fmt.Errorf("shadow: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	f.registerOutput(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.weights, "weights", "", "`FILE` of weights, as gridbid learn rule writes it (default: those in the program)")
	fl.StringVar(&f.out, "out", "", "`FILE` of the choices (default: beside the ledger; of a running coordinator none)")
	fl.BoolVar(&f.follow, "follow", false, "with --live: go on until you stop it, and print each choice")
	return cmd
}

// runShadow reads the record, writes the choices, and prints their sum.
func (f *shadowFlags) runShadow(cmd *cobra.Command) error {
	weights, name, err := weightsOf(f.weights)
	switch {
	case errors.As(err, new(usageError)):
		return err
	case err != nil:
		return fmt.Errorf("%s are refused, and nothing runs in shadow: %w", name, err)
	}
	from, err := f.source()
	if err != nil {
		return err
	}
	if from.follow = f.follow; f.follow && (!from.isLive() || from.at != 0) {
		return usageError{errors.New("--follow follows the record of a running coordinator: add --live, and leave out --at")}
	}
	reader, err := newShadowReader(from, weights, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	out, err := f.createStream(from, weights)
	if err != nil {
		return err
	}
	s := shadowRun{reader: reader, stream: out, title: learned.TitleOf(weights)}
	if f.follow && !f.forPrograms() {
		s.each = cmd.OutOrStdout()
	}
	err = errors.Join(s.readRecord(cmd.Context(), from, cmd.ErrOrStderr()), out.Close())
	if missing := reader.Missing(); missing != "" && !errors.Is(err, context.Canceled) {
		missing = "rounds of this record are not in the comparison: " + missing
		if s.sum.Jobs == 0 {
			return errors.Join(err, errors.New(missing))
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "Some "+missing)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return f.printView(cmd, s.view())
}

// newShadowReader returns the reader of a record.
func newShadowReader(from recordSource, w net.File, stderr io.Writer) (*shadow.Reader, error) {
	if from.isLive() {
		return shadow.NewLiveReader(learned.NewShadow(w)), nil
	}
	r, err := from.open(nil)
	if err != nil {
		return nil, err
	}
	live, policy := r.Header()["live"] != "", r.Header()["policy"]
	if err := r.Close(); err != nil {
		return nil, err
	}
	if live {
		return shadow.NewLiveReader(learned.NewShadow(w)), nil
	}
	if policy, _, _ = strings.Cut(policy, "/"); policy != scenarios.PolicyAuction && policy != scenarios.PolicyAuctionNow {
		return nil, usageError{fmt.Errorf("%s is the ledger of %s, and a policy runs in shadow of the auction alone: choose --policy auction", from.path, format.CleanText(policy))}
	}
	cfg := replayedMarket
	if cfg.Advice, _, err = adviceOfLedger(from.path, stderr); err != nil {
		return nil, err
	}
	return shadow.NewReader(learned.NewShadow(w), cfg), nil
}

// createStream creates the file of the choices, and writes its header. Nothing is kept of a running
// coordinator unless --out says where. A file that is there is replaced only beside a ledger, from
// which it follows: a coordinator may have begun a new record since.
func (f *shadowFlags) createStream(from recordSource, w net.File) (io.WriteCloser, error) {
	path, how := f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL
	if path == "" {
		if from.isLive() {
			return discardedStream{io.Discard}, nil
		}
		path, how = shadowBeside(from.path), os.O_WRONLY|os.O_CREATE|os.O_TRUNC
	}
	file, err := os.OpenFile(path, how, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, usageError{fmt.Errorf("--out: %s exists: name another file, or remove it", path)}
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("--out: %w", err)}
	}
	if err := json.NewEncoder(file).Encode(shadow.Header{Schema: shadow.Schema, Policy: learned.TitleOf(w), Weights: w.SHA256}); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// shadowBeside returns the file of the choices beside a ledger.
func shadowBeside(ledger string) string {
	return strings.TrimSuffix(ledger, ledgerSuffix) + shadowSuffix
}

// A discardedStream is choices that nobody keeps.
type discardedStream struct{ io.Writer }

func (discardedStream) Close() error { return nil }

// A shadowRun is a record that is being read.
type shadowRun struct {
	reader *shadow.Reader
	stream io.Writer // each choice is in it at once, as others read it meanwhile
	each   io.Writer // for people; nil: only the sum is printed
	title  string
	sum    shadow.Sum
}

// readRecord reads a record to its end; one that is followed until ctx ends.
func (s *shadowRun) readRecord(ctx context.Context, from recordSource, stderr io.Writer) error {
	version := ""
	if from.follow {
		var err error
		if version, err = ledgerVersion(from.path); err != nil {
			return err
		}
	}
	r, err := from.open(nil)
	if err != nil {
		return err
	}
	f := recordFollower{from: from, version: version, every: followInterval, stderr: stderr, caughtUp: make(chan struct{})}
	return f.readMessages(ctx, r, s.addMessage)
}

// addMessage reads a message and keeps the choices that follow from it.
func (s *shadowRun) addMessage(m protocol.Message) error {
	for _, c := range s.reader.AddMessage(m) {
		s.sum.Add(c)
		if err := json.NewEncoder(s.stream).Encode(c); err != nil {
			return err
		}
		if s.each != nil {
			fmt.Fprintf(s.each, "%s  %s\n", format.CleanText(string(c.Job)), shadow.Describe(s.title, c))
		}
	}
	return nil
}

// A shadowRow is one line of the table: what a rule chose, as bid.
type shadowRow struct {
	rule string
	jobs int // for which both rules had a place
	shadow.Figures
}

// view returns the table of what both rules chose.
func (s *shadowRun) view() printer.View {
	n := s.sum.Compared()
	v := printer.Listing[shadowRow]{
		Rows: []shadowRow{{"in force", n, s.sum.Did}, {s.title, n, s.sum.Would}},
		Data: struct {
			Schema int    `json:"schema"`
			Policy string `json:"policy"`
			shadow.Sum
		}{1, s.title, s.sum},
		Columns: []printer.Column[shadowRow]{
			{Head: "RULE", Value: func(r shadowRow) any { return r.rule }},
			{Head: "JOBS", Value: func(r shadowRow) any { return r.jobs }},
			{Head: "COST USD", Value: func(r shadowRow) any { return float64(r.Cost) / 1e6 }, Verb: "%.4f"},
			{Head: "CARBON KG", Value: func(r shadowRow) any { return r.Carbon.InKilograms() }, Verb: "%.3f"},
			{Head: "WAIT MIN", Value: func(r shadowRow) any { return (r.Wait / time.Duration(max(r.jobs, 1))).Minutes() }, Verb: "%.1f"},
			{Head: "LATE", Value: func(r shadowRow) any { return r.Late }},
		},
	}
	note := fmt.Sprintf("%s, in shadow: of %s it chose the same for %d, another place or hour for %d, and would have held %d; for %d the rule in force had no place. As bid, in the first round in which it chose; waits are means.",
		s.title, format.CountWithNoun(s.sum.Jobs, "job", "jobs"), s.sum.Agreed, s.sum.Differed, s.sum.Held, s.sum.NoPlace)
	return noteAfter{v, note}
}

// A shadowAnswer is what a policy in shadow chose for a job: `shadow` of `gridbid why --json`.
type shadowAnswer struct {
	shadow.Header
	shadow.Choice
}

// shadowChoiceOf returns what a stream of choices has about a job, or nil. Of a run on disk that is the
// stream beside its ledger, if there is one and no other is named.
func shadowChoiceOf(file string, from recordSource, j *protocol.Job) (*shadowAnswer, error) {
	path := file
	if path == "" {
		if from.isLive() || from.path == "-" {
			return nil, nil
		}
		path = shadowBeside(from.path)
	}
	text, err := os.ReadFile(path)
	if file == "" && errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("--shadow: %w: gridbid shadow writes it", err)}
	}
	h, all, err := shadow.ParseStream(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, c := range all {
		if c.Job == j.ID && c.Arrival == j.Arrival && (from.at == 0 || c.At <= from.at) {
			return &shadowAnswer{h, c}, nil
		}
	}
	return nil, nil
}
