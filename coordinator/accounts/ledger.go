// Package accounts keeps who owes what, says what a finished job pays, and
// remembers how true each site's bids have been.
//
// Promises: all balances add up to zero after any moves; a payment depends on
// the bid, the measurement and the rule alone; a site's trust depends on its
// own last [Memory] jobs alone.
//
// Who wins, and at what effective cost, is decided in coordinator/market.
package accounts

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// An Account is one party's place in the books. Tenants and sites have names
// of their own, so the two kinds are kept apart: see [Tenant] and [Site].
type Account string

// Tenant returns the account of who pays for jobs.
func Tenant(name string) Account { return Account("tenant/" + name) }

// Site returns the account of who runs jobs.
func Site(name string) Account { return Account("site/" + name) }

// Limit bounds a balance on either side of zero: a billion dollars. It is far
// above any real bill, and so low that sums of balances cannot overflow.
const Limit protocol.Microdollars = 1e15

// A Ledger holds every balance. The zero Ledger is ready to use.
//
// Invariant: balances add up to zero, and each is within ±[Limit].
type Ledger struct {
	balance map[Account]protocol.Microdollars
}

// Move takes amount from one account to another; a negative amount goes the
// other way. It reports false, and moves nothing, if a balance would pass
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

// Bring puts back what moves that nobody remembers came to for an account. The
// caller brings all accounts, so that balances add up to zero.
func (l *Ledger) Bring(a Account, amount protocol.Microdollars) {
	if l.balance == nil {
		l.balance = make(map[Account]protocol.Microdollars)
	}
	l.balance[a] += amount
}

// Balance returns what an account has gained, or owes if negative.
func (l *Ledger) Balance(a Account) protocol.Microdollars { return l.balance[a] }

// Accounts returns every account that was ever moved to or from, by name.
func (l *Ledger) Accounts() []Account { return slices.Sorted(maps.Keys(l.balance)) }
