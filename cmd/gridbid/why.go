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

	"github.com/gridbid/gridbid/coordinator/shadow"
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// errUnknownJob is the error for a job id that the run lacks.
var errUnknownJob = errors.New("unknown job")

// A whyAnswer is `gridbid why --json`, schema version 2: its facts are figures as answers have them.
type whyAnswer struct {
	Schema int            `json:"schema"`
	Job    protocol.JobID `json:"job"`
	Ledger string         `json:"ledger"`
	State  history.State  `json:"state"`
	Text   string         `json:"text"`
	Facts  []query.Figure `json:"facts"`
	Shadow *shadowAnswer  `json:"shadow,omitempty"` // what a policy in shadow chose for the job
}

// newWhyCommand is `gridbid why`: it explains one decision from the ledger.
func newWhyCommand() *cobra.Command {
	var f ledgerSelector
	var n narratorFlags
	var o outputFlags
	var records bool
	var choices string
	cmd := &cobra.Command{
		Use:   "why JOB | D-14 | SERVICE",
		Short: "explain why a job ran where and when it did, or replicas of a service are where they are",
		Long: `Explain the decision on one job from the ledger of a run: why that site and that
hour, what every site offered, term by term, or why it made no offer, and what was
measured in the end. The command reads the ledger and repeats no decision.

The id of a decision, such as D-14, explains the job of that decision; that of a service
says how many of its replicas are where and why, and what is pending. What the learned
policy would have done, in shadow, follows if "gridbid shadow" has run. With --record
the decision records are printed as JSON: docs/decision-record.md. With --narrator a
language model summarizes the decision from the recorded facts: docs/models.md.`,
		Example: `  gridbid why job-0042
  gridbid why job-0042 --policy home-fifo
  gridbid why job-0042 -o json | jq '.facts[] | select(.name == "total-cost")'
  gridbid why train-7 --live
  gridbid why train-7 --at 2026-03-11T14:00:00Z
  gridbid why D-14 --record | jq '.[0].bids[] | select(.feasible | not)'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := f.source()
			if err != nil {
				return fmt.Errorf("why: %w", err)
			}
			if records {
				if err := writeDecisionRecords(args[0], from, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
					return fmt.Errorf("why: %w", err)
				}
				return nil
			}
			if n.level != "" {
				if err := n.narrateDecision(cmd, &o, args[0], from); err != nil {
					return fmt.Errorf("why: %w", err)
				}
				return nil
			}
			if err := explainJob(cmd, &o, protocol.JobID(args[0]), from, choices); err != nil {
				return fmt.Errorf("why: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	o.registerOutput(cmd)
	n.registerFlags(cmd)
	cmd.Flags().StringVar(&choices, "shadow", "", "`FILE` of choices that gridbid shadow wrote (default: that beside the ledger, if there is one)")
	cmd.Flags().BoolVar(&records, "record", false, "print the record of the decision, or of all decisions on the job, as JSON")
	return cmd
}

// explainJob prints the explanation of the job with an id, or of the job of the decision
// with that id. An id can be reused after a job ended: the decision selects the instance. choices
// names the choices of a policy in shadow; "" those beside the ledger.
func explainJob(cmd *cobra.Command, o *outputFlags, id protocol.JobID, from recordSource, choices string) error {
	book := history.New(history.Config{})
	if err := from.readMessages(nil, cmd.ErrOrStderr(), func(m protocol.Message) error {
		book.AddMessage(m)
		return nil
	}); err != nil {
		return err
	}
	// The argument may be the id of a job or of a decision; both is ambiguous unless it is the same
	// job.
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
	if s := book.Service(protocol.ServiceID(id)); !ok && s != nil {
		return explainService(cmd, o, s, book, from)
	}
	if !ok {
		return fmt.Errorf("%w %q in %s%s", errUnknownJob, id, from.path, suggestJobIDs(id, book.JobIDs()))
	}
	card := query.ExplainJob(book, r)
	var text bytes.Buffer
	if err := card.WriteText(&text); err != nil {
		return err
	}
	chosen, err := shadowChoiceOf(choices, from, &r.Job)
	if err != nil {
		return err
	}
	if chosen != nil {
		text.WriteString("\n" + shadow.Describe(chosen.Policy, chosen.Choice) + "\n")
	}
	state := book.JobStateNow(&r, cmp.Or(from.at, book.Coverage().Last)).State
	return o.printView(cmd, figuresOf(card, whyAnswer{2, id, from.path, state, text.String(), card.Figures, chosen}, func(out io.Writer) { _, _ = text.WriteTo(out) }))
}

// checkUnambiguous returns an error if a name is the id of a job and also of a decision on
// another job.
func checkUnambiguous(what string, log *query.Dataset) error {
	seq, _ := record.ParseDecisionID(what, func(seq uint64) bool { return slices.Contains(log.DecisionNumbers(), seq) })
	_, named := log.History().LatestJob(protocol.JobID(what))
	if r, decided := log.JobOfDecision(seq); named && decided && string(r.Job.ID) != what {
		return ambiguousNameError(what)
	}
	return nil
}

// ambiguousNameError is the error for a name that a job and a decision share. It gives a
// command for each.
func ambiguousNameError(what string) error {
	return fmt.Errorf("%q is the id of a job and of a decision: for the job use `gridbid ask 'why job %s'`, for the decision `gridbid ask 'explain %s'`", what, ask.QuoteName(what), what)
}

// writeDecisionRecords prints the record of one decision, or of all decisions on a job.
func writeDecisionRecords(what string, from recordSource, out, stderr io.Writer) error {
	log, err := readRun(from, stderr)
	if err != nil {
		return err
	}
	all := []record.DecisionRecord{}
	seq, _ := record.ParseDecisionID(what, func(seq uint64) bool { return slices.Contains(log.DecisionNumbers(), seq) })
	if err := checkUnambiguous(what, log); err != nil {
		return err
	}
	for _, id := range log.DecisionNumbers() {
		if d, ok := log.DecisionDocument(id); ok && (id == seq || d.Job.Name == what) {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("%w or decision %q in %s: `gridbid ask 'what happened'` lists decisions", errUnknownJob, what, from.path)
	}
	return writeJSON(out, all)
}

// suggestJobIDs returns the five job ids nearest to an unknown one by edit distance, as the
// end of an error.
func suggestJobIDs(id protocol.JobID, all []protocol.JobID) string {
	if len(all) == 0 {
		return ": the run has no jobs"
	}
	// Nearest first; equal distances by name, so that the same run gives the same text.
	near := slices.Clone(all)
	distance := make(map[protocol.JobID]int, len(all))
	for _, other := range all {
		distance[other] = nearest.EditDistance(string(id), string(other))
	}
	slices.SortFunc(near, func(a, b protocol.JobID) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(a, b))
	})
	var names []string
	for _, other := range near[:min(5, len(near))] {
		names = append(names, fmt.Sprintf("%q", other))
	}
	return fmt.Sprintf(": the run has %d jobs; the nearest ids are %s", len(all), strings.Join(names, ", "))
}
