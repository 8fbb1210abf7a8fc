package snapshot_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// A snapshot, also one of a snapshot, keeps what quotas spent of their budgets by dropped jobs, and the budget
// that each month had at its end.
func TestASnapshotKeepsBudgets(t *testing.T) {
	var all []protocol.Message
	coordinator, now := protocol.Sender{Party: protocol.Coordinator}, noon
	say := func(b protocol.Body) { all = append(all, coordinator.NewMessage(now, "", b)) }
	budget := func(version uint64) protocol.Microdollars { return protocol.Microdollars(1000 * (version + 1)) }
	policy := func(version uint64, quotas ...protocol.Quota) {
		say(protocol.Policy{Version: version, By: "ada", Quotas: quotas})
	}
	const jobs = market.MaxWholeEndedJobs + 3000
	for i := range jobs {
		version := uint64(1 + i/3000)
		if i%3000 == 0 {
			if now = now.Add(12 * 24 * time.Hour); version%3 == 0 {
				policy(version) // without budgets
			} else {
				policy(version, protocol.Quota{Name: "lab", Budget: budget(version), CarbonBudget: 7, Weight: 1000})
			}
		}
		j := protocol.Job{ID: protocol.JobID(fmt.Sprint("job-", i)), Tenant: "lab", GPUs: 1, Share: 1000, CPU: 1000, Arrival: now, Run: time.Hour, Deadline: now.Add(4 * time.Hour)}
		say(protocol.Submit{Job: j})
		s := protocol.Settlement{Job: j.ID, Site: "oslo", Payer: "lab", Paid: 3}
		if version%3 != 0 {
			s.Charges = []protocol.BudgetCharge{{Quota: "lab", Month: protocol.MonthOf(now), Money: protocol.Microdollars(i % 7), Carbon: 2, Budget: budget(version), CarbonBudget: 7, Version: version}}
		}
		say(s)
	}
	restored := func(events []protocol.Message) []protocol.BudgetCharge {
		k := market.New(config, auction.New(auction.Config{}))
		for _, m := range events {
			k.Restore(m)
		}
		return k.Budgets().Charges()
	}
	want := restored(all)
	if len(want) < 3 || want[1].Version < 3 {
		t.Fatalf("the budgets are %+v", want)
	}
	one := len(all) / 2
	for name, events := range map[string][]protocol.Message{
		"a snapshot": sum(all), "a snapshot of a snapshot": sum(sum(all[:one]), all[one:]), "what came after": append(sum(all[:one]), all[one:]...),
	} {
		if got := restored(events); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the budgets are\n%+v, not\n%+v", name, got, want)
		}
	}
}
