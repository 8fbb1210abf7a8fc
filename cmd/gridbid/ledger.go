package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
)

const (
	lastRunFolder = ".gridbid/last" // default of --run
	ledgerSuffix  = ".ledger"
)

// ledgerPolicies returns the names of the policies that have a ledger in a folder, sorted.
func ledgerPolicies(dir string) (policies []string, err error) {
	files, err := os.ReadDir(dir)
	for _, file := range files {
		if policy, ok := strings.CutSuffix(file.Name(), ledgerSuffix); ok {
			policies = append(policies, policy)
		}
	}
	slices.Sort(policies)
	return policies, err
}

// findLedger returns the path of a policy's ledger in the folder of a run. Without a policy
// it returns the only ledger there or, if there are several, that of the auction.
func findLedger(dir, policy string) (string, error) {
	names, err := ledgerPolicies(dir)
	if err != nil {
		return "", fmt.Errorf("list ledgers: %w", err)
	}
	if len(names) == 0 {
		return "", fmt.Errorf("no ledger in %s: run `gridbid replay` first, or name the folder of a run with --run", dir)
	}
	// The only ledger needs no name; among several the auction's is the usual one.
	if policy == "" {
		if policy = "auction"; len(names) == 1 {
			policy = names[0]
		}
	}
	if name, err := scenarios.CanonicalPolicyName(policy); err == nil { // accept every spelling that replay accepts, such as auction/forecast
		policy = name
	}
	if !slices.Contains(names, scenarios.FileStem(policy)) {
		return "", fmt.Errorf("no ledger of policy %q in %s: choose --policy from %s", policy, dir, strings.Join(names, ", "))
	}
	return ledgerFile(dir, policy), nil
}

// ledgerFile returns the path of a policy's ledger in a folder.
func ledgerFile(dir, policy string) string {
	return filepath.Join(dir, scenarios.FileStem(policy)+ledgerSuffix)
}

// readLedger calls each with every message of the ledger at path, in order; "-" is standard
// input, read from in. A ledger without an end is read as far as it goes, which is
// reported to stderr.
func readLedger(path string, in io.Reader, stderr io.Writer, each func(protocol.Message) error) error {
	r, err := openLedger(path, in)
	if err != nil {
		return usageError{err}
	}
	return readRemaining(r, stderr, each)
}

// openLedger opens a ledger for reading; "-" is standard input.
func openLedger(path string, in io.Reader) (*wal.Reader, error) {
	if path == "-" {
		return wal.NewReader(in, "standard input")
	}
	return wal.OpenReader(path)
}

// readRemaining calls each with every message that r has left, as readLedger does, and
// closes r.
func readRemaining(r *wal.Reader, stderr io.Writer, each func(protocol.Message) error) (err error) {
	newer, read := 0, 0
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
			return nil
		// Kinds are only added within a protocol version, so the rest can be read without them.
		case errors.As(err, new(*protocol.UnknownKindError)):
			newer++
			continue
		case errors.Is(err, wal.ErrTorn):
			fmt.Fprintf(stderr, "The ledger has no end: the run is still going, or it was cut off. Using the %d messages that it has.\n", read)
			return nil
		case err != nil:
			return err
		}
		if err := each(m); err != nil {
			return err
		}
		read++
	}
}

// lockFolder locks a folder against other runs until release is called or the process ends.
// On a file system without such locks it succeeds without one.
func lockFolder(dir string) (release func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s is locked by another run", dir), d.Close())
	}
	return func() { _ = d.Close() }, nil
}

// A ledgerSelector is the flags by which a command selects the ledger to read.
type ledgerSelector struct{ run, policy string }

// registerFlags adds the flags; run is the help of --run.
func (f *ledgerSelector) registerFlags(cmd *cobra.Command, run string) {
	cmd.Flags().StringVar(&f.run, "run", lastRunFolder, run)
	cmd.Flags().StringVar(&f.policy, "policy", "", "policy whose ledger is read (default: the only one in the folder, or auction)")
}

// ledgerOfArgs returns the ledger that the argument names or, without one, the flags.
func (f ledgerSelector) ledgerOfArgs(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	return f.ledgerPath()
}

// ledgerPath returns the ledger that the flags select. A missing one is a usageError that names
// the command that writes it.
func (f ledgerSelector) ledgerPath() (string, error) {
	if _, err := os.Stat(f.run); err != nil {
		return "", usageError{fmt.Errorf("--run: %w: run `gridbid replay` first, or name the folder of a run", err)}
	}
	path, err := findLedger(f.run, f.policy)
	if err != nil {
		return "", usageError{err}
	}
	return path, nil
}

// flagText returns the flags that select the same ledger, with a leading space, for command
// lines that are printed; "" for the default.
func (f ledgerSelector) flagText() (s string) {
	if f.run != lastRunFolder {
		s += " --run " + shellWord(f.run)
	}
	if f.policy != "" {
		s += " --policy " + shellWord(f.policy)
	}
	return s
}

// shellWord returns a name as one word of a shell command line, quoted if it must be.
func shellWord(s string) string {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._/:@%+=,-", r)
	}
	if s != "" && !strings.ContainsFunc(s, odd) {
		return s
	}
	return format.ShellQuoted(s)
}
