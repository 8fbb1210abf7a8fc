package market

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// Options of a site that are looked at as one are admitted as those that are looked at one by one, and what their job
// may use counts the same: beside runs of others, at the end of a month, of two models, with and without budgets.
func TestOptionsAreAdmittedAsOneByOne(t *testing.T) {
	refused, admitted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		amount := func(what string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, what) }
		leaf := protocol.Quota{Name: "t", Parent: "g", Weight: 1000}
		if rapid.Bool().Draw(t, "budget") {
			leaf.Budget, leaf.CarbonBudget = 20_000+protocol.Microdollars(amount("money", 100_000)), 60_000+protocol.Milligrams(amount("carbon", 200_000))
		}
		if rapid.Bool().Draw(t, "models") {
			leaf.Models = []protocol.ModelQuota{{Model: "A100", Weight: 1000}}
		}
		group := protocol.Quota{Name: "g", Max: 1000 * protocol.Milli(1+amount("max", 8)), Weight: 1000}
		k := New(Config{}, auction.New(auction.Config{}))
		k.replacePolicy(protocol.Policy{Version: 1, Quotas: []protocol.Quota{group, leaf}})
		now := protocol.NextMonth(noon).Add(-time.Duration(amount("hours left", 40)) * time.Hour)
		grid := &protocol.GridForecast{From: now.Floor(time.Hour)}
		for range 30 {
			grid.PriceOff, grid.CarbonOff = append(grid.PriceOff, protocol.Microdollars(amount("off", 20_000))), append(grid.CarbonOff, 10_000)
		}
		option := func() protocol.BidOption {
			start := now.Add(time.Duration(amount("start", 80)) * 15 * time.Minute)
			return protocol.BidOption{Start: start, Finish: start.Add(time.Duration(1+amount("run", 16)) * 15 * time.Minute), Model: rapid.SampledFrom([]string{"V100", "A100"}).Draw(t, "model"),
				Energy: 720_000_000, Carbon: protocol.Milligrams(amount("grams", 50_000)), Money: protocol.Microdollars(amount("price", 20_000)), Tariff: protocol.Microdollars(amount("tariff", 1)) * 5000}
		}
		u := k.plannedUse(now, &round{}, nil)
		u.quotas.shares["t"] = 1000 * protocol.Milli(1+amount("share", 6))
		for _, m := range u.quotas.models {
			m.shares["t"] = 1000 * protocol.Milli(amount("share of a model", 6))
		}
		for i := range 3 { // runs of others
			o := option()
			other := &protocol.Job{ID: protocol.JobID(fmt.Sprint("other-", i)), Tenant: "t", GPUs: 1, Share: 1000}
			x := useOf(other, "oslo", &o, 1000)
			if k.quotaTree().HasBudgets() {
				x.costs = k.costsOf(nil, new(monthSpan), other, 1000, &o, k.offOf(&o, grid))
			}
			u.updateProfiles(k, []runUse{x}, 1)
		}
		sites := make([][]protocol.BidOption, 1+amount("sites", 3))
		for s := range sites {
			for range 1 + amount("options", 4) {
				sites[s] = append(sites[s], option())
			}
		}
		job := &protocol.Job{ID: "j", Tenant: "t", GPUs: 1 + int(amount("gpus", 3)), Share: 1000}
		var most []runUse // of all that are admitted one by one, each site's as one use, or one for each model
		var together, alone [][]protocol.BidOption
		c := u.openClaim(k, job)
		for s, all := range sites {
			fitting, _ := c.withinUseCaps(fmt.Sprint(s), all, nil, grid)
			together = append(together, fitting)
		}
		one := u.openClaim(k, job)
		for s, all := range sites {
			var fitting []protocol.BidOption
			first := len(most)
			for i := range all {
				x := runUse{job: job, site: fmt.Sprint(s), from: all[i].Start, to: all[i].Finish, gpus: job.TotalGPUMilli(), model: all[i].Model}
				if one.quotas.budgets != nil {
					x.costs = k.costsOf(nil, new(monthSpan), job, x.gpus, &all[i], k.offOf(&all[i], grid))
				}
				if one.quotas.haveRoom(&x) {
					fitting = append(fitting, all[i])
					addUse(&most, first, x, u.quotas.namesModels())
				}
			}
			alone = append(alone, fitting)
			admitted, refused = admitted+len(fitting), refused+len(all)-len(fitting)
		}
		if fmt.Sprint(together) != fmt.Sprint(alone) {
			t.Fatalf("together %v, one by one %v", together, alone)
		}
		u.updateProfiles(k, most, 1)
		want := used(u)
		u.updateProfiles(k, most, -1)
		c.closeClaim()
		if got := used(u); got != want {
			t.Fatalf("together\n%s\none by one\n%s", got, want)
		}
	})
	if admitted == 0 || refused == 0 {
		t.Errorf("%d options were admitted, and %d refused", admitted, refused)
	}
}

// addUse adds a use to those of its site, which are from an index on.
func addUse(all *[]runUse, first int, x runUse, byModel bool) {
	for i := first; i < len(*all); i++ {
		if m := &(*all)[i]; !byModel || m.model == x.model {
			m.from, m.to, m.costs = min(m.from, x.from), max(m.to, x.to), mostCosts(m.costs, x.costs)
			return
		}
	}
	*all = append(*all, x)
}

// used returns what is held, by quarters of an hour, and what is reserved of each budget in each month.
func used(u *plannedUse) (s string) {
	end := protocol.NextMonth(noon)
	for _, q := range append([]*quotaUse{u.quotas}, u.quotas.models...) {
		for _, name := range []string{"t", "g"} {
			s += q.model + " " + name
			for at := end.Add(-40 * time.Hour); q.profiles[name] != nil && at < end.Add(24*time.Hour); at = at.Add(15 * time.Minute) {
				s += fmt.Sprint(" ", q.profiles[name].peakBetween(at, at+1))
			}
		}
	}
	if u.quotas.budgets != nil {
		for _, m := range []protocol.Time{protocol.MonthOf(noon), end} {
			if x := u.quotas.budgets.months[budgetMonth{"t", m}]; x != nil {
				s += fmt.Sprintf("\n%v: %d %d %.3f %.3f", m, x.money.mean, x.carbon.mean, x.money.off, x.carbon.off)
			}
		}
	}
	return s
}
