package quota

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

// parse reads quotas and asks as "name min max kept weight band ask", "-" for no max; a leading
// "parent>" names the parent. The unit is the reader's.
func parse(t *testing.T, text string) (*Tree, map[string]protocol.Milli) {
	t.Helper()
	var list []protocol.Quota
	ask := make(map[string]protocol.Milli)
	for part := range strings.SplitSeq(text, ";") {
		var q protocol.Quota
		var limit string
		var want protocol.Milli
		if _, err := fmt.Sscan(part, &q.Name, &q.Min, &limit, &q.Kept, &q.Weight, &q.Band, &want); err != nil {
			t.Fatalf("%q: %v", part, err)
		}
		if limit != "-" {
			if _, err := fmt.Sscan(limit, &q.Max); err != nil {
				t.Fatal(err)
			}
		}
		if parent, name, ok := strings.Cut(q.Name, ">"); ok {
			q.Parent, q.Name = parent, name
		}
		list, ask[q.Name] = append(list, q), want
	}
	tree, err := NewTree(list)
	if err != nil {
		t.Fatal(err)
	}
	return tree, ask
}

// TestPublishedDivisions holds the shares against cases of other calculators. Q and R-Q ids are those
// of docs/quotas.md, which names their sources.
func TestPublishedDivisions(t *testing.T) {
	for _, c := range []struct {
		id       string
		capacity protocol.Milli
		tree     string // name min max kept weight band ask
		want     string
	}{
		{"Q1", 10, "a 4 6 0 1 0 7; b 6 8 0 1 0 3", "a:6 b:3"},
		{"Q2", 10, "a 4 6 0 1 0 6; b 6 8 0 1 0 6", "a:4 b:6"},
		{"Q3", 10, "a 4 6 0 1 0 4; b 6 8 0 1 0 7", "a:4 b:6"},
		{"Q4", 10, "a 3 4 0 1 0 4; b 4 6 0 1 0 4; c 3 4 0 1 0 3", "a:3 b:4 c:3"},
		{"Q5", 10, "a 3 4 0 1 0 2; b 4 6 0 1 0 6; c 3 4 0 1 0 3", "a:2 b:5 c:3"},
		{"Q6", 100, "n1 10 - 0 40 0 5; n2 15 - 0 60 0 20; n3 20 - 0 50 0 40; n4 15 - 0 80 0 70", "n1:5 n2:20 n3:35 n4:40"},
		{"Q7", 100, "n1 10 - 0 40 0 5; n2 15 - 0 60 0 20; n3 20 - 0 50 0 40; n4 15 - 0 0 0 70", "n1:5 n2:20 n3:40 n4:15"},
		{"Q8", 100, "n1 10 - 0 40 0 5; n2 15 - 0 60 0 20; n3 20 - 0 50 0 40; n4 45 - 0 0 0 70", "n1:5 n2:20 n3:30 n4:45"},
		{"Q10", 100, "a 10 - 0 3 0 100; b 10 - 0 1 0 100", "a:70 b:30"},
		{"Q11", 100, "a 60 - 0 1 0 20; b 40 - 0 1 0 100", "a:20 b:80"},
		{"Q12", 100, "a 60 - 0 1 0 90; b 40 - 0 1 0 100", "a:60 b:40"},
		{"Q13", 100, "a 20 50 0 1 0 100; b 20 - 0 1 0 100", "a:50 b:50"},
		{"Q14", 100, "a 20 - 0 1 2 60; b 20 - 0 1 1 100", "a:60 b:40"},
		{"R-Q1", 100, "t1 60 - 0 1 0 120; t2 40 96 40 1 0 0", "t1:60 t2:40"},
		{"R-Q2 c1 asks 0", 100, "r 60 - 60 1 0 0; r>c1 20 - 20 1 0 0; r>c2 20 - 20 1 0 0", "c1:20 c2:20"},
		{"R-Q2 c1 asks 60", 100, "r 60 - 60 1 0 0; r>c1 20 - 20 1 0 60; r>c2 20 - 20 1 0 0", "c1:60 c2:20"},
		{"R-Q3 c1 asks 40", 100, "r 60 - 0 1 0 0; r>c1 20 - 20 1 0 40; r>c2 20 - 0 1 0 0", "c1:40 c2:0"},
		{"R-Q4 leaf asks 55", 100, "r 0 96 0 1 0 0; r>s 0 60 0 1 0 0; s>l 0 30 0 1 0 55", "l:30"},
		{"R-Q5", 200000, "a 100000 - 0 1 0 200000; b 100000 - 0 1 0 200000; c 100000 - 0 1 0 200000", "a:66667 b:66667 c:66666"},
		{"R-Q6", 200000, "a 100000 - 0 1 0 200000; b 100000 - 0 1 0 0; c 100000 - 0 1 0 200000", "a:100000 b:0 c:100000"},
		{"R-Q9", 8, "a 2 - 0 1 0 6; b 2 - 0 3 0 6", "a:3 b:5"},
		{"R-Q10", 12, "a 2 5 0 1 0 6; b 2 - 0 1 0 6", "a:5 b:6"},
		{"R-Q11", 11, "a 2 - 0 1 0 10; b 2 - 0 4 0 10", "a:3 b:8"},
		{"R-Q12", 11, "a 2 - 0 1 0 6; b 2 - 0 1 0 6", "a:6 b:5"},
		{"R-Q13", 6, "a 2 - 0 100 1 6; b 2 - 0 1 2 6", "a:2 b:4"},
		{"R-Q14", 5, "q1 2 - 0 1 0 5; q2 2 - 0 1 0 5; q3 1 - 0 1 0 0", "q1:3 q2:2 q3:0"},
		{"R-Q15", 24, "a 6 - 4 1 0 0; b 6 - 0 1 0 30; c 12 - 0 1 0 12", "a:4 b:8 c:12"},
	} {
		tree, ask := parse(t, c.tree)
		if got := describe(tree.Shares(c.capacity, ask)); got != c.want {
			t.Errorf("%s: shares %s, want %s", c.id, got, c.want)
		}
	}
}

