// Package quota divides the GPUs of a federation among its tenants.
//
// A quota tree has tenants as its leaves. Each node is guaranteed its min, never gets more than
// its max, and shares what others leave by its weight, a higher band first. What a node does not
// ask for is lent to others, but for the part that it keeps. The rules are those of Kubernetes'
// ElasticQuota (scheduler-plugins KEP-9) with the shares of Koordinator's and KAI's calculators:
// docs/quotas.md has them as worked examples.
package quota

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gridbid/gridbid/protocol"
)

// Others is the name of a leaf for all tenants that the tree does not name. They share its quota.
const Others = "*"

// Bounds of a tree.
const (
	maxNodes  = 16_384
	maxModels = 64 // of one tree
	maxDepth  = 16
	maxAmount = protocol.Milli(1e9) // a million GPUs
	maxWeight = protocol.Milli(1e6) // 1,000
	maxBand   = 1000

	maxBudget       = protocol.Microdollars(1e15) // a billion dollars, which no account passes
	maxCarbonBudget = protocol.Milligrams(1e15)   // a million tonnes
)

// A Tree is a checked quota tree. The zero value has no nodes.
type Tree struct {
	nodes []node // parents before children; siblings by name
	leaf  map[string]int
	roots []int

	capped   [][]*protocol.Quota // of each node: the groups above it that have a max, the nearest first
	budgeted [][]*protocol.Quota // of each node: it and the groups above it, as far as they have a budget

	models     map[string]*Tree // of the same nodes, with what they say of GPUs of one model; none for a model that no quota names
	hasBudgets bool
}

type node struct {
	protocol.Quota
	parent   int // -1: none
	children []int
}

// A Fault is what is wrong with a tree: the index of the quota, its field, and what to do.
type Fault struct {
	Index   int
	Field   string
	Problem string
}

// Error implements error.
func (f Fault) Error() string { return f.Problem }

// NewTree returns the tree of a list of quotas, in any order. Its error is a Fault.
func NewTree(list []protocol.Quota) (*Tree, error) {
	if len(list) > maxNodes {
		return nil, Fault{maxNodes, "", fmt.Sprintf("%d quotas, want at most %d: join some", len(list), maxNodes)}
	}
	index := make(map[string]int, len(list))
	for i, q := range list {
		if err := checkQuota(i, q); err != nil {
			return nil, err
		}
		if _, dup := index[q.Name]; dup {
			return nil, Fault{i, "name", fmt.Sprintf("%s has two quotas: give each a name of its own", q.Name)}
		}
		index[q.Name] = i
	}
	depth, err := depths(list, index)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(depth[x], depth[y]), cmp.Compare(list[x].Name, list[y].Name))
	})
	t, err := treeOf(list, order, index)
	if err != nil {
		return nil, err
	}
	t.budgeted = make([][]*protocol.Quota, len(t.nodes))
	for k := range t.nodes {
		n := &t.nodes[k]
		if n.Budget != 0 || n.CarbonBudget != 0 {
			t.budgeted[k] = append(t.budgeted[k], &n.Quota)
		}
		if n.parent >= 0 {
			t.budgeted[k] = append(t.budgeted[k], t.budgeted[n.parent]...)
		}
	}
	for _, q := range list {
		t.hasBudgets = t.hasBudgets || q.Budget != 0 || q.CarbonBudget != 0
	}
	return t, t.addModels(list, order, index)
}

// treeOf returns the tree of checked quotas, listed parents first in order.
func treeOf(list []protocol.Quota, order []int, index map[string]int) (*Tree, error) {
	t := &Tree{leaf: make(map[string]int)}
	at := make(map[string]int, len(list))
	for k, i := range order {
		q := list[i]
		n := node{Quota: q, parent: -1}
		if q.Parent != "" {
			n.parent = at[q.Parent]
			t.nodes[n.parent].children = append(t.nodes[n.parent].children, k)
		} else {
			t.roots = append(t.roots, k)
		}
		at[q.Name] = k
		t.nodes = append(t.nodes, n)
	}
	t.capped = make([][]*protocol.Quota, len(t.nodes))
	for k, n := range t.nodes {
		if n.parent >= 0 { // which comes before
			t.capped[k] = t.capped[n.parent]
			if p := &t.nodes[n.parent].Quota; p.Max != 0 {
				t.capped[k] = append([]*protocol.Quota{p}, t.capped[k]...)
			}
		}
		if len(n.children) == 0 {
			t.leaf[n.Name] = k
			continue
		}
		var sum protocol.Milli
		for _, c := range n.children {
			sum += t.nodes[c].Min
		}
		switch {
		case n.Name == Others:
			return nil, Fault{index[n.Name], "parent", fmt.Sprintf("%q stands for the tenants that no quota names and cannot have children: give them another parent", Others)}
		case sum > n.Min:
			return nil, Fault{index[n.Name], "min", fmt.Sprintf("%s is guaranteed %s GPUs and its children %s together: raise its min or lower theirs", n.Name, gpus(n.Min), gpus(sum))}
		}
	}
	return t, nil
}

