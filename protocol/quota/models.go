package quota

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/gridbid/gridbid/protocol"
)

// checkModels returns what is wrong with what a quota says of single models.
func checkModels(i int, q protocol.Quota) error {
	for n, m := range q.Models {
		at := "models/" + m.Model
		switch {
		case m.Model == "" || len(m.Model) > 64 || strings.ContainsFunc(m.Model, func(r rune) bool { return !unicode.IsPrint(r) }):
			return Fault{i, "models", fmt.Sprintf("%s: %q is no name of a GPU model: write it as the sites do, such as A100", q.Name, m.Model)}
		case n > 0 && m.Model <= q.Models[n-1].Model:
			return Fault{i, at, fmt.Sprintf("%s: it names %s twice, or its models are not in the order of their names", q.Name, m.Model)}
		}
		if field, problem := checkAmounts(m); problem != "" {
			return Fault{i, at + "/" + field, fmt.Sprintf("%s: of %s %s", q.Name, m.Model, problem)}
		}
	}
	return nil
}

// addModels adds a tree for each model that a quota names. There a quota that does not name the model
// is guaranteed what its children are, and has its weight and band and no cap.
func (t *Tree) addModels(list []protocol.Quota, order []int, index map[string]int) error {
	names := make(map[string]bool)
	for i, q := range list {
		for _, m := range q.Models {
			if names[m.Model] = true; len(names) > maxModels {
				return Fault{i, "models", fmt.Sprintf("the quotas name more than %d models: leave some out", maxModels)}
			}
		}
	}
	guaranteed := make([]protocol.Milli, len(list)) // of all models together
	for _, model := range slices.Sorted(maps.Keys(names)) {
		of := make([]protocol.Quota, len(list))
		for _, i := range slices.Backward(order) { // children before their parents
			q := list[i]
			least := of[i].Min // of the children, so far
			of[i] = protocol.Quota{Name: q.Name, Parent: q.Parent, Min: least, Weight: q.Weight, Band: q.Band}
			if n := slices.IndexFunc(q.Models, func(m protocol.ModelQuota) bool { return m.Model == model }); n >= 0 {
				m := q.Models[n]
				of[i].Min, of[i].Max, of[i].Kept, of[i].Weight, of[i].Band = m.Min, m.Max, m.Kept, m.Weight, m.Band
			}
			guaranteed[i] += of[i].Min
			if q.Parent != "" {
				of[index[q.Parent]].Min += of[i].Min
			}
		}
		tree, err := treeOf(of, order, index)
		var f Fault
		if errors.As(err, &f) {
			return Fault{f.Index, "models/" + model + "/" + f.Field, "of " + model + " " + f.Problem}
		}
		if t.models == nil {
			t.models = make(map[string]*Tree)
		}
		t.models[model] = tree
	}
	for i, q := range list {
		if guaranteed[i] > q.Min {
			return Fault{i, "min", fmt.Sprintf("%s is guaranteed %s GPUs, and of single models %s together: raise its min or lower theirs", q.Name, gpus(q.Min), gpus(guaranteed[i]))}
		}
	}
	return nil
}

// Models returns the models that quotas name, by name.
func (t *Tree) Models() []string {
	if t == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(t.models))
}

// OfModel returns the tree of what the quotas say of GPUs of one model; nil if they do not name it.
func (t *Tree) OfModel(model string) *Tree {
	if t == nil {
		return nil
	}
	return t.models[model]
}

// LacksCapacity returns what a federation of so many GPUs, and so many of each model, lacks of what the
// tree guarantees: "5 GPUs together, and there are 4"; "" if it lacks nothing.
func (t *Tree) LacksCapacity(gpusInAll protocol.Milli, ofModel map[string]protocol.Milli) string {
	if n := t.Guaranteed(); n > gpusInAll {
		return fmt.Sprintf("%s GPUs together, and there are %s", gpus(n), gpus(gpusInAll))
	}
	for _, model := range t.Models() {
		if n := t.models[model].Guaranteed(); n > ofModel[model] {
			return fmt.Sprintf("%s GPUs of %s together, and there are %s", gpus(n), model, gpus(ofModel[model]))
		}
	}
	return ""
}
