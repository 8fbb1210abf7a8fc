package quota

import (
	"math"

	"github.com/gridbid/gridbid/protocol"
)

// A FileQuota is a quota of a file, with its YAML keys. Amounts are GPUs; nil is the default.
type FileQuota struct {
	Name   string   `yaml:"name"`
	Parent string   `yaml:"parent"`
	Min    *float64 `yaml:"min"`    // default: the sum of the children's
	Max    *float64 `yaml:"max"`    // default: no cap
	Weight *float64 `yaml:"weight"` // default: 1
	Lend   *float64 `yaml:"lend"`   // default: all of min
	Band   int64    `yaml:"band"`

	Queueing protocol.QueueingStrategy `yaml:"queueing_strategy"` // default: BestEffortFIFO
}

// QuotasOf returns the quotas that a file states, checked as a tree. Its error is a Fault, whose index
// is that of the file.
func QuotasOf(file []FileQuota) ([]protocol.Quota, error) {
	var out []protocol.Quota
	for i, f := range file {
		q := protocol.Quota{Name: f.Name, Parent: f.Parent, Weight: 1000, Band: f.Band, Queueing: f.Queueing}
		lent := protocol.Milli(math.MaxInt64)
		for _, x := range []struct {
			field string
			from  *float64
			to    *protocol.Milli
		}{{"min", f.Min, &q.Min}, {"max", f.Max, &q.Max}, {"weight", f.Weight, &q.Weight}, {"lend", f.Lend, &lent}} {
			if x.from == nil {
				continue
			}
			if *x.from < 0 || !(*x.from <= float64(maxAmount)/1000) {
				return nil, Fault{i, x.field, "want 0 to " + gpus(maxAmount)}
			}
			if *x.to = protocol.Milli(math.Round(*x.from * 1000)); *x.to == 0 && x.field == "max" {
				return nil, Fault{i, x.field, "a max of 0 would stop all jobs of " + f.Name + ": leave it out for no cap, or forbid the tenant by a rule"}
			}
		}
		if f.Lend != nil && lent > q.Min {
			return nil, Fault{i, "lend", "it lends more than its min of " + gpus(q.Min) + " GPUs: lower it"}
		}
		q.Kept = max(q.Min-lent, 0)
		out = append(out, q)
	}
	for changed := true; changed; { // a sum may be that of sums; a cycle has no min to sum
		changed = false
		for i := range out {
			if file[i].Min != nil {
				continue
			}
			var sum protocol.Milli
			for _, c := range out {
				if c.Parent == out[i].Name {
					sum += c.Min
				}
			}
			if sum = min(sum, maxAmount); sum != out[i].Min {
				out[i].Min, changed = sum, true
			}
		}
	}
	_, err := NewTree(out)
	return out, err
}
