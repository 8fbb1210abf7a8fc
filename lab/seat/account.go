package seat

import (
	"math"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// An account adds up what a day has cost so far: its objective (docs/method.md, section 1), as far as
// it is settled. Energy and carbon are those of History's running sums, idle machines included;
// transfer, delay and lateness of a job count when it ends.
type account struct {
	history *history.History
	meta    history.Meta
	other   protocol.Microdollars            // transfer, delay and lateness of ended jobs
	told    protocol.Microdollars            // of the sum, what rewards have said
	settled []settledJob                     // since the last reward
	profits map[string]protocol.Microdollars // of sites, since their last reward: what they were paid less what their energy cost
}

// newAccount returns the account of a run that is folded into a history.
func newAccount(h *history.History, s spec.Scenario, policy string) account {
	return account{history: h, meta: scenarios.RunMetadata(s, policy), profits: make(map[string]protocol.Microdollars)}
}

// A settledJob is a job that ended, with what it cost alone, without idle machines.
type settledJob struct {
	job  protocol.JobID
	cost protocol.Microdollars
}

// addMessage adds a message that the history has folded.
func (a *account) addMessage(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.Settlement:
		a.profits[b.Site] += b.Paid - b.Counted.Money
		if !b.Part {
			a.settleJob(b.Job)
		}
	case protocol.Reject:
		if b.Why.Code != protocol.Duplicate {
			a.settleJob(b.Job)
		}
	}
}

// settleJob adds a job that ended, or was refused.
func (a *account) settleJob(id protocol.JobID) {
	rec, ok := a.history.LatestJob(id)
	if !ok {
		return
	}
	other := rec.NonEnergyCost(a.meta).Total()
	a.other += other
	var bill protocol.Usage
	if rec.Run != nil {
		bill = rec.Run.Cost
	}
	for _, p := range rec.Parts {
		bill = bill.Plus(p.Cost)
	}
	a.settled = append(a.settled, settledJob{id, other + bill.Money + a.meta.Weights.CarbonCost(bill.Carbon)})
}

// takeCost returns what was settled since the last call.
func (a *account) takeCost() protocol.Microdollars {
	sum := a.other
	if spent := a.history.RunningCosts(); len(spent) > 0 {
		last := spent[len(spent)-1]
		sum += last.Money + a.meta.Weights.CarbonCost(last.Carbon)
	}
	return a.tell(sum)
}

// takeProfit returns what a site earned since the last call.
func (a *account) takeProfit(site string) protocol.Microdollars {
	p := a.profits[site]
	delete(a.profits, site)
	return p
}

// takeRest returns what is left of the objective of the whole run, so that all that was returned
// adds up to it.
func (a *account) takeRest(t history.Totals) protocol.Microdollars {
	return a.tell(protocol.Microdollars(math.Round(t.ObjectiveUSD * 1e6)))
}

// tell returns what a sum has grown by.
func (a *account) tell(sum protocol.Microdollars) protocol.Microdollars {
	grown := sum - a.told
	a.told = sum
	return grown
}

// takeSettled returns the jobs that were settled since the last call, valid until the next message.
func (a *account) takeSettled() []settledJob {
	out := a.settled
	a.settled = a.settled[:0]
	return out
}
