package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/nearest"
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
		return "", fmt.Errorf("no ledger of policy %q%s in %s: choose --policy from %s", policy, nearest.DidYouMean(policy, names), dir, strings.Join(names, ", "))
	}
	return ledgerFile(dir, policy), nil
}

// ledgerFile returns the path of a policy's ledger in a folder.
func ledgerFile(dir, policy string) string {
	return filepath.Join(dir, scenarios.FileStem(policy)+ledgerSuffix)
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
type ledgerSelector struct {
	run, policy, at string
	record          liveRecord
}

// registerFlags adds the flags by which every reader selects what it reads: a ledger of a run, or the
// record of a running coordinator, and until when. run is the help of --run.
func (f *ledgerSelector) registerFlags(cmd *cobra.Command, run string) {
	f.registerRun(cmd, run)
	f.record.registerFlags(cmd)
	f.registerAt(cmd)
}

// registerRun adds the flags that select a ledger on disk alone.
func (f *ledgerSelector) registerRun(cmd *cobra.Command, run string) {
	cmd.Flags().StringVar(&f.run, "run", lastRunFolder, run)
	cmd.Flags().StringVar(&f.policy, "policy", "", "policy whose ledger is read (default: the only one in the folder, or auction)")
}

// ledgerPath returns the ledger that the flags select, or the URL of a coordinator's
// record. A missing one is a usageError that names the command that writes it.
func (f ledgerSelector) ledgerPath() (string, error) {
	if url, err := f.record.url(); err != nil || url != "" {
		return url, err
	}
	if _, err := os.Stat(f.run); err != nil {
		return "", usageError{fmt.Errorf("--run: %w: run `gridbid replay` first, name the folder of a run, or read a running coordinator with --live", err)}
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
	switch {
	case f.record.isAsked():
		s = f.record.flagText()
	case f.run != lastRunFolder:
		s += " --run " + shellWord(f.run)
	}
	if f.policy != "" {
		s += " --policy " + shellWord(f.policy)
	}
	if f.at != "" {
		s += " --at " + shellWord(f.at)
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