func describe(shares map[string]protocol.Milli) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		all = append(all, fmt.Sprintf("%s:%d", name, shares[name]))
	}
	return strings.Join(all, " ")
}

// TestRoundingLosesNothing is case Q9: a donor that asks for nothing, and ten borrowers.
func TestRoundingLosesNothing(t *testing.T) {
	text := "donor 3 - 0 1 0 0"
	for i := range 10 {
		text += fmt.Sprintf("; t%d %d - 0 %d 0 40", i, []int{8, 8, 8, 8, 8, 8, 8, 8, 7, 7}[i], 1+i%3)
	}
	tree, ask := parse(t, text)
	var sum protocol.Milli
	for _, v := range tree.Shares(81, ask) {
		sum += v
	}
	if sum != 81 {
		t.Errorf("the shares sum to %d of 81", sum)
	}
}

// drawTree draws a tree of up to 40 quotas in up to four levels, and asks for its leaves.
func drawTree(t *rapid.T) (list []protocol.Quota, ask map[string]protocol.Milli) {
	ask = make(map[string]protocol.Milli)
	amount := rapid.Int64Range(0, 30)
	n := rapid.IntRange(1, 40).Draw(t, "n")
	for i := range n {
		q := protocol.Quota{Name: fmt.Sprintf("q%02d", i), Weight: protocol.Milli(rapid.Int64Range(0, 5).Draw(t, "w")), Band: rapid.Int64Range(0, 2).Draw(t, "band")}
		if i > 0 && rapid.Bool().Draw(t, "nested") {
			q.Parent = list[rapid.IntRange(0, i-1).Draw(t, "parent")].Name
		}
		q.Min = protocol.Milli(amount.Draw(t, "min"))
		q.Kept = protocol.Milli(rapid.Int64Range(0, int64(q.Min)).Draw(t, "kept"))
		list, ask[q.Name] = append(list, q), protocol.Milli(amount.Draw(t, "ask"))
	}
	for i := n - 1; i >= 0; i-- { // a parent guarantees what its children do, and caps hold it
		q := &list[i]
		var children protocol.Milli
		for _, c := range list[i+1:] {
			if c.Parent == q.Name {
				children += c.Min
			}
		}
		q.Min = max(q.Min, children)
		if rapid.Bool().Draw(t, "capped") {
			q.Max = max(1, q.Min) + protocol.Milli(amount.Draw(t, "over"))
		}
	}
	return list, ask
}

// TestSharesKeepTheirPromises holds what the shares of random trees must keep, against the quotas as
// listed and not as the tree stores them.
func TestSharesKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, ask := drawTree(t)
		tree, err := NewTree(list)
		if err != nil {
			t.Fatal(err)
		}
		capacity := protocol.Milli(rapid.Int64Range(0, 400).Draw(t, "capacity"))
		share := tree.Shares(capacity, ask)
		inner := make(map[string]bool)
		for _, q := range list {
			inner[q.Parent] = true
		}
		var subtree func(name string) protocol.Milli
		subtree = func(name string) (sum protocol.Milli) {
			if name != "" && !inner[name] {
				return share[name]
			}
			for _, q := range list {
				if q.Parent == name {
					sum += subtree(q.Name)
				}
			}
			return sum
		}
		if sum := subtree(""); sum > capacity {
			t.Fatalf("shares sum to %d of %d", sum, capacity)
		}
		for _, q := range list {
			if sum := subtree(q.Name); q.Max != 0 && sum > q.Max {
				t.Fatalf("%s gets %d, max %d", q.Name, sum, q.Max)
			}
			if !inner[q.Name] && share[q.Name] > max(ask[q.Name], q.Kept) {
				t.Fatalf("%s gets %d, asks for %d and keeps %d", q.Name, share[q.Name], ask[q.Name], q.Kept)
			}
			if !inner[q.Name] && tree.Guaranteed() <= capacity && share[q.Name] < min(ask[q.Name], q.Min) {
				t.Fatalf("%s gets %d, asks for %d and is guaranteed %d", q.Name, share[q.Name], ask[q.Name], q.Min)
			}
		}
		shuffled := slices.Clone(list)
		rand.New(rand.NewPCG(uint64(capacity), 1)).Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		other, err := NewTree(shuffled)
		if err != nil || !maps.Equal(other.Shares(capacity, ask), share) {
			t.Fatalf("the order of the quotas changes the shares: %v", err)
		}
	})
}

