package leader

import (
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// listQuotasBy returns what lists the quotas of a market, in the units of the API.
func listQuotasBy(m *market.Market) api.ListQuotas {
	gpus := func(v protocol.Milli) float64 { return float64(v) / 1000 }
	return func(now protocol.Time) (all []api.QuotaReply) {
		for _, s := range m.QuotaStatuses(now) {
			q := api.QuotaReply{
				Name: s.Name, Parent: s.Parent, Min: gpus(s.Min), Max: gpus(s.Max), Weight: gpus(s.Weight), Lend: gpus(s.Min - s.Kept), Band: s.Band,
				Running: gpus(s.Running[""]), Planned: gpus(s.Planned[""]),
			}
			for _, x := range s.Models {
				q.Models = append(q.Models, api.ModelQuotaReply{
					Model: x.Model, Min: gpus(x.Min), Max: gpus(x.Max), Weight: gpus(x.Weight), Lend: gpus(x.Min - x.Kept), Band: x.Band,
					Running: gpus(s.Running[x.Model]), Planned: gpus(s.Planned[x.Model]),
				})
			}
			month := s.Month.StdTime().UTC().Format("2006-01")
			if s.Budget != 0 {
				q.Budget = &api.BudgetReply{
					Month: month, Amount: s.Budget.InDollars(), Overrun: s.Overrun.Money.InDollars(), Spent: s.Spent.Money.InDollars(),
					Reserved: s.Reserved.Money.InDollars(), Left: s.Left.Money.InDollars(),
				}
			}
			if s.CarbonBudget != 0 {
				q.CarbonBudget = &api.BudgetReply{
					Month: month, Amount: s.CarbonBudget.InKilograms(), Overrun: s.Overrun.Carbon.InKilograms(), Spent: s.Spent.Carbon.InKilograms(),
					Reserved: s.Reserved.Carbon.InKilograms(), Left: s.Left.Carbon.InKilograms(),
				}
			}
			all = append(all, q)
		}
		return all
	}
}
