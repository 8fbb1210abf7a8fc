package policy

import (
	"encoding/json"
	"errors"

	"github.com/gridbid/gridbid/protocol"
)

// A ruleJSON is the JSON form of a rule (docs/policy.md).
type ruleJSON struct {
	ID    string            `json:"id,omitempty"`
	Kind  protocol.RuleKind `json:"kind"`
	Who   whoJSON           `json:"who,omitzero"`
	Where whereJSON         `json:"where,omitzero"`
	When  whenJSON          `json:"when,omitzero"`

	Weight protocol.Milli        `json:"weight_thousandths,omitempty"`
	Price  protocol.Microdollars `json:"most_microdollars_per_kwh,omitempty"`
	Carbon protocol.Milligrams   `json:"most_milligrams_per_kwh,omitempty"`
	Power  protocol.Milliwatts   `json:"most_milliwatts,omitempty"`
	GPUs   protocol.Milli        `json:"most_thousandths_of_a_gpu,omitempty"`
}

type whoJSON struct {
	Tenant string   `json:"tenant,omitempty"`
	Homes  []string `json:"homes,omitempty"`
}

type whereJSON struct {
	AsWritten string   `json:"said,omitempty"`
	Sites     []string `json:"sites,omitempty"`
	Outside   bool     `json:"outside,omitempty"`
}

type whenJSON struct {
	From   int64           `json:"from_ms,omitempty"`
	To     int64           `json:"to_ms,omitempty"`
	Weekly protocol.Weekly `json:"weekly,omitempty"`
}

// A quotaJSON is the JSON form of a quota. Without a weight it has 1, as in a file.
type quotaJSON struct {
	Name   string          `json:"name"`
	Parent string          `json:"parent,omitempty"`
	Min    protocol.Milli  `json:"min_thousandths_of_a_gpu,omitempty"`
	Max    protocol.Milli  `json:"max_thousandths_of_a_gpu,omitempty"`
	Kept   protocol.Milli  `json:"kept_thousandths_of_a_gpu,omitempty"`
	Weight *protocol.Milli `json:"weight_thousandths,omitempty"`
	Band   int64           `json:"band,omitempty"`

	Queueing protocol.QueueingStrategy `json:"queueing_strategy,omitempty"`

	Models       []modelQuotaJSON      `json:"models,omitempty"`
	Budget       protocol.Microdollars `json:"budget_microdollars_per_month,omitempty"`
	CarbonBudget protocol.Milligrams   `json:"carbon_budget_milligrams_per_month,omitempty"`
}

// A modelQuotaJSON is the JSON form of what a quota says of one model.
type modelQuotaJSON struct {
	Model  string         `json:"model"`
	Min    protocol.Milli `json:"min_thousandths_of_a_gpu,omitempty"`
	Max    protocol.Milli `json:"max_thousandths_of_a_gpu,omitempty"`
	Kept   protocol.Milli `json:"kept_thousandths_of_a_gpu,omitempty"`
	Weight protocol.Milli `json:"weight_thousandths"`
	Band   int64          `json:"band,omitempty"`
}

// A classJSON is the JSON form of a priority class.
type classJSON struct {
	Name       string                    `json:"name"`
	Value      int                       `json:"value"`
	Default    bool                      `json:"global_default,omitempty"`
	Preemption protocol.PreemptionPolicy `json:"preemption_policy,omitempty"`
}

// An opJSON is the JSON form of an op.
type opJSON struct {
	Op      string      `json:"op"`
	Rule    *ruleJSON   `json:"rule,omitempty"`
	ID      string      `json:"id,omitempty"`
	Quotas  []quotaJSON `json:"quotas,omitempty"`
	Classes []classJSON `json:"classes,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (o Op) MarshalJSON() ([]byte, error) {
	out := opJSON{Op: o.Op, ID: o.ID}
	if r := o.Rule; r != nil {
		out.Rule = &ruleJSON{
			ID: r.ID, Kind: r.Kind, Who: whoJSON{r.Tenant, r.Homes}, Where: whereJSON{r.Words, r.Sites, r.Outside},
			When: whenJSON{int64(r.From), int64(r.To), r.Weekly}, Weight: r.Weight, Price: r.Most, Carbon: r.Carbon, Power: r.Power, GPUs: r.GPUs,
		}
	}
	for _, q := range o.Quotas {
		x := quotaJSON{q.Name, q.Parent, q.Min, q.Max, q.Kept, &q.Weight, q.Band, q.Queueing, nil, q.Budget, q.CarbonBudget}
		for _, m := range q.Models {
			x.Models = append(x.Models, modelQuotaJSON(m))
		}
		out.Quotas = append(out.Quotas, x)
	}
	for _, c := range o.Classes {
		out.Classes = append(out.Classes, classJSON(c))
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Op) UnmarshalJSON(data []byte) error {
	var in opJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*o = Op{Op: in.Op, ID: in.ID}
	if in.Op == "add" && in.Rule == nil {
		return errors.New("policy: op add lacks its rule")
	}
	if r := in.Rule; r != nil {
		o.Rule = &protocol.Rule{
			ID: r.ID, Kind: r.Kind, Tenant: r.Who.Tenant, Homes: r.Who.Homes, Sites: r.Where.Sites, Outside: r.Where.Outside, Words: r.Where.AsWritten,
			From: protocol.Time(r.When.From), To: protocol.Time(r.When.To), Weekly: r.When.Weekly, Weight: r.Weight, Most: r.Price, Carbon: r.Carbon, Power: r.Power, GPUs: r.GPUs,
		}
	}
	for _, q := range in.Quotas {
		weight := protocol.Milli(1000)
		if q.Weight != nil {
			weight = *q.Weight
		}
		x := protocol.Quota{
			Name: q.Name, Parent: q.Parent, Min: q.Min, Max: q.Max, Kept: q.Kept, Weight: weight, Band: q.Band, Queueing: q.Queueing,
			Budget: q.Budget, CarbonBudget: q.CarbonBudget,
		}
		for _, m := range q.Models {
			x.Models = append(x.Models, protocol.ModelQuota(m))
		}
		o.Quotas = append(o.Quotas, x)
	}
	for _, c := range in.Classes {
		o.Classes = append(o.Classes, protocol.PriorityClass(c))
	}
	return nil
}
