package protocol

import (
	"reflect"
	"slices"
	"time"
)

// Policy messages: see coordinator/policy.
type (
	// Policy is the operators' policy. The API sends one to put it into force; the
	// coordinator broadcasts the one in force. Its version must be one more than that
	// of the policy it replaces, so a policy made against another version is void.
	// A policy that loosens a hard rule needs a second person, Second.
	Policy struct {
		Version  uint64          `msgpack:"n"`
		Rules    []Rule          `msgpack:"r,omitempty"` // all rules in force, also unchanged ones
		Quotas   []Quota         `msgpack:"q,omitempty"` // the whole quota tree in force
		Classes  []PriorityClass `msgpack:"c,omitempty"` // all priority classes
		By       string          `msgpack:"b"`           // the operator who confirmed it
		Second   string          `msgpack:"s,omitempty"`
		Sentence string          `msgpack:"w,omitempty" name:"said"` // the sentence that it was made from
		Proved   bool            `msgpack:"pv,omitempty"`            // By and Second were verified by tokens; otherwise they are names as given
		Within   string          `msgpack:"wi,omitempty"`            // it changes amounts of quotas below this group alone, which needs no second person
	}

	// Rule is one rule of a policy: a preference or a hard rule. The zero of tenant,
	// homes, sites and times means all.
	Rule struct {
		ID      string       `msgpack:"id"` // such as "R-1"; never reused
		Kind    RuleKind     `msgpack:"k"`
		Tenant  string       `msgpack:"tn,omitempty"`
		Homes   []string     `msgpack:"hm,omitempty"` // home sites of the jobs
		Sites   []string     `msgpack:"st,omitempty"`
		Outside bool         `msgpack:"o,omitempty"` // all sites except Sites
		From    Time         `msgpack:"f,omitempty"` // earliest start of a run
		To      Time         `msgpack:"t,omitempty"`
		Weekly  Weekly       `msgpack:"wk,omitempty"` // in UTC
		Weight  Milli        `msgpack:"w,omitempty"`  // of a preference: thousandths by which a run counts as cheaper
		Most    Microdollars `msgpack:"mp,omitempty"` // of a cap: price of a kWh
		Carbon  Milligrams   `msgpack:"mc,omitempty"` // of a cap: carbon of a kWh
		Power   Milliwatts   `msgpack:"pw,omitempty"` // of a cap: total draw of all runs at the sites
		GPUs    Milli        `msgpack:"g,omitempty"`  // of a cap: GPUs that the jobs it is about hold at a time
		Words   string       `msgpack:"wd,omitempty"` // how the operator named the sites or homes
	}
)

func (Policy) messageKind() string { return "policy" }

// A RuleKind is the effect of a rule.
type RuleKind string

// Kinds of rules.
const (
	Prefer RuleKind = "prefer" // runs count as cheaper or more expensive
	Forbid RuleKind = "forbid" // jobs must not run
	Cap    RuleKind = "cap"    // jobs must not run above a price, an intensity, a power or a number of GPUs
)

// A Weekly is a time of every week; "" is always.
type Weekly string

// Times of the week, in UTC.
const (
	Weekend Weekly = "weekend" // Saturday and Sunday
	Weekday Weekly = "weekday"
	Night   Weekly = "night" // 22:00 to 06:00
	Daytime Weekly = "day"
)

// CoversSite reports whether a rule applies to runs at a site.
func (r Rule) CoversSite(site string) bool {
	return len(r.Sites) == 0 || slices.Contains(r.Sites, site) != r.Outside
}

// IsActiveAt reports whether a rule applies to runs that start at an instant. Times of the week are
// in UTC.
func (r Rule) IsActiveAt(at Time) bool {
	if at < r.From || r.To != 0 && at >= r.To {
		return false
	}
	t := at.StdTime()
	rest := t.Weekday() == time.Saturday || t.Weekday() == time.Sunday
	night := t.Hour() >= 22 || t.Hour() < 6
	switch r.Weekly {
	case Weekend:
		return rest
	case Weekday:
		return !rest
	case Night:
		return night
	case Daytime:
		return !night
	}
	return true
}

// HiddenOperator stands for the names of operators in a tenant's part of a record.
const HiddenOperator = "an operator"

// A Quota is a node of the quota tree: see protocol/quota. Amounts are thousandths of a GPU of any
// model.
type Quota struct {
	Name   string `msgpack:"n"`            // of a tenant, if no other quota names it as parent
	Parent string `msgpack:"p,omitempty"`  // contains it; "": none
	Min    Milli  `msgpack:"mn,omitempty"` // guaranteed
	Max    Milli  `msgpack:"mx,omitempty"` // cap; 0: none
	Kept   Milli  `msgpack:"kp,omitempty"` // part of Min that nobody else gets, even while it is unused
	Weight Milli  `msgpack:"w,omitempty"`  // of its part of what others leave; 0: none of it
	Band   int64  `msgpack:"bd,omitempty"` // what others leave goes to a higher band first

	Queueing QueueingStrategy `msgpack:"qs,omitempty" json:",omitempty"` // of the jobs of its tenants, which are one queue; "": BestEffortFIFO

	Models       []ModelQuota `msgpack:"ms,omitempty" json:",omitempty"` // of GPUs of one model, by its name
	Budget       Microdollars `msgpack:"bm,omitempty" json:",omitempty"` // most that its tenants pay for a month, in UTC; 0: no budget
	CarbonBudget Milligrams   `msgpack:"bc,omitempty" json:",omitempty"` // most that their jobs emit in a month; 0: no budget
}

// A ModelQuota is what a quota says of the GPUs of one model, beside what it says of all.
type ModelQuota struct {
	Model  string `msgpack:"m"`
	Min    Milli  `msgpack:"mn,omitempty"`
	Max    Milli  `msgpack:"mx,omitempty"`
	Kept   Milli  `msgpack:"kp,omitempty"`
	Weight Milli  `msgpack:"w,omitempty"`
	Band   int64  `msgpack:"bd,omitempty"`
}

// Equal reports whether two quotas say the same.
func (q Quota) Equal(x Quota) bool {
	same := slices.Equal(q.Models, x.Models)
	q.Models, x.Models = nil, nil
	return same && reflect.DeepEqual(q, x)
}
