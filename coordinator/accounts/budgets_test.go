package accounts

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func monthAt(n int) protocol.Time {
	return protocol.FromStdTime(time.Date(2026, time.January+time.Month(n), 1, 0, 0, 0, 0, time.UTC))
}

// What a month spends beyond its budget is the first line of the next one, and of the one after that as far as
// that has no room for it; what a month leaves is not carried over.
func TestAnOverrunIsTheFirstLineOfTheNextMonth(t *testing.T) {
	var b Budgets
	charge := func(month int, money protocol.Microdollars, version uint64) {
		b.Charge(protocol.BudgetCharge{Quota: "vision", Month: monthAt(month), Money: money, Carbon: 5, Budget: 100, Version: version})
	}
	charge(0, 90, 1)  // leaves 10, which is lost
	charge(1, 350, 1) // 250 beyond
	charge(4, 20, 1)
	limit := Amounts{Money: 100}
	for month, want := range []protocol.Microdollars{0, 0, 250, 150, 50, 0, 0} {
		if overrun, _ := b.SpentIn("vision", monthAt(month), limit); overrun != (Amounts{Money: want}) {
			t.Errorf("month %d begins with %+v, want %d", month, overrun, want)
		}
	}
	if _, spent := b.SpentIn("vision", monthAt(1), limit); spent != (Amounts{350, 5}) {
		t.Errorf("month 1 spent %+v", spent)
	}
	b.SetLimits(monthAt(1).Add(20*24*time.Hour), protocol.Policy{Version: 2, Quotas: []protocol.Quota{{Name: "vision", Budget: 300}}})
	charge(1, 0, 1) // a charge of before, read later
	if overrun, _ := b.SpentIn("vision", monthAt(2), limit); overrun.Money != 50 {
		t.Errorf("after the budget was raised the overrun is %d, want 50", overrun.Money)
	}
	b.SetLimits(monthAt(1).Add(21*24*time.Hour), protocol.Policy{Version: 3})
	if overrun, _ := b.SpentIn("vision", monthAt(2), limit); overrun.Money != 0 {
		t.Errorf("after the budget was removed the overrun is %d", overrun.Money)
	}
}

// The account is the same in whatever order charges and policies are read, and when it is restored from what it
// lists.
func TestBudgetsDoNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies := make([]protocol.Policy, 4)
		for v := range policies {
			policies[v] = protocol.Policy{Version: uint64(v + 1)}
			for _, name := range []string{"a", "b"} {
				budget := protocol.Microdollars(rapid.Int64Range(0, 3).Draw(t, "budget"))
				policies[v].Quotas = append(policies[v].Quotas, protocol.Quota{Name: name, Budget: budget})
			}
		}
		var steps []func(*Budgets)
		for v, p := range policies {
			at := monthAt(v / 2)
			steps = append(steps, func(b *Budgets) { b.SetLimits(at, p) })
		}
		for range rapid.IntRange(0, 12).Draw(t, "charges") {
			v := rapid.IntRange(0, 3).Draw(t, "version")
			q := policies[v].Quotas[rapid.IntRange(0, 1).Draw(t, "quota")]
			c := protocol.BudgetCharge{Quota: q.Name, Month: monthAt(v / 2), Money: protocol.Microdollars(rapid.Int64Range(-2, 5).Draw(t, "money")), Budget: q.Budget, Version: uint64(v + 1)}
			if q.Budget != 0 { // only then it is charged
				steps = append(steps, func(b *Budgets) { b.Charge(c) })
			}
		}
		var one, two, three Budgets
		for _, s := range steps {
			s(&one)
		}
		// As after a restart: what was listed, the last policy once more.
		for _, c := range one.Charges() {
			two.Charge(c)
		}
		two.SetLimits(monthAt(1), policies[3])
		rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "order"))).Shuffle(len(steps), func(i, k int) { steps[i], steps[k] = steps[k], steps[i] })
		for range 2 { // a quota without a budget is known once it was charged, so the policies are read again
			three = Budgets{months: three.months}
			if len(three.months) > 0 {
				for i, p := range policies {
					three.SetLimits(monthAt(i/2), p)
				}
				break
			}
			for _, s := range steps {
				s(&three)
			}
		}
		if !reflect.DeepEqual(one.Charges(), two.Charges()) {
			t.Fatalf("restored\n%+v\nwant\n%+v", two.Charges(), one.Charges())
		}
		if !reflect.DeepEqual(one.Charges(), three.Charges()) {
			t.Fatalf("in another order\n%+v\nwant\n%+v", three.Charges(), one.Charges())
		}
	})
}
