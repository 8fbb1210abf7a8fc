package policy

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Diff is a change in operators' units, for programs that do not read ledgers:
// docs/policy-diff.schema.json. It names sites as the operator wrote them; the
// Change has the sites that these words mean.
type Diff struct {
	Base          uint64   `json:"base"`
	Ops           []diffOp `json:"ops"`
	NotUnderstood []string `json:"not_understood,omitempty"`
}

type (
	diffOp struct {
		Op   string    `json:"op"`
		Rule *diffRule `json:"rule,omitempty"`
		ID   string    `json:"id,omitempty"`
	}
	diffRule struct {
		Kind   string     `json:"kind"`
		Who    *diffWho   `json:"who,omitempty"`
		Where  *diffWhere `json:"where,omitempty"`
		When   *diffWhen  `json:"when,omitempty"`
		Weight *float64   `json:"weight,omitempty"` // share of the cost, -0.5..0.5
		What   string     `json:"what,omitempty"`   // "power", "price", "ci", "gpus"
		Value  *float64   `json:"value,omitempty"`
		Unit   string     `json:"unit,omitempty"`
	}
	diffWho struct {
		Tenant string `json:"tenant,omitempty"`
		Data   string `json:"data,omitempty"`
	}
	diffWhere struct {
		Site    string `json:"site,omitempty"`
		Tag     string `json:"tag,omitempty"`
		Outside string `json:"outside,omitempty"`
	}
	diffWhen struct {
		From   string `json:"from,omitempty"`
		To     string `json:"to,omitempty"`
		Weekly string `json:"weekly,omitempty"`
		TZ     string `json:"tz,omitempty"`
	}
)

// AsDiff returns a change that a sentence asks for as a Diff; nil if it has no ops. A quota tree is
// never of a sentence.
func (c Change) AsDiff() *Diff {
	if len(c.Ops) == 0 {
		return nil
	}
	d := &Diff{Base: c.Base, NotUnderstood: c.NotUnderstood}
	for _, o := range c.Ops {
		if o.Op == "remove" {
			d.Ops = append(d.Ops, diffOp{Op: o.Op, ID: o.ID})
			continue
		}
		r := diffRuleOf(*o.Rule)
		d.Ops = append(d.Ops, diffOp{Op: o.Op, Rule: &r})
	}
	return d
}

func diffRuleOf(r protocol.Rule) diffRule {
	out := diffRule{Kind: string(r.Kind), Where: &diffWhere{}}
	if r.Tenant != "" || len(r.Homes) > 0 {
		out.Who = &diffWho{Tenant: r.Tenant}
		if len(r.Homes) > 0 {
			out.Who.Data = r.Words
		}
	}
	switch {
	case len(r.Sites) == 0:
	case r.Outside:
		out.Where.Outside = r.Words
	case slices.Equal(r.Sites, []string{r.Words}):
		out.Where.Site = r.Words
	default:
		out.Where.Tag = r.Words
	}
	if r.From != 0 || r.To != 0 || r.Weekly != "" {
		out.When = &diffWhen{From: formatInstant(r.From), To: formatInstant(r.To), Weekly: string(r.Weekly), TZ: "UTC"}
	}
	is := func(v float64) *float64 { return &v }
	switch {
	case r.Kind == protocol.Prefer:
		out.Weight = is(float64(r.Weight) / 1000)
	case r.Kind != protocol.Cap:
	case r.Power != 0:
		out.What, out.Value, out.Unit = "power", is(float64(r.Power)/1e6), "kW"
	case r.GPUs != 0:
		out.What, out.Value, out.Unit = "gpus", is(float64(r.GPUs)/1000), "GPU"
	case r.Most != 0:
		out.What, out.Value, out.Unit = "price", is(float64(r.Most)/1000), "€/MWh"
	default:
		out.What, out.Value, out.Unit = "ci", is(float64(r.Carbon)/1000), "g/kWh"
	}
	if r.Kind == protocol.Cap && *out.Where == (diffWhere{}) {
		out.Where = nil
	}
	return out
}

func formatInstant(t protocol.Time) string {
	if t == 0 {
		return ""
	}
	return t.StdTime().Format(time.RFC3339)
}
