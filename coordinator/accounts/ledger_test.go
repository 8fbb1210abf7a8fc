package accounts

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

func TestBalancesAddUpToZero(t *testing.T) {
	accounts := []Account{TenantAccount("a"), TenantAccount("b"), SiteAccount("a"), SiteAccount("oslo"), ""}
	rapid.Check(t, func(t *rapid.T) {
		var l Balances
		for range rapid.IntRange(0, 60).Draw(t, "moves") {
			from, to := rapid.SampledFrom(accounts).Draw(t, "from"), rapid.SampledFrom(accounts).Draw(t, "to")
			amount := protocol.Microdollars(rapid.OneOf(
				rapid.Int64Range(-5, 5),
				rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, int64(MaxBalance), -int64(MaxBalance), 2 * int64(MaxBalance), int64(MaxBalance) + 1}),
			).Draw(t, "amount"))
			was := [2]protocol.Microdollars{l.BalanceOf(from), l.BalanceOf(to)}
			ok := l.Transfer(from, to, amount)
			if now := [2]protocol.Microdollars{l.BalanceOf(from), l.BalanceOf(to)}; !ok && now != was {
				t.Fatalf("Transfer(%s, %s, %d) was refused, but balances went from %d to %d", from, to, amount, was, now)
			} else if ok && from != to && now[1]-was[1] != amount {
				t.Fatalf("Transfer(%s, %s, %d) moved %d", from, to, amount, now[1]-was[1])
			}
			var sum protocol.Microdollars
			for _, a := range l.AccountNames() {
				if b := l.BalanceOf(a); b > MaxBalance || b < -MaxBalance {
					t.Fatalf("balance of %s is %d, over the limit", a, b)
				}
				sum += l.BalanceOf(a)
			}
			if sum != 0 {
				t.Fatalf("after Transfer(%s, %s, %d) balances add up to %d; want 0", from, to, amount, sum)
			}
		}
	})
}

func TestATenantAndASiteOfOneNameAreTwoAccounts(t *testing.T) {
	if TenantAccount("oslo") == SiteAccount("oslo") {
		t.Errorf("TenantAccount(oslo) = SiteAccount(oslo) = %q", SiteAccount("oslo"))
	}
}

func TestSettle(t *testing.T) {
	for _, tc := range []struct {
		name          string
		bid, measured protocol.Microdollars
		tariff        protocol.Microdollars
		rule          PaymentRule
		want          protocol.Microdollars
	}{
		{"the zero rule pays what was measured", 500, 700, 0, PaymentRule{}, 700},
		{"a margin is paid on the measured cost", 500, 2000, 0, PaymentRule{Pay: Settled, Margin: 50}, 2100},
		{"a margin below one microdollar is cut", 0, 9, 0, PaymentRule{Margin: 100}, 9},
		{"energy that costs less than nothing leaves the site its margin", 0, -2000, 0, PaymentRule{Margin: 100}, -1800},
		{"a tariff is paid beside energy and margin, which does not grow with it", 500, 2000, 400, PaymentRule{Margin: 50}, 2500},
		{"a tariff is paid beside the bid, too", 500, 700, 400, PaymentRule{Pay: FirstPrice}, 900},
		{"first price pays the bid, whatever was measured", 500, 700, 0, PaymentRule{Pay: FirstPrice, Margin: 50}, 500},
		{"the largest cost does not overflow on its way to the margin", 0, 4e18, 0, PaymentRule{Margin: 1000}, 8e18},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := SettlementAmount(tc.bid, tc.measured, tc.tariff, tc.rule)
			if got != tc.want {
				t.Errorf("SettlementAmount(%d bid, %d measured, %+v) = %d; want %d", tc.bid, tc.measured, tc.rule, got, tc.want)
			}
		})
	}
}

func TestRuleCheck(t *testing.T) {
	for _, tc := range []struct {
		name string
		rule PaymentRule
		ok   bool
	}{
		{"the zero rule is a rule", PaymentRule{}, true},
		{"first price is a rule", PaymentRule{Pay: FirstPrice}, true},
		{"a margin as large as the cost is the most", PaymentRule{Margin: 1000}, true},
		{"a margin above the cost is a mistake", PaymentRule{Margin: 1001}, false},
		{"a negative margin is a mistake", PaymentRule{Margin: -1}, false},
		{"an unknown payment is an error", PaymentRule{Pay: "gift"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.rule.InvalidReason(); (got == "") != tc.ok {
				t.Errorf("%+v.Check() = %q; want ok %v", tc.rule, got, tc.ok)
			}
		})
	}
}
