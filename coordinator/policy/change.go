package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

// A Change is the typed form of a sentence that asks to change the policy in
// force. Nothing of it takes effect before an operator confirms it.
// docs/policy.md describes its JSON.
type Change struct {
	Base          uint64   `json:"base"` // version of the policy that it was made against
	Ops           []Op     `json:"ops"`
	NotUnderstood []string `json:"not_understood,omitempty"` // parts of the sentence that no op covers
}

// An Op adds a rule, removes one, or replaces the quota tree or the priority classes.
type Op struct {
	Op      string                   `json:"op"` // "add", "remove", "quotas" or "classes"
	Rule    *protocol.Rule           `json:"rule,omitempty"`
	ID      string                   `json:"id,omitempty"`      // of the rule to remove
	Quotas  []protocol.Quota         `json:"quotas,omitempty"`  // the whole tree; none removes it
	Classes []protocol.PriorityClass `json:"classes,omitempty"` // all of them; none removes them
}

// OpEffect returns the effect of an op on what is allowed: "tightens" or "loosens"
// if it adds or removes a hard rule, otherwise "soft". The first quota tree and the first
// priority classes tighten, and others in their place loosen.
func OpEffect(was protocol.Policy, o Op) string {
	switch {
	case o.Op == "remove" && slices.ContainsFunc(was.Rules, func(r protocol.Rule) bool { return r.ID == o.ID && isHardRule(r) }):
		return "loosens"
	case o.Op == "quotas" && changesQuotas(was, o.Quotas), o.Op == "classes" && changesClasses(was, o.Classes):
		return "loosens"
	case o.Op == "add" && isHardRule(*o.Rule), o.Op == "quotas", o.Op == "classes":
		return "tightens"
	}
	return "soft"
}

// ApplyChange returns the policy that a change makes of the one in force, with the
// names of the operators who confirmed it. A change that loosens a hard rule
// must consist of that op alone, so that operators cannot confirm it unnoticed
// together with one that they want. The error says what to change.
func ApplyChange(was protocol.Policy, c Change, by, second, said string) (protocol.Policy, error) {
	now := protocol.Policy{Version: was.Version + 1, By: by, Second: second, Sentence: said, Rules: slices.Clone(was.Rules), Quotas: was.Quotas, Classes: was.Classes}
	if c.Base != was.Version {
		return now, fmt.Errorf("policy: the change was proposed against version %d, but version %d is in force: propose it anew", c.Base, was.Version)
	}
	if len(c.Ops) == 0 {
		return now, errors.New("policy: the sentence asks for no known kind of rule: docs/policy.md lists them")
	}
	if len(c.Ops) > maxOps {
		return now, fmt.Errorf("policy: the change has %d ops, want at most %d: split it", len(c.Ops), maxOps)
	}
	for _, o := range c.Ops {
		if OpEffect(was, o) == "loosens" && len(c.Ops)+len(c.NotUnderstood) > 1 {
			return now, fmt.Errorf("policy: %q loosens what is in force, and cannot be combined with other changes: propose it alone", DescribeOp(was, o))
		}
		switch o.Op {
		case "add":
			r := *o.Rule
			r.ID = fmt.Sprintf("R-%d", nextRuleNumber(was, now))
			now.Rules = append(now.Rules, r)
		case "remove":
			n := len(now.Rules)
			if now.Rules = slices.DeleteFunc(now.Rules, func(r protocol.Rule) bool { return r.ID == o.ID }); len(now.Rules) == n {
				return now, fmt.Errorf("policy: rule %s is not in force", o.ID)
			}
		case "quotas":
			now.Quotas = o.Quotas
		case "classes":
			now.Classes = o.Classes
		default:
			return now, fmt.Errorf("policy: unknown op %q, want add, remove, quotas or classes", o.Op)
		}
	}
	return now, CheckSuccessor(was, now)
}

// nextRuleNumber returns a rule number that no rule has or had. A version adds at most
// maxOps rules, so version times maxOps is at least every number used so far;
// a number must not be reused, because texts and reasons refer to rules by it.
func nextRuleNumber(was, now protocol.Policy) int {
	most := int(was.Version) * maxOps
	for _, r := range slices.Concat(was.Rules, now.Rules) {
		n := 0
		if _, err := fmt.Sscanf(r.ID, "R-%d", &n); err == nil {
			most = max(most, n)
		}
	}
	return most + 1
}

// maxOps is the largest number of ops in a change.
const maxOps = 8

// DescribeOp returns the effect of an op as a sentence. Code writes it, never a model.
func DescribeOp(was protocol.Policy, o Op) string {
	if o.Op == "quotas" {
		return DescribeQuotas(o.Quotas)
	}
	if o.Op == "classes" {
		return DescribeClasses(o.Classes)
	}
	if o.Op == "remove" {
		for _, r := range was.Rules {
			if r.ID == o.ID {
				return "remove " + o.ID + ": " + DescribeRule(r)
			}
		}
		return "remove " + format.CleanText(o.ID) + ", which is not in force"
	}
	return DescribeRule(*o.Rule)
}

