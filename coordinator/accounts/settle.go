package accounts

import "github.com/gridbid/gridbid/protocol"

// A Payment names the rule by which a site is paid for a finished job.
type Payment string

// Payments (docs/method.md, section 8).
const (
	Settled    Payment = "settled"     // the measured cost of energy, the margin and the site's tariff
	FirstPrice Payment = "first-price" // the bid, whatever was measured, and the site's tariff
)

// A PaymentRule is the payment rule of a federation. Its zero value is
// [Settled] without margin.
type PaymentRule struct {
	Pay    Payment        // "" means Settled
	Margin protocol.Milli // thousandths of the energy's cost, added under Settled; 0..1000
}

// InvalidReason returns what is wrong with the rule and which values are valid, or "".
func (r PaymentRule) InvalidReason() string {
	switch {
	case r.Pay != "" && r.Pay != Settled && r.Pay != FirstPrice:
		return "payment: want settled or first-price, not " + string(r.Pay)
	case r.Margin < 0 || r.Margin > 1000:
		return "margin: want 0..1000 thousandths of the cost"
	}
	return ""
}

// SettlementAmount returns what the tenant pays the site for a job, from what its energy costs by its bid and as
// measured, and from what the site's tariff comes to for the run.
//
// Energy can have a negative price in an hour of surplus. The payment is then
// negative too, but the margin still goes to the site: it is computed from the
// absolute cost and rounded towards zero.
func SettlementAmount(bid, measured, tariff protocol.Microdollars, rule PaymentRule) protocol.Microdollars {
	if rule.Pay == FirstPrice {
		return bid + tariff
	}
	size := max(measured, -measured)
	// Divide in two parts, so that the product cannot overflow.
	margin := size/1000*protocol.Microdollars(rule.Margin) + size%1000*protocol.Microdollars(rule.Margin)/1000
	return measured + margin + tariff
}
