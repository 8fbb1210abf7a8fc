package protocol

// What operators want of the market: see coordinator/policy.
type (
	// Policy is what the operators want of the market. The desk says one to put
	// it in force; the coordinator says the one in force, to everyone. Its
	// version is one more than that of the policy it takes the place of, so one
	// that was made against another is void. Second agreed to it, which a policy
	// that loosens a hard rule needs.
	Policy struct {
		Version uint64 `msgpack:"n"`
		Rules   []Rule `msgpack:"r,omitempty"` // all that are in force, also those of before
		By      string `msgpack:"b"`           // who confirmed it
		Second  string `msgpack:"s,omitempty"`
		Said    string `msgpack:"w,omitempty"`  // the words that it was made from
		Proved  bool   `msgpack:"pv,omitempty"` // By and Second each showed a token of their own; else they are names as given
	}

	// Rule is one rule of a policy: a preference, or a hard rule. Whom, where and
	// when it is for is the zero where it is for all.
	Rule struct {
		ID      string       `msgpack:"id"` // "R-1", and never used again
		Kind    RuleKind     `msgpack:"k"`
		Tenant  string       `msgpack:"tn,omitempty"`
		Homes   []string     `msgpack:"hm,omitempty"` // of jobs whose home is one of these sites
		Sites   []string     `msgpack:"st,omitempty"`
		Outside bool         `msgpack:"o,omitempty"` // at all sites but these
		From    Time         `msgpack:"f,omitempty"` // of the start of a run
		To      Time         `msgpack:"t,omitempty"`
		Weekly  Weekly       `msgpack:"wk,omitempty"` // in UTC
		Weight  Milli        `msgpack:"w,omitempty"`  // of a preference: a run counts as so many thousandths cheaper
		Most    Microdollars `msgpack:"mp,omitempty"` // of a cap: price of a kWh
		Carbon  Milligrams   `msgpack:"mc,omitempty"` // of a cap: carbon of a kWh
		Power   Milliwatts   `msgpack:"pw,omitempty"` // of a cap: what all runs at a site draw together
		Words   string       `msgpack:"wd,omitempty"` // what people call it
	}
)

func (Policy) messageKind() string { return "policy" }

// A RuleKind says what a rule does.
type RuleKind string

// Kinds of rules.
const (
	Prefer RuleKind = "prefer" // counts as cheaper, or dearer
	Forbid RuleKind = "forbid" // may not run
	Cap    RuleKind = "cap"    // may not run in hours above a price or an intensity
)

// A Weekly is a time of every week: "" is all of it.
type Weekly string

// Times of the week, in UTC.
const (
	Weekend Weekly = "weekend" // Saturday and Sunday
	Weekday Weekly = "weekday"
	Night   Weekly = "night" // 22:00 to 06:00
	Daytime Weekly = "day"
)
