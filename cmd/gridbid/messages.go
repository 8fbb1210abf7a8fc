package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

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
	cmd := &cobra.Command{
		Use:   "messages [FILE]",
		Short: "print the messages of a run as JSON lines",
		Long: `Print the messages of a ledger as JSON lines, in the order in which they were sent.
FILE is a ledger, or - for standard input; without it the ledger of the last run is
read. Filters can be repeated or joined by commas; a message is printed if it
matches one value of each filter that is given.`,
		Example: `  gridbid messages --job job-0042
  gridbid messages --kind award,decline --from coordinator,agent/oslo
  gridbid messages run/auction.ledger | jq -r .kind | sort | uniq -c`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := f.ledgerOfArgs(args)
			if err != nil {
				return fmt.Errorf("messages: %w", err)
			}
			if err := printMessages(path, filter, cancellableReader{cmd.Context(), cmd.InOrStdin()}, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("messages: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "folder of the run, written by `gridbid replay`")
	cmd.Flags().StringSliceVar(&filter.kinds, "kind", nil, "only messages of these kinds: submit, call, offer, award, ...")
	cmd.Flags().StringSliceVar(&filter.jobs, "job", nil, "only messages that name these jobs")
	cmd.Flags().StringSliceVar(&filter.froms, "from", nil, "only messages of these senders: coordinator, agent/SITE, ...")
	return cmd
}

// printMessages prints the messages that pass the filter, one JSON value per line. If none does it
// says so on stderr, as an empty output looks like an empty ledger.
func printMessages(path string, filter messageFilter, in io.Reader, out, stderr io.Writer) error {
	lines := bufio.NewWriter(out)
	read, shown := 0, 0
	err := readLedger(path, in, stderr, func(m protocol.Message) error {
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