// TestSurplusGoesByWeight holds the surplus of siblings: all that is asked for is given while there
// is any, and per weight nobody gets less than another, but for a unit, unless it has all it asks for.
func TestSurplusGoesByWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, ask := drawTree(t)
		for i := range list {
			list[i].Parent, list[i].Band, list[i].Kept, list[i].Min, list[i].Weight = "", 0, 0, 0, list[i].Weight+1
		}
		tree, err := NewTree(list)
		if err != nil {
			t.Fatal(err)
		}
		capacity := protocol.Milli(rapid.Int64Range(0, 400).Draw(t, "capacity"))
		share := tree.Shares(capacity, ask)
		var sum, wanted protocol.Milli
		want := func(q protocol.Quota) protocol.Milli {
			if q.Max != 0 {
				return min(ask[q.Name], q.Max)
			}
			return ask[q.Name]
		}
		for _, q := range list {
			sum, wanted = sum+share[q.Name], wanted+want(q)
			for _, x := range list {
				if share[q.Name] < want(q) && (share[q.Name]+1)*x.Weight < (share[x.Name]-1)*q.Weight {
					t.Fatalf("%s with weight %d gets %d of %d, and %s with weight %d gets %d", q.Name, q.Weight, share[q.Name], want(q), x.Name, x.Weight, share[x.Name])
				}
			}
		}
		if sum != min(wanted, capacity) {
			t.Fatalf("%d is given, want %d of %d", sum, wanted, capacity)
		}
	})
}

// TestTreesThatCannotBeKept lists what is refused.
func TestTreesThatCannotBeKept(t *testing.T) {
	q := func(name, parent string, least, most protocol.Milli) protocol.Quota {
		return protocol.Quota{Name: name, Parent: parent, Min: least, Max: most, Weight: 1}
	}
	many := make([]protocol.Quota, maxNodes+1)
	for _, c := range []struct {
		why   string
		list  []protocol.Quota
		field string
	}{
		{"no name", []protocol.Quota{q("", "", 0, 0)}, "name"},
		{"a name twice", []protocol.Quota{q("a", "", 0, 0), q("a", "", 0, 0)}, "name"},
		{"a parent that is not there", []protocol.Quota{q("a", "b", 0, 0)}, "parent"},
		{"a cycle", []protocol.Quota{q("a", "b", 0, 0), q("b", "a", 0, 0)}, "parent"},
		{"its own parent", []protocol.Quota{q("a", "a", 0, 0)}, "parent"},
		{"a negative min", []protocol.Quota{q("a", "", -1, 0)}, "min"},
		{"a max below its min", []protocol.Quota{q("a", "", 5, 4)}, "max"},
		{"children beyond their parent", []protocol.Quota{q("a", "", 5, 0), q("b", "a", 3, 0), q("c", "a", 3, 0)}, "min"},
		{"children of all others", []protocol.Quota{q("*", "", 5, 0), q("b", "*", 3, 0)}, "parent"},
		{"an endless amount", []protocol.Quota{q("a", "", 1<<62, 0)}, "min"},
		{"a negative weight", []protocol.Quota{{Name: "a", Weight: -1}}, "weight"},
		{"more kept than guaranteed", []protocol.Quota{{Name: "a", Min: 1, Kept: 2}}, "lend"},
		{"too many", many, ""},
	} {
		_, err := NewTree(c.list)
		if f, ok := err.(Fault); !ok || f.Field != c.field || f.Problem == "" {
			t.Errorf("%s: error %#v, want a fault of %q", c.why, err, c.field)
		}
	}
}

// BenchmarkShares divides among 1,000 tenants in 30 groups.
func BenchmarkShares(b *testing.B) {
	var list []protocol.Quota
	ask := make(map[string]protocol.Milli)
	for g := range 30 {
		list = append(list, protocol.Quota{Name: fmt.Sprintf("g%d", g), Min: 400000, Weight: 1000})
	}
	for i := range 1000 {
		name := fmt.Sprintf("t%d", i)
		list = append(list, protocol.Quota{Name: name, Parent: fmt.Sprintf("g%d", i%30), Min: 8000, Max: 64000, Weight: protocol.Milli(1000 + i%7)})
		ask[name] = protocol.Milli(i%50) * 1000
	}
	tree, err := NewTree(list)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		tree.Shares(10_000_000, ask)
	}
}
