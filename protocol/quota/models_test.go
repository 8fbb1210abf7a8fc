package quota

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// TestModelsAreDividedApart divides the GPUs of one model by what the quotas say of it: who does not name
// it has its weight, and is guaranteed what its children are.
func TestModelsAreDividedApart(t *testing.T) {
	h100 := func(least, most, kept protocol.Milli) []protocol.ModelQuota {
		return []protocol.ModelQuota{{Model: "H100", Min: least, Max: most, Kept: kept, Weight: 1}}
	}
	tree, err := NewTree([]protocol.Quota{
		{Name: "g", Min: 8, Weight: 1},
		{Name: "a", Parent: "g", Min: 4, Weight: 1, Models: h100(4, 6, 0)},
		{Name: "b", Parent: "g", Min: 4, Weight: 1, Models: h100(2, 0, 2)},
		{Name: "c", Weight: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	if tree.OfModel("V100") != nil || strings.Join(tree.Models(), " ") != "H100" {
		t.Errorf("the models are %v", tree.Models())
	}
	for _, c := range []struct {
		capacity protocol.Milli
		ask      map[string]protocol.Milli
		want     string
	}{
		{10, map[string]protocol.Milli{"a": 9, "c": 9}, "a:5 b:2 c:3"}, // g is guaranteed 6, and gets a quarter of the rest; b keeps 2
		{20, map[string]protocol.Milli{"a": 9, "b": 9, "c": 9}, "a:6 b:5 c:9"},
		{20, map[string]protocol.Milli{"a": 9, "b": 9}, "a:6 b:9 c:0"},
		{3, map[string]protocol.Milli{"a": 9, "b": 9}, "a:2 b:1 c:0"}, // a site left
	} {
		if got := describe(tree.OfModel("H100").Shares(c.capacity, c.ask)); got != c.want {
			t.Errorf("%v of %d: %s, want %s", c.ask, c.capacity, got, c.want)
		}
	}
}

// TestWhatOfModelsCannotBeKept lists what is refused of what quotas say of models, and of budgets.
func TestWhatOfModelsCannotBeKept(t *testing.T) {
	of := func(m ...protocol.ModelQuota) protocol.Quota { return protocol.Quota{Name: "a", Min: 5, Models: m} }
	for _, c := range []struct {
		why   string
		q     protocol.Quota
		field string
	}{
		{"no name", of(protocol.ModelQuota{}), "models"},
		{"twice", of(protocol.ModelQuota{Model: "A"}, protocol.ModelQuota{Model: "A"}), "models/A"},
		{"not in order", of(protocol.ModelQuota{Model: "B"}, protocol.ModelQuota{Model: "A"}), "models/A"},
		{"a max below its min", of(protocol.ModelQuota{Model: "A", Min: 3, Max: 2}), "models/A/max"},
		{"more than of all", of(protocol.ModelQuota{Model: "A", Min: 3}, protocol.ModelQuota{Model: "B", Min: 3}), "min"},
		{"a negative budget", protocol.Quota{Name: "a", Budget: -1}, "budget"},
		{"an endless budget", protocol.Quota{Name: "a", CarbonBudget: 1 << 62}, "carbon_budget"},
	} {
		_, err := NewTree([]protocol.Quota{c.q})
		if f, ok := err.(Fault); !ok || f.Field != c.field || f.Problem == "" {
			t.Errorf("%s: error %#v, want a fault of %q", c.why, err, c.field)
		}
	}
}

// TestAsMuchAsFitsIsGuaranteed compares what a tree guarantees with the GPUs there are, model by model.
func TestAsMuchAsFitsIsGuaranteed(t *testing.T) {
	tree, err := NewTree([]protocol.Quota{{Name: "a", Min: 5000, Models: []protocol.ModelQuota{{Model: "A100", Min: 3000}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		all, a100 protocol.Milli
		want      string
	}{{5000, 3000, ""}, {4000, 3000, "5 GPUs together, and there are 4"}, {5000, 2000, "3 GPUs of A100 together, and there are 2"}} {
		if got := tree.LacksCapacity(c.all, map[string]protocol.Milli{"A100": c.a100}); got != c.want {
			t.Errorf("of %d, %d: %q, want %q", c.all, c.a100, got, c.want)
		}
	}
	thrice, _ := parse(t, "a 100 - 0 1 0 200; b 100 - 0 1 0 200; c 100 - 0 1 0 200")
	if got := thrice.LacksCapacity(200, nil); got == "" {
		t.Error("R-Q7: a federation of 200 guarantees three times 100")
	}
}
