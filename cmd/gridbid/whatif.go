package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// whatIfReplay finds out from a ledger's header what was replayed, so that what-if
// questions about the whole run can replay it again. A run of outside files, or
// of a scenario that has changed since, cannot be.
func whatIfReplay(ctx context.Context, path string, talk io.Writer) query.Stage {
	st := query.Stage{Market: market.Config{Pay: accounts.PaymentRule{Margin: 100}}}
	var minutes *advisor.RecordedAnswers
	s, policy, err := scenarioOf(path)
	if path != "-" {
		var bad error
		st.Market.Advice, minutes, bad = adviceOfLedger(path, talk)
		err = errors.Join(err, bad)
	}
	if err != nil {
		st.Why = err.Error()
		return st
	}
	st.Policies = scenarios.AllPolicyNames()
	st.Play = func(d query.Day) (query.Rehearsal, error) {
		fmt.Fprintf(talk, "Replaying %s to answer that ...\n", s.Name)
		played, name := applyDayChange(s, d), policy
		if d.Policy != "" {
			name = d.Policy
		}
		o := scenarios.Options{Advice: st.Market.Advice}
		if minutes != nil {
			o.Judge = minutes.ForNewRun() // verdicts are inputs
		}
		res, err := scenarios.Replay(ctx, played, name, new(membus.Bus), o)
		return query.Rehearsal{Totals: res.Totals, Book: res.History}, err
	}
	return st
}

// scenarioOf loads the scenario that a ledger says it is a replay of.
func scenarioOf(path string) (s spec.Scenario, policy string, err error) {
	if path == "-" {
		return s, "", fmt.Errorf("a ledger from standard input names no scenario")
	}
	r, err := wal.OpenReader(path)
	if err != nil {
		return s, "", err
	}
	head := r.Header()
	if err := r.Close(); err != nil {
		return s, "", err
	}
	if head["scenario"] == "" || head["live"] != "" {
		return s, "", fmt.Errorf("this ledger is no replay of a scenario")
	}
	seed, err := strconv.ParseUint(head["seed"], 10, 64)
	if err != nil {
		return s, "", fmt.Errorf("the ledger's seed %q is no number", head["seed"])
	}
	what, ok := spec.ShippedAs(head["scenario"])
	if !ok {
		what = head["scenario"] // a folder
	}
	o, err := fromHeader(head)
	if err != nil {
		return s, "", err
	}
	o.Data, o.Seed = dataFolder(), &seed
	s, err = spec.LoadScenario(what, o)
	if err != nil {
		return s, "", fmt.Errorf("its scenario %q is not at hand, or its data is not: where it was replayed with --data, set GRIDBID_DATA to that folder", head["scenario"])
	}
	if s.Hash != head["hash"] {
		return s, "", fmt.Errorf("scenario %q is not what it was when it was replayed, or it was replayed with a file that a flag named (--jobs, --fleet, --window)", s.Name)
	}
	return s, head["policy"], nil
}

// applyDayChange returns a scenario with a day's change in it.
func applyDayChange(s spec.Scenario, d query.Day) spec.Scenario {
	if d.Down != "" && d.To != 0 {
		s.Sites = slices.Clone(s.Sites)
		for i := range s.Sites {
			if s.Sites[i].Name == d.Down {
				s.Sites[i].Outages = spec.Outage{From: d.From, To: d.To}.MergeInto(s.Sites[i].Outages)
			}
		}
	} else if d.Down != "" {
		s.Sites = slices.DeleteFunc(slices.Clone(s.Sites), func(x spec.Site) bool { return x.Name == d.Down })
	}
	if d.Carbon >= 0 {
		s.Weights.Kappa = protocol.Microdollars(d.Carbon * 1_000_000)
	}
	if d.Free != "" {
		s.Jobs = slices.Clone(s.Jobs)
		for i := range s.Jobs {
			if s.Jobs[i].ID == d.Free {
				s.Jobs[i].Regions = nil
			}
		}
	}
	return s
}
