// Package policy holds operators' rules for the market. An operator writes a
// sentence, a grammar reads it as a typed [Change], code describes the change in
// words for confirmation, and the market obeys the rules once they are in force.
//
// A rule prefers sites, forbids them, or caps: the price or the carbon intensity
// of the hours in which jobs run, the total power of runs, or the GPUs that jobs hold. No other kind of
// rule exists, so a sentence cannot change anything else. A change that loosens
// a hard rule must stand alone and needs a second person. The quota tree and the
// priority classes are part of the policy, too: a file replaces each as a whole, never a sentence.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

// MaxWeight bounds a preference: half of a run's cost either way, in
// thousandths.
const MaxWeight protocol.Milli = 500

// maxRules is the largest number of rules in a policy.
const maxRules = 64

// CheckSuccessor returns what is wrong with a policy that is to replace the one in force,
// or nil. It accepts a rule that is in force already without further checks.
func CheckSuccessor(was, now protocol.Policy) error {
	if now.Version != was.Version+1 {
		return fmt.Errorf("policy: version %d does not follow version %d, which is in force: propose the change anew", now.Version, was.Version)
	}
	if now.By == "" {
		return errors.New("policy: no operator confirmed it")
	}
	if len(now.Rules) > maxRules {
		return fmt.Errorf("policy: %d rules, want at most %d: remove some", len(now.Rules), maxRules)
	}
	if _, err := quota.NewTree(now.Quotas); err != nil && !slices.EqualFunc(was.Quotas, now.Quotas, protocol.Quota.Equal) {
		return fmt.Errorf("policy: quotas: %w", err)
	}
	if i, key, problem := protocol.InvalidPriorityClass(now.Classes); problem != "" {
		return fmt.Errorf("policy: priority class %d: %s %s", i+1, key, problem)
	}
	seen := make(map[string]bool)
	for _, r := range now.Rules {
		if seen[r.ID] || r.ID == "" {
			return fmt.Errorf("policy: rule id %q is empty or used twice: give each rule its own", r.ID)
		}
		seen[r.ID] = true
		if slices.ContainsFunc(was.Rules, func(x protocol.Rule) bool { return x.ID == r.ID && hasSameEffect(x, r) }) {
			continue // in force: a check that is newer than the rule must not block other changes
		}
		if err := checkRule(r); err != nil {
			return fmt.Errorf("policy: rule %s: %w", r.ID, err)
		}
	}
	if now.Within != "" {
		return checkWithin(was, now)
	}
	if LoosensHardRule(was, now) && (now.Second == "" || now.Second == now.By) {
		return errors.New("policy: it loosens a hard rule: a second person must confirm it")
	}
	return nil
}

func checkRule(r protocol.Rule) error {
	switch {
	case r.To != 0 && r.To <= r.From:
		return errors.New("it ends before it begins: give a later end")
	case !slices.Contains([]protocol.Weekly{"", protocol.Weekend, protocol.Weekday, protocol.Night, protocol.Daytime}, r.Weekly):
		return fmt.Errorf("unknown time of the week %q", r.Weekly)
	case r.Outside && len(r.Sites) == 0:
		return errors.New("it applies outside of the sites that it names, but it names none")
	}
	switch r.Kind {
	case protocol.Prefer:
		if r.Weight == 0 || r.Weight < -MaxWeight || r.Weight > MaxWeight {
			return fmt.Errorf("weight %d: want -500..500 thousandths, and not 0", r.Weight)
		}
	case protocol.Forbid:
		if len(r.Sites) == 0 && r.Tenant == "" && len(r.Homes) == 0 {
			return errors.New("it forbids everything: name a site, a tenant or a home")
		}
	case protocol.Cap:
		switch {
		case r.Most == 0 && r.Carbon == 0 && r.Power == 0 && r.GPUs == 0:
			return errors.New("it has no cap: give a price, a carbon intensity, a power or a number of GPUs")
		case r.Carbon < 0 || r.Power < 0 || r.GPUs < 0:
			return errors.New("its cap on carbon, power or GPUs is negative")
		case r.Power != 0 && (r.Most != 0 || r.Carbon != 0 || r.GPUs != 0):
			return errors.New("it caps power and something else: give each a rule of its own")
		case r.GPUs != 0 && (r.Most != 0 || r.Carbon != 0):
			return errors.New("it caps GPUs and something else: give each a rule of its own")
		case r.GPUs != 0 && r.Tenant == "" && len(r.Sites) == 0:
			return errors.New("it caps the GPUs of all jobs at all sites: name a tenant or a site")
		}
	default:
		return fmt.Errorf("unknown kind of rule %q", r.Kind)
	}
	return nil
}

// isHardRule reports whether runs must obey a rule; a preference only changes costs.
func isHardRule(r protocol.Rule) bool { return r.Kind != protocol.Prefer }

