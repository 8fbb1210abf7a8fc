// Package accounts is the double-entry accounting of the market: it holds the
// balances of tenants and sites, computes the payment for a finished job, and
// rates how well each site's measurements match its bids (its trust factor).
//
// Promises: all balances add up to zero after any moves; a payment depends only
// on the bid, the measurement and the rule; a site's trust depends only on its
// own last [Memory] jobs.
//
// coordinator/market decides who wins, and at what effective cost.
package accounts

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// An Account names one party's balance. Tenants and sites choose names
// independently, so [Tenant] and [Site] give the two kinds different prefixes.
type Account string

// Tenant returns the account of a tenant, who pays for jobs.
func Tenant(name string) Account { return Account("tenant/" + name) }

// Site returns the account of a site, which is paid for running jobs.
func Site(name string) Account { return Account("site/" + name) }

// Limit bounds a balance on either side of zero: a billion dollars. It is far
// above any real bill, and low enough that sums of balances fit into an int64.
const Limit protocol.Microdollars = 1e15

// A Ledger holds all balances. The zero Ledger is ready to use.
//
// Invariant: balances add up to zero, and each is within ±[Limit].
type Ledger struct {
	balance map[Account]protocol.Microdollars
}

// Move transfers amount from one account to another; a negative amount goes the
// other way. It returns false, and transfers nothing, if a balance would pass
// [Limit]: only a broken or hostile measurement is that large.
func (l *Ledger) Move(from, to Account, amount protocol.Microdollars) bool {
	if amount < -2*Limit || amount > 2*Limit {
		return false
	}
	if from == to {
		return true
	}
	less, more := l.balance[from]-amount, l.balance[to]+amount
	if less < -Limit || less > Limit || more < -Limit || more > Limit {
		return false
	}
	if l.balance == nil {
		l.balance = make(map[Account]protocol.Microdollars)
	}
	l.balance[from], l.balance[to] = less, more
	return true
}

// Bring restores an account's balance from a snapshot, which replaces the single
// transfers. The caller must restore all accounts of the snapshot, so that the
// balances add up to zero.
func (l *Ledger) Bring(a Account, amount protocol.Microdollars) {
	if l.balance == nil {
		l.balance = make(map[Account]protocol.Microdollars)
	}
	l.balance[a] += amount
}

// Balance returns what an account has received minus what it has paid.
func (l *Ledger) Balance(a Account) protocol.Microdollars { return l.balance[a] }

// Accounts returns all accounts that took part in a transfer, sorted by name.
func (l *Ledger) Accounts() []Account { return slices.Sorted(maps.Keys(l.balance)) }
