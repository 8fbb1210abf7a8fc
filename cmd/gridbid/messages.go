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

// A messageFilter chooses messages. The zero lets all pass.
type messageFilter struct {
	kinds []string
	froms []string
	jobs  []string
}

// newMessagesCommand is `gridbid tap`: the wire, for people.
func newMessagesCommand() *cobra.Command {
	var f ledgerSelector
	var filter messageFilter
	cmd := &cobra.Command{
		Use:   "tap [FILE]",
		Short: "print what was said in a run, one JSON line for each message",
		Long: `Print the messages of a ledger as JSON lines, in the order they were said. FILE
is a ledger, or - for standard input; without it the ledger of the last run is
read. Filters may be repeated or joined by commas; a message passes if it
matches one of each that is given.`,
		Example: `  gridbid tap --job job-0042
  gridbid tap --kind award,decline --from coordinator,agent/oslo
  gridbid tap run/auction.ledger | jq -r .kind | sort | uniq -c`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := f.ledgerOfArgs(args)
			if err != nil {
				return fmt.Errorf("tap: %w", err)
			}
			if err := printMessages(path, filter, cancellableReader{cmd.Context(), cmd.InOrStdin()}, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("tap: %w", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd, "folder of the run, as replay wrote it")
	cmd.Flags().StringSliceVar(&filter.kinds, "kind", nil, "only these kinds: submit, call, offer, award, ...")
	cmd.Flags().StringSliceVar(&filter.jobs, "job", nil, "only messages that name these jobs")
	cmd.Flags().StringSliceVar(&filter.froms, "from", nil, "only these speakers: coordinator, agent/SITE, ...")
	return cmd
}

func printMessages(path string, filter messageFilter, in io.Reader, out, talk io.Writer) error {
	lines := bufio.NewWriter(out)
	said, shown := 0, 0
	err := readLedger(path, in, talk, func(m protocol.Message) error {
		said++
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
		fmt.Fprintf(talk, "None of the %d messages passes the filter.\n", said)
	}
	return nil
}

func (f messageFilter) matchesMessage(m protocol.Message) bool {
	return (len(f.kinds) == 0 || slices.Contains(f.kinds, m.KindName())) &&
		(len(f.froms) == 0 || slices.Contains(f.froms, string(m.From))) &&
		(len(f.jobs) == 0 || slices.ContainsFunc(f.jobs, func(id string) bool { return m.IsAbout(protocol.JobID(id)) }))
}