// LoosensHardRule reports whether a policy allows what the previous one forbade: whether
// a hard rule was removed or changed. A changed quota tree and changed priority classes count, too: what
// one tenant gains, another loses.
func LoosensHardRule(was, now protocol.Policy) bool {
	if changesQuotas(was, now.Quotas) || changesClasses(was, now.Classes) {
		return true
	}
	for _, r := range was.Rules {
		if isHardRule(r) && !slices.ContainsFunc(now.Rules, func(x protocol.Rule) bool { return hasSameEffect(r, x) }) {
			return true
		}
	}
	return false
}

// changesQuotas reports whether another quota tree is to replace the one in force.
func changesQuotas(was protocol.Policy, now []protocol.Quota) bool {
	return len(was.Quotas) > 0 && !slices.EqualFunc(was.Quotas, now, protocol.Quota.Equal)
}

// changesClasses reports whether other priority classes are to replace those in force.
func changesClasses(was protocol.Policy, now []protocol.PriorityClass) bool {
	return len(was.Classes) > 0 && !slices.Equal(was.Classes, now)
}

func hasSameEffect(x, y protocol.Rule) bool {
	return x.Kind == y.Kind && x.Tenant == y.Tenant && slices.Equal(x.Homes, y.Homes) && slices.Equal(x.Sites, y.Sites) && x.Outside == y.Outside &&
		x.From == y.From && x.To == y.To && x.Weekly == y.Weekly && x.Weight == y.Weight && x.Most == y.Most && x.Carbon == y.Carbon && x.Power == y.Power && x.GPUs == y.GPUs
}

// An OptionRuling is the effect of a policy on one bid option.
type OptionRuling struct {
	Forbidden string         // id of the first rule that forbids it; "" if none does
	Bias      protocol.Milli // thousandths by which it counts as cheaper
}

// EvaluateOption returns the ruling on running a job by an option at a site with grid
// forecast g. The weights of all preferences that apply add up, clamped to MaxWeight
// either way after each.
func EvaluateOption(p protocol.Policy, j protocol.Job, site string, o protocol.BidOption, g protocol.GridForecast) (out OptionRuling) {
	for _, r := range p.Rules {
		if !AppliesTo(r, j, site, o.Start) {
			continue
		}
		switch r.Kind {
		case protocol.Prefer:
			out.Bias = min(MaxWeight, max(-MaxWeight, out.Bias+r.Weight))
		case protocol.Forbid:
			out.Forbidden = cmp.Or(out.Forbidden, r.ID)
		case protocol.Cap:
			if exceedsCap(r, o, g) {
				out.Forbidden = cmp.Or(out.Forbidden, r.ID)
			}
		}
	}
	return out
}

// UseCapsFor returns the caps of power and of GPUs that apply to a run of a job that starts at a
// site at an instant. A cap of power is about the total of all runs at the sites that it covers, a
// cap of GPUs about what the jobs that it names hold there, each at any time.
func UseCapsFor(p protocol.Policy, j protocol.Job, site string, start protocol.Time) (all []protocol.Rule) {
	for _, r := range p.Rules {
		if r.Kind == protocol.Cap && (r.Power != 0 || r.GPUs != 0 && j.GPUs > 0) && AppliesTo(r, j, site, start) {
			all = append(all, r)
		}
	}
	return all
}

// ConstrainsStart reports whether a hard rule may forbid a start of a job at a site in
// [from, to], at some instant of it. It ignores the time of the week.
func ConstrainsStart(p protocol.Policy, j protocol.Job, site string, from, to protocol.Time) bool {
	return slices.ContainsFunc(p.Rules, func(r protocol.Rule) bool {
		return isHardRule(r) && IsAboutJob(r, j, site) && r.From <= to && (r.To == 0 || r.To > from)
	})
}

// AppliesTo reports whether a rule applies to a run of a job that starts at a site at an instant.
func AppliesTo(r protocol.Rule, j protocol.Job, site string, start protocol.Time) bool {
	return IsAboutJob(r, j, site) && r.IsActiveAt(start)
}

// IsAboutJob reports whether a rule applies to a job at a site, at any time.
func IsAboutJob(r protocol.Rule, j protocol.Job, site string) bool {
	return (r.Tenant == "" || r.Tenant == j.Tenant) &&
		(len(r.Homes) == 0 || slices.Contains(r.Homes, j.Home)) &&
		r.CoversSite(site)
}

// exceedsCap reports whether any hour of a run is above a cap, by the site's
// grid forecast. An hour beyond the forecast does not count as above.
func exceedsCap(r protocol.Rule, o protocol.BidOption, g protocol.GridForecast) bool {
	for i := range max(len(g.Price), len(g.Carbon)) {
		h := g.From.Add(time.Duration(i) * time.Hour)
		if h.Add(time.Hour) <= o.Start || h >= o.Finish {
			continue
		}
		if r.Most != 0 && i < len(g.Price) && g.Price[i] > r.Most || r.Carbon != 0 && i < len(g.Carbon) && g.Carbon[i] > r.Carbon {
			return true
		}
	}
	return false
}
