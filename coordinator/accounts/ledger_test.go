package accounts

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func TestBalancesAddUpToZero(t *testing.T) {
	accounts := []Account{Tenant("a"), Tenant("b"), Site("a"), Site("oslo"), ""}
	rapid.Check(t, func(t *rapid.T) {
		var l Ledger
		for range rapid.IntRange(0, 60).Draw(t, "moves") {
			from, to := rapid.SampledFrom(accounts).Draw(t, "from"), rapid.SampledFrom(accounts).Draw(t, "to")
			amount := protocol.Microdollars(rapid.OneOf(
				rapid.Int64Range(-5, 5),
				rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, int64(Limit), -int64(Limit), 2 * int64(Limit), int64(Limit) + 1}),
			).Draw(t, "amount"))
			was := [2]protocol.Microdollars{l.Balance(from), l.Balance(to)}
			ok := l.Move(from, to, amount)
			if now := [2]protocol.Microdollars{l.Balance(from), l.Balance(to)}; !ok && now != was {
				t.Fatalf("Move(%s, %s, %d) was refused, but balances went from %d to %d", from, to, amount, was, now)
			} else if ok && from != to && now[1]-was[1] != amount {
				t.Fatalf("Move(%s, %s, %d) moved %d", from, to, amount, now[1]-was[1])
			}
			var sum protocol.Microdollars
			for _, a := range l.Accounts() {
				if b := l.Balance(a); b > Limit || b < -Limit {
					t.Fatalf("balance of %s is %d, over the limit", a, b)
				}
				sum += l.Balance(a)
			}
			if sum != 0 {
				t.Fatalf("after Move(%s, %s, %d) balances add up to %d; want 0", from, to, amount, sum)
			}
		}
	})
}

func TestATenantAndASiteOfOneNameAreTwoAccounts(t *testing.T) {
	if Tenant("oslo") == Site("oslo") {
		t.Errorf("Tenant(oslo) = Site(oslo) = %q", Site("oslo"))
	}
}

func TestSettle(t *testing.T) {
	for _, tc := range []struct {
		name          string
		bid, measured protocol.Microdollars
		rule          Rule
		want          protocol.Microdollars
	}{
		{"the zero rule pays what was measured", 500, 700, Rule{}, 700},
		{"a margin is paid on the measured cost", 500, 2000, Rule{Pay: Settled, Margin: 50}, 2100},
		{"a margin below one microdollar is cut", 0, 9, Rule{Margin: 100}, 9},
		{"energy that costs less than nothing leaves the site its margin", 0, -2000, Rule{Margin: 100}, -1800},
		{"first price pays the bid, whatever was measured", 500, 700, Rule{Pay: FirstPrice, Margin: 50}, 500},
		{"the largest cost does not overflow on its way to the margin", 0, 4e18, Rule{Margin: 1000}, 8e18},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Settle(protocol.Bill{Money: tc.bid}, protocol.Bill{Money: tc.measured}, tc.rule)
			if got != tc.want {
				t.Errorf("Settle(%d bid, %d measured, %+v) = %d; want %d", tc.bid, tc.measured, tc.rule, got, tc.want)
			}
		})
	}
}

func TestRuleCheck(t *testing.T) {
	for _, tc := range []struct {
		name string
		rule Rule
		ok   bool
	}{
		{"the zero rule is a rule", Rule{}, true},
		{"first price is a rule", Rule{Pay: FirstPrice}, true},
		{"a margin as large as the cost is the most", Rule{Margin: 1000}, true},
		{"a margin above the cost is a mistake", Rule{Margin: 1001}, false},
		{"a negative margin is a mistake", Rule{Margin: -1}, false},
		{"an unknown payment is an error", Rule{Pay: "gift"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.rule.Check(); (got == "") != tc.ok {
				t.Errorf("%+v.Check() = %q; want ok %v", tc.rule, got, tc.ok)
			}
		})
	}
}