func checkQuota(i int, q protocol.Quota) error {
	fault := func(field, format string, args ...any) error {
		return Fault{i, field, fmt.Sprintf(format, args...)}
	}
	switch {
	case q.Name == "":
		return fault("name", "a quota has no name: give it that of its tenant or group")
	case len(q.Name) > 128:
		return fault("name", "the name has %d bytes: want at most 128", len(q.Name))
	case strings.ContainsFunc(q.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fault("name", "the name %q has characters that cannot be printed: write it without", q.Name)
	case q.Queueing != "" && q.Queueing != protocol.StrictFIFO && q.Queueing != protocol.BestEffortFIFO:
		return fault("queueing_strategy", "%s: queueing_strategy is %q: want %s or %s", q.Name, q.Queueing, protocol.StrictFIFO, protocol.BestEffortFIFO)
	case q.Budget < 0 || q.Budget > maxBudget:
		return fault("budget", "%s: budget is $%.0f a month: want 0 to %.0f, 0 for none", q.Name, q.Budget.InDollars(), maxBudget.InDollars())
	case q.CarbonBudget < 0 || q.CarbonBudget > maxCarbonBudget:
		return fault("carbon_budget", "%s: carbon budget is %.0f kg CO2e a month: want 0 to %.0f, 0 for none", q.Name, q.CarbonBudget.InKilograms(), maxCarbonBudget.InKilograms())
	}
	if field, problem := checkAmounts(protocol.ModelQuota{Min: q.Min, Max: q.Max, Kept: q.Kept, Weight: q.Weight, Band: q.Band}); problem != "" {
		return fault(field, "%s: %s", q.Name, problem)
	}
	return checkModels(i, q)
}

// checkAmounts returns what is wrong with the amounts of a quota, and of which field; "" if nothing is.
func checkAmounts(q protocol.ModelQuota) (field, problem string) {
	switch {
	case q.Min < 0 || q.Min > maxAmount:
		return "min", fmt.Sprintf("min is %s GPUs: want 0 to %s", gpus(q.Min), gpus(maxAmount))
	case q.Max < 0 || q.Max > maxAmount:
		return "max", fmt.Sprintf("max is %s GPUs: want 0 to %s, 0 for no cap", gpus(q.Max), gpus(maxAmount))
	case q.Max != 0 && q.Max < q.Min:
		return "max", fmt.Sprintf("max is %s GPUs, less than the min of %s: raise it", gpus(q.Max), gpus(q.Min))
	case q.Kept < 0 || q.Kept > q.Min:
		return "lend", fmt.Sprintf("it lends a part of its min of %s GPUs: want 0 to %s", gpus(q.Min), gpus(q.Min))
	case q.Weight < 0 || q.Weight > maxWeight:
		return "weight", fmt.Sprintf("weight is %s: want 0 to %s", gpus(q.Weight), gpus(maxWeight))
	case q.Band < -maxBand || q.Band > maxBand:
		return "band", fmt.Sprintf("band is %d: want -%d to %d", q.Band, maxBand, maxBand)
	}
	return "", ""
}

// depths returns how many ancestors each quota has.
func depths(list []protocol.Quota, index map[string]int) ([]int, error) {
	out := make([]int, len(list))
	for i, q := range list {
		for x := q; x.Parent != ""; {
			p, ok := index[x.Parent]
			if !ok {
				return nil, Fault{i, "parent", fmt.Sprintf("%s: no quota is named %s: add it, or give another parent", q.Name, x.Parent)}
			}
			if out[i]++; out[i] > maxDepth {
				return nil, Fault{i, "parent", fmt.Sprintf("%s has more than %d ancestors, or is its own: give it another parent", q.Name, maxDepth)}
			}
			x = list[p]
		}
	}
	return out, nil
}

// Guaranteed returns the sum of what the tree guarantees.
func (t *Tree) Guaranteed() (sum protocol.Milli) {
	for _, k := range t.roots {
		sum += t.nodes[k].Min
	}
	return sum
}

// IsEmpty reports whether the tree has no nodes: nothing is limited then.
func (t *Tree) IsEmpty() bool { return t == nil || len(t.nodes) == 0 }

// LeafOf returns the name of the leaf that a tenant's jobs count under; false if the tree has none
// for it.
func (t *Tree) LeafOf(tenant string) (string, bool) {
	for _, name := range [...]string{tenant, Others} {
		if _, ok := t.leaf[name]; ok {
			return name, true
		}
	}
	return "", false
}

// QuotaOf returns the quota of a leaf. The caller must not change it.
func (t *Tree) QuotaOf(leaf string) *protocol.Quota { return &t.nodes[t.leaf[leaf]].Quota }

// HasCapOn reports whether a max limits what a tenant's jobs hold, be it of one model.
func (t *Tree) HasCapOn(tenant string) bool {
	if t.IsEmpty() {
		return false
	}
	leaf, ok := t.LeafOf(tenant)
	return ok && (t.QuotaOf(leaf).Max != 0 || len(t.CappedGroups(leaf)) > 0 ||
		slices.ContainsFunc(t.Models(), func(m string) bool { return t.models[m].HasCapOn(tenant) }))
}

// CappedGroups returns the ancestors of a leaf that have a max. What their tenants hold together can
// be more than the shares of this moment, as long as one of them holds what it was lent. The caller
// must not change them.
func (t *Tree) CappedGroups(leaf string) []*protocol.Quota { return t.capped[t.leaf[leaf]] }

// PathOf returns the quotas of a leaf and the groups above it, the leaf first.
func (t *Tree) PathOf(leaf string) (path []protocol.Quota) {
	k, ok := t.leaf[leaf]
	for ; ok && k >= 0; k = t.nodes[k].parent {
		path = append(path, t.nodes[k].Quota)
	}
	return path
}

// PathsBelowCommon returns the paths of two leaves up to below their nearest common group.
func (t *Tree) PathsBelowCommon(x, y string) (a, b []protocol.Quota) {
	a, b = t.PathOf(x), t.PathOf(y)
	for len(a) > 0 && len(b) > 0 && a[len(a)-1].Name == b[len(b)-1].Name {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// HasStrictQueues reports whether some quota is a StrictFIFO queue.
func (t *Tree) HasStrictQueues() bool {
	return t != nil && slices.ContainsFunc(t.nodes, func(n node) bool { return n.Queueing == protocol.StrictFIFO })
}

// StrictQueueOf returns the StrictFIFO queue that a tenant's jobs stand in: the outermost one of its
// leaf and the groups above; false if none is strict.
func (t *Tree) StrictQueueOf(tenant string) (name string, ok bool) {
	leaf, named := t.LeafOf(tenant)
	if !named {
		return "", false
	}
	for k := t.leaf[leaf]; k >= 0; k = t.nodes[k].parent {
		if t.nodes[k].Queueing == protocol.StrictFIFO {
			name, ok = t.nodes[k].Name, true
		}
	}
	return name, ok
}

// HasBudgets reports whether some quota has a budget.
func (t *Tree) HasBudgets() bool { return t != nil && t.hasBudgets }

// BudgetedPathOf returns those of a tenant's quota and the groups above it that have a budget, the
// leaf first. The caller must not change them.
func (t *Tree) BudgetedPathOf(tenant string) []*protocol.Quota {
	if !t.HasBudgets() {
		return nil
	}
	leaf, ok := t.LeafOf(tenant)
	if !ok {
		return nil
	}
	return t.budgeted[t.leaf[leaf]]
}

func gpus(v protocol.Milli) string { return strconv.FormatFloat(float64(v)/1000, 'f', -1, 64) }

// Describe returns what a quota guarantees, caps and shares, in words.
func Describe(q protocol.Quota) string {
	s := q.Name
	if q.Parent != "" {
		s += " of " + q.Parent
	}
	s += describeAmounts(protocol.ModelQuota{Min: q.Min, Max: q.Max, Kept: q.Kept, Weight: q.Weight, Band: q.Band})
	if q.Queueing == protocol.StrictFIFO {
		s += " " + string(q.Queueing)
	}
	if len(q.Models) > 0 {
		s += ", of " + DescribeModels(q)
	}
	if q.Budget != 0 {
		s += ", budget $" + strconv.FormatFloat(q.Budget.InDollars(), 'f', -1, 64) + " a month"
	}
	if q.CarbonBudget != 0 {
		s += ", carbon budget " + strconv.FormatFloat(q.CarbonBudget.InKilograms(), 'f', -1, 64) + " kg CO2e a month"
	}
	return s
}

// DescribeModels returns what a quota says of single models, in words; "" if it names none.
func DescribeModels(q protocol.Quota) string {
	var all []string
	for _, m := range q.Models {
		all = append(all, m.Model+describeAmounts(m))
	}
	return strings.Join(all, ", of ")
}

func describeAmounts(m protocol.ModelQuota) string {
	s := " min " + gpus(m.Min)
	if m.Max != 0 {
		s += " max " + gpus(m.Max)
	}
	s += " weight " + gpus(m.Weight)
	if m.Kept != 0 {
		s += " lends " + gpus(m.Min-m.Kept)
	}
	if m.Band != 0 {
		s += fmt.Sprintf(" band %d", m.Band)
	}
	return s
}
