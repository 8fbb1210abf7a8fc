package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/baseline"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Names of the auction's policies.
const (
	PolicyAuction    = "auction"
	PolicyAuctionNow = "auction-now" // same costs and clearing, and jobs are never deferred

	// PolicyChance is the auction with the costs that it compares moved by at most 0.05 %, by a
	// hash: as good a run of the same policy, so that what it differs from the auction by is
	// chance. It is no rival (history.Totals.IsRival).
	PolicyChance = history.PolicyChance

	// PolicyGreensched is what was learned by reinforcement: a net chooses among the options of each
	// job, without an auction (scenarios/learned). Sites bid as under the auction.
	PolicyGreensched = learned.Name

	// PolicyOutside has a program of the user's decide in place of the clearing (lab/seat); a colon and
	// the program's name may follow. Sites bid as under the auction. It needs Options.Rule.
	PolicyOutside = "outside"
)

// IsOutside reports whether a policy's decisions are those of an outside program: the program's name
// is "" if the policy names none.
func IsOutside(policy string) (program string, is bool) {
	policy, _, _ = strings.Cut(policy, "/")
	program, named := strings.CutPrefix(policy, PolicyOutside+":")
	if policy == PolicyOutside {
		return "", true
	}
	return program, named && isProgramName(program)
}

