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
	lastRunFolder = ".gridbid/last" // where a replay leaves its ledgers unless told otherwise
	ledgerSuffix  = ".ledger"
)

// ledgerPolicies names the policies whose ledgers lie in a folder, sorted.
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

// findLedger returns the ledger of a policy in a run's folder. Without a policy
// it is the only ledger there, or else that of the auction.
func findLedger(dir, policy string) (string, error) {
	names, err := ledgerPolicies(dir)
	if err != nil {
		return "", fmt.Errorf("look for ledgers: %w", err)
	}
	if len(names) == 0 {
		return "", fmt.Errorf("no ledger in %s: replay a day first with `gridbid replay`, or name a run with --run", dir)
	}
	if policy == "" {
		if policy = "auction"; len(names) == 1 {
			policy = names[0]
		}
	}
	if name, err := scenarios.CanonicalPolicyName(policy); err == nil { // as replay takes it: auction/forecast
		policy = name
	}
	if !slices.Contains(names, scenarios.FileStem(policy)) {
		return "", fmt.Errorf("no ledger of policy %q in %s: --policy takes %s", policy, dir, strings.Join(names, ", "))
	}
	return ledgerFile(dir, policy), nil
}

// ledgerFile is where in a folder a policy's ledger lies.
func ledgerFile(dir, policy string) string {
	return filepath.Join(dir, scenarios.FileStem(policy)+ledgerSuffix)
}

// readLedger calls each with every message of a ledger, "-" being standard
// input. A ledger that was cut off is read as far as it goes, and talk says so.
func readLedger(path string, in io.Reader, talk io.Writer, each func(protocol.Message) error) error {
	r, err := openLedger(path, in)
	if err != nil {
		return usageError{err}
	}
	return readRemaining(r, talk, each)
}

func openLedger(path string, in io.Reader) (*wal.Reader, error) {
	if path == "-" {
		return wal.NewReader(in, "standard input")
	}
	return wal.OpenReader(path)
}

// readRemaining is readLedger from where r stands, and closes r.
func readRemaining(r *wal.Reader, talk io.Writer, each func(protocol.Message) error) (err error) {
	newer, read := 0, 0
	defer func() {
		if newer > 0 {
			fmt.Fprintf(talk, "Passed over %d messages of kinds that a newer version knows.\n", newer)
		}
		err = errors.Join(err, r.Close())
	}()
	for {
		m, err := r.ReadMessage()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, new(*protocol.UnknownKindError)):
			newer++
			continue
		case errors.Is(err, wal.ErrTorn):
			fmt.Fprintf(talk, "The record has no end: the run goes on, or it was cut off. Its %d messages so far are read.\n", read)
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

// lockFolder keeps other runs out of a folder until release is called or the program
// ends. Where the file system knows no such lock it keeps nobody out.
func lockFolder(dir string) (release func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("another run is writing into %s", dir), d.Close())
	}
	return func() { _ = d.Close() }, nil
}

// A ledgerSelector is how a command is told which ledger to read.
type ledgerSelector struct{ run, policy string }

func (f *ledgerSelector) registerFlags(cmd *cobra.Command, run string) {
	cmd.Flags().StringVar(&f.run, "run", lastRunFolder, run)
	cmd.Flags().StringVar(&f.policy, "policy", "", "whose ledger to read (default: the only one there, or auction)")
}

// ledgerOfArgs returns the ledger that a command's argument names, or else its flags.
func (f ledgerSelector) ledgerOfArgs(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	return f.ledgerPath()
}

func (f ledgerSelector) ledgerPath() (string, error) {
	if _, err := os.Stat(f.run); err != nil {
		return "", usageError{fmt.Errorf("run: %w: replay a day first with `gridbid replay`, or name a run with --run", err)}
	}
	path, err := findLedger(f.run, f.policy)
	if err != nil {
		return "", usageError{err}
	}
	return path, nil
}

// flagText returns the flags that name the same ledger again, for a command line.
func (f ledgerSelector) flagText() (s string) {
	if f.run != lastRunFolder {
		s += " --run " + shellWord(f.run)
	}
	if f.policy != "" {
		s += " --policy " + shellWord(f.policy)
	}
	return s
}

// shellWord spells a name as one word of a command line.
func shellWord(s string) string {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._/:@%+=,-", r)
	}
	if s != "" && !strings.ContainsFunc(s, odd) {
		return s
	}
	return format.ShellQuoted(s)
}
