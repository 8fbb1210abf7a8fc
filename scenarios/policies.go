package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/baseline"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Names of the auction's policies.
const (
	Auction    = "auction"
	AuctionNow = "auction-now" // same costs and clearing, and jobs are never deferred
)

// Policies returns the names of all policies, the auction's first. A slash and a kind of Signals may follow each:
// see Named.
func Policies() []string { return append([]string{Auction, AuctionNow}, baseline.Names()...) }

// Usual returns the default policies to compare on some scenarios: the auction, also with other Signals, and the
// baselines. Rules that pause jobs are left out if no job can be paused, because they then equal carbon-threshold
// and wait-awhile. Own is left out if no site has a forecast service, because it then equals Forecasts.
func Usual(of ...spec.Scenario) []string {
	pausable := slices.ContainsFunc(of, func(s spec.Scenario) bool {
		return slices.ContainsFunc(s.Jobs, func(j protocol.Job) bool { return j.Pause > 0 })
	})
	foretold := slices.ContainsFunc(of, spec.Scenario.Foretold)
	var out []string
	for _, name := range Policies() {
		if pausable || name != baseline.SuspendResume && name != baseline.WaitInterrupting {
			out = append(out, name)
		}
		for _, s := range kinds {
			if name == Auction && s != Forecasts && (foretold || s != Own) {
				out = append(out, join(name, s))
			}
		}
	}
	return out
}

// Names returns every name that Named can return.
func Names() (out []string) {
	for _, policy := range Policies() {
		for _, s := range kinds {
			out = append(out, join(policy, s))
		}
	}
	return out
}

// Named parses the name of a policy, with or without a kind of Signals, as in "auction/perfect", and returns its
// canonical form. The default kind is omitted; "auction/forecast" is accepted for it.
func Named(text string) (string, error) {
	policy, signals, err := parse(text)
	return join(policy, signals), err
}

// Stem returns a policy's name for use in file names: "auction-perfect".
func Stem(name string) string { return strings.ReplaceAll(name, "/", "-") }

// parse splits a name into policy and signals and checks both.
func parse(name string) (policy string, s Signals, err error) {
	policy, signals, _ := strings.Cut(name, "/")
	if s = Signals(signals); signals == "forecast" {
		s = Forecasts
	}
	if !slices.Contains(Policies(), policy) {
		return policy, s, fmt.Errorf("unknown policy %q: want one of %s", policy, strings.Join(Policies(), ", "))
	}
	if !slices.Contains(kinds, s) {
		return policy, s, fmt.Errorf("unknown signals %q: want one of forecast, own, perfect, wrong, none", signals)
	}
	return policy, s, nil
}

// join is the inverse of parse.
func join(policy string, s Signals) string {
	if s == Forecasts {
		return policy
	}
	return policy + "/" + string(s)
}

// conduct says who decides under a policy that there is, how agents bid, and how a
// site places jobs. Only the auction's sites have nodes for jobs that cannot wait.
func conduct(policy string, seed uint64) (auction.Rule, agents.MarginalCost, capacity.Config) {
	ours := capacity.Config{Policy: fgd.FGD, Standby: capacity.UsualStandby}
	switch policy {
	case Auction:
		return auction.New(auction.Config{}), agents.DefaultStrategy(false), ours
	case AuctionNow:
		return auction.New(auction.Config{}), agents.MarginalCost{SweepModelsAndCaps: true}, ours
	}
	body := capacity.Config{Policy: fgd.FGD}
	switch policy {
	case baseline.LeastAllocated:
		body.Policy = fgd.LeastAllocated
	case baseline.MostAllocated:
		body.Policy = fgd.MostAllocated
	}
	rule, _ := baseline.New(policy, seed) // it is one of its names
	return rule, agents.MarginalCost{MaxOptionsPerModel: 1}, body
}