// isProgramName reports whether a name consists of letters, digits, points, hyphens and underscores.
func isProgramName(name string) bool {
	return name != "" && len(name) <= MaxProgramName && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// MaxProgramName bounds the name of an outside program, which is part of file names.
const MaxProgramName = 64

// PolicyNames returns the names of all policies, the auction's first. A slash and a kind
// of SignalKnowledge may follow each: see CanonicalPolicyName.
func PolicyNames() []string {
	return append([]string{PolicyAuction, PolicyAuctionNow, PolicyChance, PolicyGreensched}, baseline.RuleNames()...)
}

// DefaultPolicies returns the default policies to compare on some scenarios: the auction, also
// with other SignalKnowledge, and the baselines. Rules that pause jobs are left out if no job
// can be paused, because they then equal carbon-threshold and wait-awhile, and CarbonScaler if no
// job is elastic, because it scales nothing then. SignalOwnForecasts
// is left out if no site has a forecast service, because it then equals SignalForecasts.
func DefaultPolicies(of ...spec.Scenario) []string {
	pausable := slices.ContainsFunc(of, func(s spec.Scenario) bool {
		return slices.ContainsFunc(s.Jobs, func(j protocol.Job) bool { return j.Pause > 0 })
	})
	elastic := slices.ContainsFunc(of, func(s spec.Scenario) bool {
		return slices.ContainsFunc(s.Jobs, func(j protocol.Job) bool { return j.IsElastic() })
	})
	// Own forecasts differ from a service's only where there is a service.
	foretold := slices.ContainsFunc(of, spec.Scenario.HasServiceForecasts)
	var out []string
	for _, name := range PolicyNames() {
		if (pausable || name != baseline.RuleSuspendResume && name != baseline.RuleWaitInterrupting) && (elastic || name != baseline.RuleCarbonScaler) {
			out = append(out, name)
		}
		for _, s := range signalKnowledgeKinds {
			if name == PolicyAuction && s != SignalForecasts && (foretold || s != SignalOwnForecasts) {
				out = append(out, joinPolicyName(name, s))
			}
		}
	}
	return out
}

// AllPolicyNames returns every name that CanonicalPolicyName can return.
func AllPolicyNames() (out []string) {
	for _, policy := range PolicyNames() {
		for _, s := range signalKnowledgeKinds {
			out = append(out, joinPolicyName(policy, s))
		}
	}
	return out
}

// CanonicalPolicyName parses the name of a policy, with or without a kind of SignalKnowledge, as in
// "auction/perfect", and returns its canonical form. The default kind is omitted;
// "auction/forecast" is accepted for it.
func CanonicalPolicyName(text string) (string, error) {
	policy, signals, err := parsePolicyName(text)
	return joinPolicyName(policy, signals), err
}

// FileStem returns a policy's name for use in file names: "auction-perfect", "outside-mine".
func FileStem(name string) string { return strings.NewReplacer("/", "-", ":", "-").Replace(name) }

// parsePolicyName splits a name into policy and signals and checks both.
func parsePolicyName(name string) (policy string, s SignalKnowledge, err error) {
	policy, signals, _ := strings.Cut(name, "/")
	if s = SignalKnowledge(signals); signals == "forecast" {
		s = SignalForecasts
	}
	if _, outside := IsOutside(policy); !outside && !slices.Contains(PolicyNames(), policy) {
		return policy, s, fmt.Errorf("unknown policy %q%s: want one of %s, or %s", policy, nearest.DidYouMean(policy, append(PolicyNames(), PolicyOutside)), strings.Join(PolicyNames(), ", "), PolicyOutside)
	}
	if !slices.Contains(signalKnowledgeKinds, s) {
		return policy, s, fmt.Errorf("unknown signals %q%s: want one of forecast, own, perfect, wrong, none, learned, runtimes", signals, nearest.DidYouMean(signals, []string{"forecast", "own", "perfect", "wrong", "none", "learned", "runtimes"}))
	}
	return policy, s, nil
}

// joinPolicyName is the inverse of parsePolicyName.
func joinPolicyName(policy string, s SignalKnowledge) string {
	if s == SignalForecasts {
		return policy
	}
	return policy + "/" + string(s)
}

// ChanceRule returns what makes the clearing rule of PolicyChance under a seed of its jitter, for
// Options.Rule.
func ChanceRule(seed uint64) func() auction.ClearingRule {
	return func() auction.ClearingRule {
		return auction.New(auction.Config{Jitter: auction.CostJitter{PerMillion: auction.DefaultJitter, Seed: seed}})
	}
}

// greenschedRule returns the rule of PolicyGreensched with the weights in the program. If those are
// refused, the auction decides.
func greenschedRule() auction.ClearingRule {
	f, err := learned.Shipped()
	if err != nil {
		return auction.New(auction.Config{})
	}
	return learned.New(f)
}

// policyConfig returns what a policy of PolicyNames or an outside one consists of: the clearing rule
// (nil of an outside one), the bid strategy, and the capacity configuration of the sites. Only the
// sites of the auction, of what was learned and of outside policies keep headroom for jobs that cannot wait.
func policyConfig(policy string, seed uint64) (auction.ClearingRule, agents.MarginalCost, capacity.Config) {
	ours := capacity.Config{Policy: fgd.FGD, HeadroomOneIn: capacity.DefaultHeadroomOneIn, PreferAwake: true, WakesAhead: true}
	if _, outside := IsOutside(policy); outside {
		return nil, agents.DefaultStrategy(), ours
	}
	switch policy {
	case PolicyGreensched:
		return greenschedRule(), agents.DefaultStrategy(), ours
	case PolicyAuction:
		return auction.New(auction.Config{}), agents.DefaultStrategy(), ours
	case PolicyChance:
		return ChanceRule(seed)(), agents.DefaultStrategy(), ours
	case PolicyAuctionNow:
		return auction.New(auction.Config{}), agents.MarginalCost{SweepModelsAndCaps: true}, ours
	}
	// Baselines have no headroom; two of them have a placement policy of their own.
	body := capacity.Config{Policy: fgd.FGD}
	switch policy {
	case baseline.RuleLeastAllocated:
		body.Policy = fgd.LeastAllocated
	case baseline.RuleMostAllocated:
		body.Policy = fgd.MostAllocated
	}
	rule, _ := baseline.New(policy, seed) // it is one of its names
	return rule, agents.MarginalCost{MaxOptionsPerModel: 1, Sizes: policy == baseline.RuleCarbonScaler}, body
}
