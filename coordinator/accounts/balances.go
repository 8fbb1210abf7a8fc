// Package accounts is the double-entry accounting of the market: it holds the
// balances of tenants and sites, computes the payment for a finished job, and
// rates how well each site's measurements match its bids and whether it starts what
// it accepted (its trust factor).
//
// Promises: all balances add up to zero after any transfers; a payment depends only
// on the bid, the measurement and the rule; a site's trust depends only on its
// own last [TrustWindow] jobs.
//
// coordinator/market decides who wins, and at what effective cost.
package accounts

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// An Account names one party's balance. Tenants and sites choose names
// independently, so [TenantAccount] and [SiteAccount] give the two kinds different prefixes.
type Account string

// TenantAccount returns the account of a tenant, who pays for jobs.
func TenantAccount(name string) Account { return Account("tenant/" + name) }

// SiteAccount returns the account of a site, which is paid for running jobs.
func SiteAccount(name string) Account { return Account("site/" + name) }

// MaxBalance bounds a balance on either side of zero: a billion dollars. It is far
// above any real bill, and low enough that sums of balances fit into an int64.
const MaxBalance protocol.Microdollars = 1e15

// Balances holds the balances of all accounts. Its zero value is ready to use.
//
// Invariant: balances add up to zero, and each is within ±[MaxBalance].
type Balances struct {
	balance map[Account]protocol.Microdollars
}

// Transfer transfers amount from one account to another; a negative amount goes the
// other way. It returns false, and transfers nothing, if a balance would pass
// [MaxBalance]: only a broken or hostile measurement is that large.
func (l *Balances) Transfer(from, to Account, amount protocol.Microdollars) bool {
	if amount < -2*MaxBalance || amount > 2*MaxBalance {
		return false
	}
	if from == to {
		return true
	}
	less, more := l.balance[from]-amount, l.balance[to]+amount
	if less < -MaxBalance || less > MaxBalance || more < -MaxBalance || more > MaxBalance {
		return false
	}
	if l.balance == nil {
		l.balance = make(map[Account]protocol.Microdollars)
	}
	l.balance[from], l.balance[to] = less, more
	return true
}

// RestoreBalance restores an account's balance from a snapshot, which replaces the single
// transfers. The caller must restore all accounts of the snapshot, so that the
// balances add up to zero.
func (l *Balances) RestoreBalance(a Account, amount protocol.Microdollars) {
	if l.balance == nil {
		l.balance = make(map[Account]protocol.Microdollars)
	}
	l.balance[a] += amount
}

// BalanceOf returns what an account has received minus what it has paid.
func (l *Balances) BalanceOf(a Account) protocol.Microdollars { return l.balance[a] }

// AccountNames returns all accounts that took part in a transfer, sorted by name.
func (l *Balances) AccountNames() []Account { return slices.Sorted(maps.Keys(l.balance)) }
