package quota

import (
	"maps"
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A FileQuota is a quota of a file, with its YAML keys. Amounts are GPUs; nil is the default.
type FileQuota struct {
	Name      string `yaml:"name"`
	Parent    string `yaml:"parent"`
	FileModel `yaml:",inline"`

	Models       map[string]FileModel `yaml:"models"`        // by the name of the model
	Budget       *float64             `yaml:"budget"`        // dollars a month; default: none
	CarbonBudget *float64             `yaml:"carbon_budget"` // kilograms of CO2e a month; default: none

	Queueing protocol.QueueingStrategy `yaml:"queueing_strategy"` // default: BestEffortFIFO
}

// A FileModel is the amounts of a quota of a file, of all GPUs or of those of one model.
type FileModel struct {
	Min    *float64 `yaml:"min"`    // default: the sum of the children's; of all GPUs at least that of the models
	Max    *float64 `yaml:"max"`    // default: no cap
	Weight *float64 `yaml:"weight"` // default: 1; of a model, that of the quota
	Lend   *float64 `yaml:"lend"`   // default: all of min
	Band   *int64   `yaml:"band"`   // default: 0; of a model, that of the quota
}

// QuotasOf returns the quotas that a file states, checked as a tree. Its error is a Fault, whose index
// is that of the file.
func QuotasOf(file []FileQuota) ([]protocol.Quota, error) {
	var out []protocol.Quota
	for i, f := range file {
		all, err := f.amounts(i, "", f.Name, protocol.ModelQuota{Weight: 1000})
		if err != nil {
			return nil, err
		}
		q := protocol.Quota{Name: f.Name, Parent: f.Parent, Min: all.Min, Max: all.Max, Kept: all.Kept, Weight: all.Weight, Band: all.Band, Queueing: f.Queueing}
		for _, model := range slices.Sorted(maps.Keys(f.Models)) {
			m, err := f.Models[model].amounts(i, "models/"+model+"/", f.Name+" on "+model, protocol.ModelQuota{Model: model, Weight: all.Weight, Band: all.Band})
			if err != nil {
				return nil, err
			}
			q.Models = append(q.Models, m)
		}
		if q.Budget, err = budgetOf[protocol.Microdollars](i, "budget", f.Budget, float64(maxBudget)); err != nil {
			return nil, err
		}
		if q.CarbonBudget, err = budgetOf[protocol.Milligrams](i, "carbon_budget", f.CarbonBudget, float64(maxCarbonBudget)); err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	for changed := true; changed; { // a sum may be that of sums; a cycle has no min to sum
		changed = false
		children := make(map[string][]int)
		for i := range out {
			children[out[i].Parent] = append(children[out[i].Parent], i)
		}
		for i := range out {
			q := &out[i]
			sum, models := minOf(out, children[q.Name], ""), protocol.Milli(0)
			for n := range q.Models {
				m := &q.Models[n]
				if file[i].Models[m.Model].Min == nil {
					if least := minOf(out, children[q.Name], m.Model); least != m.Min {
						m.Min, changed = least, true
					}
				}
				models += m.Min
			}
			if sum = min(max(sum, models), maxAmount); file[i].Min == nil && sum != q.Min {
				q.Min, changed = sum, true
			}
		}
	}
	for i, f := range file {
		q, ok := &out[i], false
		if q.Kept, ok = keptOf(q.Min, f.Lend); !ok {
			return nil, Fault{i, "lend", "it lends more than its min of " + gpus(q.Min) + " GPUs: lower it"}
		}
		for n := range q.Models {
			m := &q.Models[n]
			if m.Kept, ok = keptOf(m.Min, f.Models[m.Model].Lend); !ok {
				return nil, Fault{i, "models/" + m.Model + "/lend", "it lends more than its min of " + gpus(m.Min) + " GPUs: lower it"}
			}
		}
	}
	_, err := NewTree(out)
	return out, err
}

// minOf returns what some quotas are guaranteed together, of one model or, without, of all GPUs.
func minOf(all []protocol.Quota, which []int, model string) (sum protocol.Milli) {
	for _, i := range which {
		q := &all[i]
		if model == "" {
			sum += q.Min
		}
		for _, m := range q.Models {
			if m.Model == model && model != "" {
				sum += m.Min
			}
		}
	}
	return min(sum, maxAmount)
}

// keptOf returns what is not lent of a min; false if more would be lent.
func keptOf(least protocol.Milli, lend *float64) (kept protocol.Milli, ok bool) {
	if lend == nil {
		return 0, true
	}
	kept = least - protocol.Milli(math.Round(*lend*1000))
	return max(kept, 0), kept >= 0
}

// amounts returns the amounts of a quota of a file, over their defaults. field is before the keys of
// its amounts, and name whose they are.
func (f FileModel) amounts(i int, field, name string, q protocol.ModelQuota) (protocol.ModelQuota, error) {
	var lent protocol.Milli // for its bounds: what is kept follows from a min that may not be known yet
	for _, x := range []struct {
		key  string
		from *float64
		to   *protocol.Milli
	}{{"min", f.Min, &q.Min}, {"max", f.Max, &q.Max}, {"weight", f.Weight, &q.Weight}, {"lend", f.Lend, &lent}} {
		if x.from == nil {
			continue
		}
		if *x.from < 0 || !(*x.from <= float64(maxAmount)/1000) {
			return q, Fault{i, field + x.key, "want 0 to " + gpus(maxAmount)}
		}
		if *x.to = protocol.Milli(math.Round(*x.from * 1000)); *x.to == 0 && x.key == "max" {
			return q, Fault{i, field + x.key, "a max of 0 would stop all jobs of " + name + ": leave it out for no cap, or forbid the tenant by a rule"}
		}
	}
	if f.Band != nil {
		q.Band = *f.Band
	}
	return q, nil
}

// budgetOf returns a budget of a file, given in a unit of a million.
func budgetOf[T ~int64](i int, key string, from *float64, most float64) (T, error) {
	if from == nil {
		return 0, nil
	}
	v := math.Round(*from * 1e6)
	if !(v >= 1 && v <= most) {
		return 0, Fault{i, key, "want more than 0, and at most " + gpus(protocol.Milli(most/1000)) + " a month: leave it out for no budget, or forbid the tenant by a rule"}
	}
	return T(v), nil
}