// maxDescribed is how many quotas one sentence lists.
const maxDescribed = 20

// DescribeQuotas returns what a quota tree guarantees and caps as a sentence without a full stop.
func DescribeQuotas(all []protocol.Quota) string {
	if len(all) == 0 {
		return "no quotas: any tenant may hold any GPUs"
	}
	var each []string
	for _, q := range all[:min(len(all), maxDescribed)] {
		each = append(each, quota.Describe(q))
	}
	if n := len(all) - maxDescribed; n > 0 {
		each = append(each, fmt.Sprintf("and %d more, which `gridbid policy show` lists", n))
	}
	return "GPUs are divided by quotas: " + strings.Join(each, "; ")
}

// DescribeClasses returns what priority classes there are as a sentence without a full stop.
func DescribeClasses(all []protocol.PriorityClass) string {
	if len(all) == 0 {
		return "no priority classes: a job states its priority as a number, and none has others stopped"
	}
	var each []string
	for _, c := range all {
		each = append(each, DescribeClass(c))
	}
	return "priority classes: " + strings.Join(each, "; ")
}

// DescribeClass returns what a priority class means, in words.
func DescribeClass(c protocol.PriorityClass) string {
	s := fmt.Sprintf("%s is priority %d", format.CleanText(c.Name), c.Value)
	if c.Default {
		s += ", the default"
	}
	if c.MayPreempt() {
		return s + ", and may preempt"
	}
	return s + ", and never preempts"
}

// DescribeRule returns the effect of a rule as a sentence without a full stop.
func DescribeRule(r protocol.Rule) string {
	who := "jobs"
	if r.Tenant != "" {
		who = "jobs of tenant " + format.CleanText(r.Tenant)
	}
	if len(r.Homes) > 0 {
		who += " whose home is " + format.JoinWithOr(cleanNames(r.Homes))
	}
	where, all, runs := "at any site", "at every site", "all runs of all sites"
	switch sites := cleanNames(r.Sites); {
	case r.Outside:
		where = "at any site but " + format.JoinWithAnd(sites)
		all, runs = where, "all runs "+where
	case len(sites) == 1:
		where, runs = "at "+sites[0], "all its runs"
		all = where
	case len(sites) > 1:
		where, all = "at "+format.JoinWithOr(sites), "at "+format.JoinWithAnd(sites)
		runs = "all runs " + all
	}
	switch r.Kind {
	case protocol.Prefer:
		word := "cheaper"
		weight := r.Weight
		if weight < 0 {
			word, weight = "dearer", -weight
		}
		return fmt.Sprintf("%s count %s %% %s %s%s", who, format.FormatThousandths(weight*100), word, all, describeWhen(r))
	case protocol.Cap:
		var limits []string
		if r.Most != 0 {
			limits = append(limits, fmt.Sprintf("a kWh costs more than %s", format.FormatDollars(r.Most)))
		}
		if r.Carbon != 0 {
			limits = append(limits, fmt.Sprintf("a kWh has more than %s kg of CO2e", format.FormatKilograms(r.Carbon)))
		}
		if r.GPUs != 0 {
			if len(r.Sites) == 0 {
				all = "over all sites"
			}
			return fmt.Sprintf("%s may hold at most %s GPUs at a time %s%s", who, format.FormatThousandths(r.GPUs), all, describeWhen(r))
		}
		if r.Power == 0 {
			return fmt.Sprintf("%s may not run %s in hours in which %s%s", who, where, strings.Join(limits, " or "), describeWhen(r))
		}
		also := ""
		if len(limits) > 0 { // a rule from a policy that predates the check that each cap has its own rule
			also = ", nor run there in hours in which " + strings.Join(limits, " or ")
		}
		return fmt.Sprintf("%s may not start %s where %s together would draw more than %s kW, each as it was offered and idle draw not counted%s%s",
			who, where, runs, format.FormatThousandths(protocol.Milli(r.Power/1000)), also, describeWhen(r))
	}
	return fmt.Sprintf("%s may not run %s%s", who, where, describeWhen(r))
}

// cleanNames returns names cleared of characters that must not be displayed.
func cleanNames(names []string) (shown []string) {
	for _, s := range names {
		shown = append(shown, format.CleanText(s))
	}
	return shown
}

func describeWhen(r protocol.Rule) string {
	s := ""
	switch r.Weekly {
	case protocol.Weekend:
		s = ", on Saturdays and Sundays"
	case protocol.Weekday:
		s = ", from Monday to Friday"
	case protocol.Night:
		s = ", from 22:00 to 06:00"
	case protocol.Daytime:
		s = ", from 06:00 to 22:00"
	}
	if r.From != 0 {
		s += ", from " + dateWithYear(r.From)
	}
	if r.To != 0 {
		s += ", until " + dateWithYear(r.To)
	}
	if s != "" {
		s += " UTC, by the start of the run"
	}
	return s
}

// dateWithYear formats an instant with its year, since a rule may be in force for longer than one.
func dateWithYear(t protocol.Time) string { return t.StdTime().Format("2 Jan 2006 15:04") }
