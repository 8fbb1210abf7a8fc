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
	"github.com/gridbid/gridbid/coordinator/shadow"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// replayedMarket is the configuration of a replay's market that its ledger does not say.
var replayedMarket = market.Config{Pay: accounts.PaymentRule{Margin: 100}}

// whatIfReplay returns what what-if questions about a whole run need to replay it: the
// scenario that the ledger's header names, its policy and its advice. Why holds the reason
// if the run cannot be replayed: it was live, it used files that only flags named, or the
// scenario has changed since.
func whatIfReplay(ctx context.Context, from recordSource, stderr io.Writer) query.ReplaySetup {
	st := query.ReplaySetup{Market: replayedMarket, Shadow: func(j *protocol.Job, by protocol.Time) (string, error) {
		c, err := shadowChoiceOf("", from, j)
		if c == nil || c.At > by {
			return "", err
		}
		return shadow.Describe(c.Policy, c.Choice), nil
	}}
	var answers *advisor.RecordedAnswers
	if from.isLive() {
		st.Unavailable = "a live federation is no replay of a scenario"
		return st
	}
	s, policy, err := scenarioOf(from.path)
	if from.path != "-" {
		var bad error
		st.Market.Advice, answers, bad = adviceOfLedger(from.path, stderr)
		err = errors.Join(err, bad)
	}
	if err != nil {
		st.Unavailable = err.Error()
		return st
	}
	if from.at != 0 {
		st.Unavailable = "the record is read until --at, and a replay is of the whole run: drop --at"
		return st
	}
	st.Policies = scenarios.AllPolicyNames()
	st.Replay = func(d query.DayChange) (query.DayReplay, error) {
		fmt.Fprintf(stderr, "Replaying %s to compute the answer ...\n", s.Name)
		// Each what-if changes a copy of the scenario, and nothing on disk.
		changed, name := applyDayChange(s, d), policy
		if d.Policy != "" {
			name = d.Policy
		}
		o := scenarios.Options{Advice: st.Market.Advice, NoBids: true}
		if answers != nil {
			o.Judge = answers.ForNewRun() // verdicts are inputs, which the what-if keeps
		}
		res, err := scenarios.Replay(ctx, changed, name, new(membus.Bus), o)
		return query.DayReplay{Totals: res.Totals, History: res.History}, err
	}
	return st
}

// scenarioOf loads the scenario that the header of a ledger names, with the options that it
// was replayed with. It fails if the scenario's hash is not the one in the header.
func scenarioOf(path string) (s spec.Scenario, policy string, err error) {
	if path == "-" {
		return s, "", fmt.Errorf("a ledger from standard input cannot be replayed: give its file")
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
		return s, "", fmt.Errorf("this ledger is not the replay of a scenario: it is of a live run, or its header names no scenario")
	}
	seed, err := strconv.ParseUint(head["seed"], 10, 64)
	if err != nil {
		return s, "", fmt.Errorf("the ledger's seed %q is not a number: the header is damaged", head["seed"])
	}
	what, ok := spec.ShippedAs(head["scenario"])
	if !ok {
		what = head["scenario"] // not shipped: the path of a folder
	}
	o, err := fromHeader(head)
	if err != nil {
		return s, "", err
	}
	o.Data, o.Seed = dataFolder(), &seed
	s, err = spec.LoadScenario(what, o)
	if err != nil {
		return s, "", fmt.Errorf("cannot load its scenario %q or the data of it: if it was replayed with --data FOLDER, set GRIDBID_DATA to that folder", head["scenario"])
	}
	if s.Hash != head["hash"] {
		return s, "", fmt.Errorf("scenario %q has changed since the run, or the run used a file that a flag named (--jobs, --fleet, --window): replay it anew", s.Name)
	}
	return s, head["policy"], nil
}

// applyDayChange returns a scenario with the change of a what-if: a site without power for
// a window or absent, another price of carbon, or a job freed of its regions.
func applyDayChange(s spec.Scenario, d query.DayChange) spec.Scenario {
	if d.Drained {
		s.Events = append(slices.Clone(s.Events), spec.Event{Kind: spec.DrainSite, Name: d.Down, At: d.From, Until: d.To})
		d.Down = ""
	}
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
