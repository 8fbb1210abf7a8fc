package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/archive"
	"github.com/gridbid/gridbid/protocol"
)

// A recordSource is a record that a command reads, and how far: every reader reads the same
// sources by the same flags (decision 0283).
type recordSource struct {
	path   string        // of a ledger; "-" is standard input, a URL the record of a coordinator
	at     protocol.Time // what was sent later is left out; 0: nothing is
	follow bool          // more is read as it comes: a running coordinator's record, of a command that goes on
}

// isLive reports whether the source is the record of a running coordinator, and not a file.
func (s recordSource) isLive() bool { return isRecordURL(s.path) }

// followed returns the source for a command that goes on: the record of a running coordinator is
// followed, unless --at says until when it is read.
func (s recordSource) followed() recordSource {
	s.follow = s.isLive() && s.at == 0
	return s
}

// atForms are the forms of --at, all in UTC unless they say otherwise.
var atForms = []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04"}

// parseAt returns the instant of --at; 0 for "".
func parseAt(text string) (protocol.Time, error) {
	if text == "" {
		return 0, nil
	}
	for _, form := range atForms {
		if t, err := time.Parse(form, text); err == nil {
			return protocol.FromStdTime(t), nil
		}
	}
	return 0, usageError{fmt.Errorf("--at %q: want an RFC 3339 instant such as 2026-03-11T13:45:00Z", text)}
}

// registerAt adds --at.
func (f *ledgerSelector) registerAt(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.at, "at", "", "read the record as it stood at this `INSTANT`: RFC 3339, such as 2026-03-11T13:45:00Z")
}

// source returns the record that the flags select. A missing ledger is a usageError that names
// the command that writes it.
func (f ledgerSelector) source() (s recordSource, err error) {
	if s.at, err = parseAt(f.at); err != nil {
		return s, err
	}
	s.path, err = f.ledgerPath()
	return s, err
}

// sourceOfArgs returns the record that the argument names or, without one, the flags.
func (f ledgerSelector) sourceOfArgs(args []string) (s recordSource, err error) {
	if len(args) == 0 {
		return f.source()
	}
	if f.record.isAsked() {
		return s, usageError{fmt.Errorf("%s and --live or --api name two records: drop one", args[0])}
	}
	s.path = args[0]
	s.at, err = parseAt(f.at)
	return s, err
}

// open opens the record for reading; in is standard input. A ledger that is not there is a usageError; a
// coordinator that does not answer is none, as the command may be right.
func (s recordSource) open(in io.Reader) (*wal.Reader, error) {
	r, err := openLedger(s.path, in)
	if err != nil && !s.isLive() {
		err = usageError{err}
	}
	return r, err
}

// openLedger opens a ledger for reading; "-" is standard input, a URL the record of a coordinator.
func openLedger(path string, in io.Reader) (*wal.Reader, error) {
	switch {
	case path == "-":
		return wal.NewReader(in, "standard input")
	case isRecordURL(path):
		return openRecord(path)
	}
	return wal.OpenReader(path)
}

// readMessages calls each with every message of the record, in order. A ledger without an end is
// read as far as it goes, which is reported to stderr.
func (s recordSource) readMessages(in io.Reader, stderr io.Writer, each func(protocol.Message) error) error {
	r, err := s.open(in)
	if err != nil {
		return err
	}
	return s.readRemaining(r, stderr, each)
}

// readRemaining calls each with every message that r has left, as readMessages does, and
// closes r.
func (s recordSource) readRemaining(r *wal.Reader, stderr io.Writer, each func(protocol.Message) error) (err error) {
	cut := recordCut{at: s.at}
	newer, read := 0, 0
	if r.Header()[archive.LeadsKey] == "false" {
		fmt.Fprintln(stderr, "This coordinator stands by: its record ends where it last led.")
	}
	defer func() {
		if newer > 0 {
			fmt.Fprintf(stderr, "Skipped %d messages of kinds that only a newer version of gridbid reads.\n", newer)
		}
		err = errors.Join(err, r.Close())
	}()
	for {
		m, err := r.ReadMessage()
		switch {
		case errors.Is(err, io.EOF):
			return cut.check()
		// Kinds are only added within a protocol version, so the rest can be read without them.
		case errors.As(err, new(*protocol.UnknownKindError)):
			newer++
			continue
		case errors.Is(err, wal.ErrTorn):
			fmt.Fprintf(stderr, "The ledger has no end: the run is still going, or it was cut off. Using the %d messages that it has.\n", read)
			return cut.check()
		case err != nil:
			return err
		}
		read++
		if !cut.keeps(m) {
			continue
		}
		if err := each(m); err != nil {
			return err
		}
	}
}

// A recordCut leaves out what was sent after an instant.
type recordCut struct{ at, first, last protocol.Time }

// keeps reports whether a message is read. The rest is passed over, not cut off: clocks of sites
// differ, so a later message may be of an earlier instant.
func (c *recordCut) keeps(m protocol.Message) bool {
	if c.first == 0 || m.At < c.first {
		c.first = m.At
	}
	c.last = max(c.last, m.At)
	return c.at == 0 || m.At <= c.at
}

// cutSlack is how far after the last message --at may lie: somebody asks a quiet federation as of now.
const cutSlack = 24 * time.Hour

// check returns an error for an instant that is not in the record: a year too many would
// otherwise give the end of it.
func (c recordCut) check() error {
	if c.at == 0 || c.first == 0 || c.at >= c.first && c.at <= c.last.Add(cutSlack) {
		return nil
	}
	return usageError{fmt.Errorf("--at: %s is not in the record, which goes from %s to %s", c.at, c.first, c.last)}
}
