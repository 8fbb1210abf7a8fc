package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/tables"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
)

// metaFile is the file beside the ledgers of a replay that holds what they do not say.
const metaFile = "meta.json"

// writeMetas writes what the ledgers of a run do not say about it.
func writeMetas(dir string, metas []history.Meta) error {
	out, err := os.Create(filepath.Join(dir, metaFile))
	if err != nil {
		return err
	}
	return errors.Join(writeJSON(out, metas), out.Close())
}

// readMetas reads what writeMetas wrote; nothing of a folder that no replay wrote.
func readMetas(dir string) (metas []history.Meta, err error) {
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &metas)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: replay the run anew", filepath.Join(dir, metaFile), err)
	}
	return metas, nil
}

// readTotals reads the figures of a run's policies.
func readTotals(dir string) (all []history.Totals, err error) {
	path := filepath.Join(dir, "totals.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("%w: want a folder in which `gridbid replay` has finished (its --run)", err)}
	}
	return all, nil
}

// A recordedRun is a run that was read from a folder.
type recordedRun struct {
	tables.Run
	Hash string // of the scenario that was replayed
}

// readRunTables reads the ledger of a policy in a run's folder.
func readRunTables(dir, policy string, cfg history.Config, stderr io.Writer) (recordedRun, error) {
	path, err := findLedger(dir, policy)
	if err != nil {
		return recordedRun{}, usageError{err}
	}
	metas, err := readMetas(dir)
	if err != nil {
		return recordedRun{}, usageError{err}
	}
	return recordSource{path: path}.readTables(metas, cfg, stderr)
}

// readTables reads a record as a run. Of one that no replay finished, as that of a running
// coordinator, the weights are those of its last round, and it ends with its last message.
func (s recordSource) readTables(metas []history.Meta, cfg history.Config, stderr io.Writer) (recordedRun, error) {
	r, err := s.open(nil)
	if err != nil {
		return recordedRun{}, err
	}
	head := r.Header()
	run := recordedRun{Run: tables.Run{History: history.New(cfg)}, Hash: head["hash"]}
	run.Meta.Scenario, run.Meta.Policy = head["scenario"], head["policy"]
	var last protocol.Time
	err = s.readRemaining(r, stderr, func(m protocol.Message) error {
		run.History.AddMessage(m)
		last = max(last, m.At)
		return nil
	})
	if err != nil {
		return recordedRun{}, err
	}
	if i := slices.IndexFunc(metas, func(m history.Meta) bool { return m.Policy == run.Meta.Policy }); i >= 0 {
		run.Meta = metas[i]
		if s.at != 0 { // what is metered of a run that was cut counts until then
			run.Meta.End, run.Meta.MeteredUntil = min(run.Meta.End, s.at), min(cmp.Or(run.Meta.MeteredUntil, s.at), s.at)
		}
		return run, nil
	}
	run.Meta.End = last
	if rounds := run.History.RoundRecords(); len(rounds) > 0 {
		run.Meta.Weights = rounds[len(rounds)-1].Weights
	}
	return run, nil
}

// chosenPolicies returns the policies of a run's folder that were asked for; all without names.
func chosenPolicies(dir string, names []string) ([]string, error) {
	has, err := ledgerPolicies(dir)
	if err != nil || len(has) == 0 {
		return nil, usageError{fmt.Errorf("no ledger in %s: run `gridbid replay` first, or name the folder of a run with --run", dir)}
	}
	if len(names) == 0 {
		return has, nil
	}
	for i, name := range names {
		if canonical, err := scenarios.CanonicalPolicyName(name); err == nil {
			names[i] = canonical
		}
		if _, err := findLedger(dir, names[i]); err != nil {
			return nil, usageError{err}
		}
	}
	return names, nil
}
