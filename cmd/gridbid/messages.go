package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// A messageFilter selects messages: by any of its kinds, senders and jobs. An empty list
// selects all, so the zero value matches every message.
type messageFilter struct {
	kinds []string
	froms []string
	jobs  []string
}

// newMessagesCommand is `gridbid messages`: the messages of a ledger as JSON lines, with long
// names and readable times. The form is for reading; nothing reads it back.
func newMessagesCommand() *cobra.Command {
	var f ledgerSelector
	var filter messageFilter
	var o outputFlags
	var list listFlags
	cmd := &cobra.Command{
		Use:   "messages [FILE]",
		Short: "print the messages of a run as JSON lines",
		Long: `Print the messages of a ledger as JSON lines, in the order in which they were sent.
FILE is a ledger, or - for standard input; without it the ledger of the last run is
read. Filters can be repeated or joined by commas; a message is printed if it
matches one value of each filter that is given.

-o prints them as a table, as CSV or as one JSON value, and -l, --sort and --limit
select and order them; then all of them are held in memory.`,
		Example: `  gridbid messages --job job-0042
  gridbid messages --kind award,decline --from coordinator,agent/oslo
  gridbid messages run/auction.ledger 
  gridbid messages --live -o table --sort -at --limit 20| jq -r .kind | sort | uniq -c`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := filter.checkKinds(); err != nil {
				return err
			}
			from, err := f.sourceOfArgs(args)
			if err != nil {
				return fmt.Errorf("messages: %w", err)
			}
			if !cmd.Flags().Changed("output") && list.Selection == (printer.Selection{}) {
				err = printMessages(from, filter, cancellableReader{cmd.Context(), cmd.InOrStdin()}, cmd.OutOrStdout(), cmd.ErrOrStderr())
			} else {
				err = listMessages(cmd, &o, &list, from, filter)
			}
			if err != nil {
				return fmt.Errorf("messages: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	cmd.Flags().StringSliceVar(&filter.kinds, "kind", nil, "only messages of these kinds: submit, call, offer, award, ...")
	cmd.Flags().StringSliceVar(&filter.jobs, "job", nil, "only messages that name these jobs")
	cmd.Flags().StringSliceVar(&filter.froms, "from", nil, "only messages of these senders: coordinator, agent/SITE, ...")
	o.registerOutput(cmd)
	list.registerList(cmd, "messages", 0)
	return cmd
}

// checkKinds returns an error for a kind that no message has.
func (f messageFilter) checkKinds() error {
	for _, kind := range f.kinds {
		if all := protocol.KindNames(); !slices.Contains(all, kind) {
			return usageError{fmt.Errorf("--kind: there are no messages of kind %q%s: the kinds are %s", kind, nearest.DidYouMean(kind, all), strings.Join(all, ", "))}
		}
	}
	return nil
}

// A listedMessage is a message whose JSON is the line that is printed of it.
type listedMessage struct{ protocol.Message }

// MarshalJSON implements json.Marshaler.
func (m listedMessage) MarshalJSON() ([]byte, error) { return protocol.MessageJSON(m.Message) }

// listMessages prints the messages that pass the filter as a listing; without -o as JSON lines.
func listMessages(cmd *cobra.Command, o *outputFlags, list *listFlags, from recordSource, filter messageFilter) error {
	type message = listedMessage
	l := printer.Listing[message]{Columns: []printer.Column[message]{
		{Head: "MESSAGE", Value: func(m message) any { return fmt.Sprintf("%s:%d", m.From, m.Seq) }},
		{Head: "AT", Value: func(m message) any { return m.At }},
		{Head: "KIND", Value: func(m message) any { return m.KindName() }},
		{Head: "FROM", Value: func(m message) any { return string(m.From) }, Wide: true},
		{Head: "TO", Value: func(m message) any { return cmp.Or(string(m.To), "all") }},
		{Head: "JOB", Value: func(m message) any {
			id, _ := m.OneJob()
			return string(id)
		}},
	}}
	read := 0
	err := from.readMessages(cancellableReader{cmd.Context(), cmd.InOrStdin()}, cmd.ErrOrStderr(), func(m protocol.Message) error {
		read++
		if filter.matchesMessage(m) {
			l.Rows = append(l.Rows, message{m})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(l.Rows) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "None of the %d messages matches the filters.\n", read)
	}
	view, err := selectRows(list, l)
	switch {
	case err != nil:
		return err
	case cmd.Flags().Changed("output"):
		return o.printView(cmd, view)
	}
	err = view.PrintChanges(cmd.OutOrStdout(), printer.JSON, new(printer.Watched))
	printNoteAfter(cmd, view)
	return err
}

// printMessages prints the messages that pass the filter, one JSON value per line. If none does it
// says so on stderr, as an empty output looks like an empty ledger.
func printMessages(from recordSource, filter messageFilter, in io.Reader, out, stderr io.Writer) error {
	lines := bufio.NewWriter(out)
	read, shown := 0, 0
	err := from.readMessages(in, stderr, func(m protocol.Message) error {
		read++
		if !filter.matchesMessage(m) {
			return nil
		}
		shown++
		line, err := protocol.MessageJSON(m)
		if err != nil {
			return err
		}
		_, err = lines.Write(append(line, '\n'))
		return err
	})
	if err := errors.Join(err, lines.Flush()); err != nil {
		return err
	}
	if shown == 0 {
		fmt.Fprintf(stderr, "None of the %d messages matches the filters.\n", read)
	}
	return nil
}

// matchesMessage reports whether a message has one value of each filter that is given.
func (f messageFilter) matchesMessage(m protocol.Message) bool {
	return (len(f.kinds) == 0 || slices.Contains(f.kinds, m.KindName())) &&
		(len(f.froms) == 0 || slices.Contains(f.froms, string(m.From))) &&
		(len(f.jobs) == 0 || slices.ContainsFunc(f.jobs, func(id string) bool { return m.IsAbout(protocol.JobID(id)) }))
}
