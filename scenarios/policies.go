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

// Names of our own policies.
const (
	Auction    = "auction"
	AuctionNow = "auction-now" // the same costs and clearing, without a choice of time
)

// Policies returns the names of all policies, ours first. Each may be followed by
// what sites know ahead of time: see Named.
func Policies() []string { return append([]string{Auction, AuctionNow}, baseline.Names()...) }

// Usual returns what to compare on some scenarios: the auction, also with sites that
// know more or less than is usual, and the other policies. Those that pause jobs
// are left out where no job can be paused: there they do what carbon-threshold and
// wait-awhile do. So is what sites make of their grids without services, where no
// service says anything.
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

// Names returns every name that Named returns.
func Names() (out []string) {
	for _, policy := range Policies() {
		for _, s := range kinds {
			out = append(out, join(policy, s))
		}
	}
	return out
}

// Named reads the name of a policy, with or without what its sites know ahead of
// time, as in "auction/perfect", and returns it as tables have it: what is usual
// goes without saying, and may be called "auction/forecast".
func Named(text string) (string, error) {
	policy, signals, err := parse(text)
	return join(policy, signals), err
}

// Stem returns the name of a policy as names of files bear it: "auction-perfect".
func Stem(name string) string { return strings.ReplaceAll(name, "/", "-") }

// parse takes a name apart.
func parse(name string) (policy string, s Signals, err error) {
	policy, signals, _ := strings.Cut(name, "/")
	if s = Signals(signals); signals == "forecast" {
		s = Forecasts
	}
	if !slices.Contains(Policies(), policy) {
		return policy, s, fmt.Errorf("no policy is named %q; there are %s", policy, strings.Join(Policies(), ", "))
	}
	if !slices.Contains(kinds, s) {
		return policy, s, fmt.Errorf("no signals are named %q; there are forecast, own, perfect, wrong, none", signals)
	}
	return policy, s, nil
}

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
