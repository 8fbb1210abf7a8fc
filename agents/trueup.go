package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A provisionalBill is energy that was priced before price and carbon of its hour were
// published: signal sources are late, by an hour and more. The usage report of a job does not
// wait for them, because the market offers the freed capacity as soon as it comes; the site
// corrects its sums when they are published (decision 0257).
type provisionalBill struct {
	energy protocol.HourlyEnergy
	billed protocol.Usage
	idle   bool // of idle draw or of a lost run; false: of a job
}

// maxSettlementDelay is how long after its hour a bill may be corrected. A source that is silent
// for longer does not make up for it, and a restarted agent has forgotten its provisional bills.
const maxSettlementDelay = 48 * time.Hour

// billEnergy prices energy by hour, and remembers what it could price only provisionally.
func (a *Agent) billEnergy(drawn []protocol.HourlyEnergy, idle bool) (sum protocol.Usage) {
	for _, s := range drawn {
		bill, _ := a.grid.PriceEnergy([]protocol.HourlyEnergy{s})
		if !a.grid.HasFacts(s.Hour) {
			a.provisional = append(a.provisional, provisionalBill{s, bill, idle})
		}
		sum = sum.Plus(bill)
	}
	return sum
}

// correctBills reports, by hour, by how much the bills of hours change whose price and carbon
// have been published since. Energy of devices never changes.
func (a *Agent) correctBills(now protocol.Time) (msgs []protocol.Message) {
	changes := make(map[protocol.Time]*protocol.SiteUsage)
	var hours []protocol.Time
	a.provisional = slices.DeleteFunc(a.provisional, func(p provisionalBill) bool {
		if !a.grid.HasFacts(p.energy.Hour) {
			return p.energy.Hour < now.Add(-maxSettlementDelay)
		}
		bill, _ := a.grid.PriceEnergy([]protocol.HourlyEnergy{p.energy})
		change := bill.Minus(p.billed)
		if change.IsZero() {
			return true
		}
		u := changes[p.energy.Hour]
		if u == nil {
			u = &protocol.SiteUsage{Hour: p.energy.Hour}
			changes[p.energy.Hour], hours = u, append(hours, p.energy.Hour)
		}
		if p.idle {
			u.Idle = u.Idle.Plus(change)
		} else {
			u.Jobs = u.Jobs.Plus(change)
		}
		return true
	})
	slices.Sort(hours)
	for _, h := range hours {
		if u := *changes[h]; !u.Idle.IsZero() || !u.Jobs.IsZero() {
			msgs = append(msgs, a.messageTo(now, protocol.Coordinator, u)...)
		}
	}
	return msgs
}
