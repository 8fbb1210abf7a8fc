package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// errUnknownJob says that a run has no job of the name that was asked for.
var errUnknownJob = errors.New("unknown job")

// A whyAnswer is `gridbid why --json`, schema version 1.
type whyAnswer struct {
	Schema int                    `json:"schema"`
	Job    protocol.JobID         `json:"job"`
	Ledger string                 `json:"ledger"`
	State  history.State          `json:"state"`
	Text   string                 `json:"text"`
	Facts  []narrate.DecisionFact `json:"facts"`
}

// newWhyCommand is `gridbid why`: one decision, explained from the ledger.
func newWhyCommand() *cobra.Command {
	var f ledgerSelector
	var n narratorFlags
	var asJSON, records bool
	cmd := &cobra.Command{
		Use:   "why JOB | D-14",
		Short: "say why a job ran where and when it did",
		Long: `Explain the decision on one job from the ledger of a run: why that site and that
hour, what every site offered, term by term, or why it offered nothing, and what
was measured in the end. Nothing is decided again; the ledger alone is read.

A decision's id in place of the job explains its job. With --record the decisions
themselves are written, as JSON: docs/decision-record.md. With --narrator a
language model tells the decision in short, by the facts alone: docs/models.md.`,
		Example: `  gridbid why job-0042
  gridbid why job-0042 --policy home-fifo
  gridbid why job-0042 --json | jq '.facts[] | select(.name == "total-cost")'
  gridbid why D-14 --record | jq '.[0].bids[] | select(.feasible | not)'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := f.ledgerPath()
			if err != nil {
				return fmt.Errorf("why: %w", err)
			}
			if records {
				if err := writeDecisionRecords(args[0], path, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
					return fmt.Errorf("why: %w", err)
				}
				return nil
			}
			if n.level != "" {
				if err := n.narrateDecision(cmd.Context(), args[0], path, asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
					return fmt.Errorf("why: %w", err)
				}
				return nil
			}
			if err := explainJob(protocol.JobID(args[0]), path, asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("why: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "folder of the run, as replay wrote it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write text and facts as JSON")
	n.registerFlags(cmd)
	cmd.Flags().BoolVar(&records, "record", false, "write the decision record of the decision, or of all on the job, as JSON")
	return cmd
}

func explainJob(id protocol.JobID, path string, asJSON bool, out, talk io.Writer) error {
	book := history.New(history.Config{})
	if err := readLedger(path, nil, talk, func(m protocol.Message) error {
		book.AddMessage(m)
		return nil
	}); err != nil {
		return err
	}
	r, ok := book.LatestJob(id)
	seq, _ := record.ParseDecisionID(string(id), func(seq uint64) bool { _, ok := book.DecisionByNumber(seq); return ok })
	if on, decided := book.DecisionByNumber(seq); decided {
		if ok && on.Job != id {
			return ambiguousNameError(string(id))
		}
		if all := book.InstancesOf(on.Job); on.Instance < len(all) {
			id, r, ok = on.Job, all[on.Instance], true
		}
	}
	if !ok {
		return fmt.Errorf("%w %q in %s%s", errUnknownJob, id, path, suggestJobIDs(id, book.JobIDs()))
	}
	if !asJSON {
		return narrate.WriteDecision(out, r)
	}
	var text bytes.Buffer
	if err := narrate.WriteDecision(&text, r); err != nil {
		return err
	}
	return writeJSON(out, whyAnswer{1, id, path, r.State, text.String(), narrate.DecisionFacts(r)})
}

// checkUnambiguous asks which is meant, if a job and a decision on another have the same name.
func checkUnambiguous(what string, log *query.Log) error {
	seq, _ := record.ParseDecisionID(what, func(seq uint64) bool { return slices.Contains(log.Decisions(), seq) })
	_, named := log.Book().LatestJob(protocol.JobID(what))
	if r, decided := log.About(seq); named && decided && string(r.Job.ID) != what {
		return ambiguousNameError(what)
	}
	return nil
}

// ambiguousNameError asks which is meant by a name that a job and a decision have.
func ambiguousNameError(what string) error {
	return fmt.Errorf("%q is a job and a decision; of the one, `gridbid ask 'why job %s'`, and of the other, `gridbid ask 'explain %s'`", what, ask.Quote(what), what)
}

// writeDecisionRecords writes the record of one decision, or of all on a job.
func writeDecisionRecords(what, path string, out, talk io.Writer) error {
	log, err := readRun(path, talk)
	if err != nil {
		return err
	}
	all := []record.DecisionRecord{}
	seq, _ := record.ParseDecisionID(what, func(seq uint64) bool { return slices.Contains(log.Decisions(), seq) })
	if err := checkUnambiguous(what, log); err != nil {
		return err
	}
	for _, id := range log.Decisions() {
		if d, ok := log.Decision(id); ok && (id == seq || d.Job.Name == what) {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("%w or decision %q in %s: `gridbid ask 'what happened'` lists decisions", errUnknownJob, what, path)
	}
	return writeJSON(out, all)
}

// suggestJobIDs names the ids that look most like one that is not there.
func suggestJobIDs(id protocol.JobID, all []protocol.JobID) string {
	if len(all) == 0 {
		return ": it has no jobs"
	}
	near := slices.Clone(all)
	distance := make(map[protocol.JobID]int, len(all))
	for _, other := range all {
		distance[other] = format.EditDistance(string(id), string(other))
	}
	slices.SortFunc(near, func(a, b protocol.JobID) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(a, b))
	})
	var names []string
	for _, other := range near[:min(5, len(near))] {
		names = append(names, fmt.Sprintf("%q", other))
	}
	return fmt.Sprintf(": it has %d jobs; the nearest ids are %s", len(all), strings.Join(names, ", "))
}
