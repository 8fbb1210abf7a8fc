package accounts

import "github.com/gridbid/gridbid/protocol"

// A Payment names how a finished job is paid for.
type Payment string

// Payments. METHOD: a site is paid for work.
const (
	Settled    Payment = "settled"     // the measured cost of energy, and the margin on it
	FirstPrice Payment = "first-price" // what was bid, whatever was measured
)

// A Rule is how a federation pays. The zero Rule is [Settled] at cost.
type Rule struct {
	Pay    Payment        // "" is Settled
	Margin protocol.Milli // of the energy's cost, paid on top under Settled; 0..1000
}

// Check returns what is wrong with the rule, in words for who wrote it, or "".
func (r Rule) Check() string {
	switch {
	case r.Pay != "" && r.Pay != Settled && r.Pay != FirstPrice:
		return "payment: want settled or first-price, not " + string(r.Pay)
	case r.Margin < 0 || r.Margin > 1000:
		return "margin: want 0..1000 thousandths of the cost"
	}
	return ""
}

// Settle returns what the tenant pays the site for a job that was bid at one
// bill and measured at another.
//
// Energy may cost less than nothing in an hour of surplus. The payment is then
// negative too, and the margin still goes to the site: it is taken of the
// cost's size, rounded towards zero.
func Settle(bid, measured protocol.Bill, rule Rule) protocol.Microdollars {
	if rule.Pay == FirstPrice {
		return bid.Money
	}
	cost := measured.Money
	size := max(cost, -cost)
	// Split so that the product cannot overflow before the division.
	margin := size/1000*protocol.Microdollars(rule.Margin) + size%1000*protocol.Microdollars(rule.Margin)/1000
	return cost + margin
}
