package agents

import (
	"cmp"
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

// usageByMonth returns what of a run's usage is of which month, by the hours of its energy, if the market
// asked for that and there are several. What moving the input emitted is of the first.
func (a *Agent) usageByMonth(l *activeRun, drawn []protocol.HourlyEnergy) (all []protocol.MonthUsage) {
	if !l.byMonth {
		return nil
	}
	for _, s := range drawn {
		bill, _ := a.grid.PriceEnergy([]protocol.HourlyEnergy{s})
		month := protocol.MonthOf(s.Hour)
		i, known := slices.BinarySearchFunc(all, month, func(u protocol.MonthUsage, m protocol.Time) int { return cmp.Compare(u.Month, m) })
		if !known {
			all = slices.Insert(all, i, protocol.MonthUsage{Month: month})
		}
		all[i].Carbon, all[i].Money = all[i].Carbon+bill.Carbon, all[i].Money+bill.Money
	}
	if len(all) < 2 {
		return nil
	}
	all[0].Carbon += l.transferCarbon
	return all
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
