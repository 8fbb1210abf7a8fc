package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// PriceMarkups are the energy prices that a site bids in the study of payments, in
// thousandths of its real price. 1000 is the truth.
var PriceMarkups = []protocol.Milli{700, 850, 1000, 1150, 1300}

// A MisreportRow is the result for one site of a day on which it misreported its energy price
// and all other sites were truthful. Sums are in dollars, over the jobs that the site ran.
type MisreportRow struct {
	Scenario string  `json:"scenario"`
	Site     string  `json:"site"`
	Paid     string  `json:"paid"`  // basis of payments: "bid" or "measured"
	Price    float64 `json:"price"` // bid price over real price
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"`
	CostUSD  float64 `json:"cost_usd"` // measured cost of their energy

	// The site's profit under each rule. A market that pays by bids takes bids as they
	// are; one that pays by measurement recomputes them from the site's own prices. So
	// the first two are from runs of the one market, the last from runs of the other.
	FirstPrice  float64 `json:"first_price_profit_usd,omitempty"`  // paid its bid
	SecondPrice float64 `json:"second_price_profit_usd,omitempty"` // paid the highest bid with which it would still have won
	Settled     float64 `json:"settled_profit_usd,omitempty"`      // paid its measured cost plus a tenth

	Rivals       int     `json:"rivals"`        // number of Jobs for which another site bid, too
	ObjectiveUSD float64 `json:"objective_usd"` // of all jobs of the federation, by measurement
}

// RunPaymentStudy replays a scenario under the auction with each of the named sites bidding
// each of PriceMarkups in turn, once in a market that pays bids and once in one that pays
// measured costs.
func RunPaymentStudy(ctx context.Context, s spec.Scenario, sites []string, progress func(format string, args ...any)) (out []MisreportRow, err error) {
	for _, name := range sites {
		at := slices.IndexFunc(s.Sites, func(x spec.Site) bool { return x.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("bench: %s has no site %q", s.Name, name)
		}
	}
	// replay runs the day with one misreporting site; "" is none.
	replay := func(site string, price protocol.Milli, pay accounts.Payment) (*history.History, float64, error) {
		x := s
		x.Sites = slices.Clone(s.Sites)
		for i := range x.Sites {
			x.Sites[i].Bids = spec.Misreport{} // truthful, even if the scenario has misreporting sites
			if x.Sites[i].Name == site {
				x.Sites[i].Bids.Price = price
			}
		}
		res, err := scenarios.Replay(ctx, x, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{Pay: pay})
		return res.History, res.Totals.JobsUSD, err
	}
	for _, pay := range []accounts.Payment{accounts.FirstPrice, accounts.Settled} {
		// The truthful run serves all sites: only misreports need runs of their own.
		honest, objective, err := replay("", 1000, pay)
		if err != nil {
			return out, err
		}
		for _, site := range sites {
			for _, price := range PriceMarkups {
				book, sum := honest, objective
				if price != 1000 {
					if book, sum, err = replay(site, price, pay); err != nil {
						return out, err
					}
				}
				row := misreportRowOf(book, site, pay)
				row.Scenario, row.Price, row.ObjectiveUSD = s.Name, float64(price)/1000, sum
				out = append(out, row)
				progress("%s, paid by %s: %s bids %.2f of its cost: %d jobs, profit $%.2f first-price, $%.2f second-price, $%.2f settled; federation $%.2f",
					s.Name, row.Paid, site, row.Price, row.Jobs, row.FirstPrice, row.SecondPrice, row.Settled, sum)
			}
		}
	}
	return out, nil
}

// Bases of payments, values of MisreportRow.Paid.
const (
	paidByBid         = "bid"
	paidByMeasurement = "measured"
)

// misreportRowOf returns the sums over the jobs that a site ran to their end.
func misreportRowOf(book *history.History, site string, pay accounts.Payment) MisreportRow {
	out := MisreportRow{Site: site, Paid: paidByBid}
	if pay == accounts.Settled {
		out.Paid = paidByMeasurement
	}
	for _, id := range book.JobIDs() {
		r, _ := book.LatestJob(id)
		a := r.CurrentAward()
		if a == nil || r.Run == nil || r.Run.Site != site || !r.HasEnded() {
			continue
		}
		cost, bid := r.Run.Cost.Money.InDollars(), a.Option.Money.InDollars()
		more, rival := winnersMargin(r, *a)
		out.Jobs++
		if rival {
			out.Rivals++
		}
		out.GPUHours += float64(r.Job.TotalGPUMilli()) / 1000 * r.Run.Ended.Sub(r.Run.Started).Hours()
		out.CostUSD += cost
		if out.Paid == paidByMeasurement {
			// A tenth of the measured cost, also where prices are negative.
			out.Settled += max(cost, -cost) / 10
			continue
		}
		out.FirstPrice += bid - cost
		out.SecondPrice += bid + more - cost
	}
	return out
}

// winnersMargin returns how much more the winner could have bid until another site's cheapest
// option would have cost the market less, and whether another site bid at all. The margin
// is 0 without such an option, and if that option was cheaper but did not fit.
func winnersMargin(r history.JobRecord, a history.Decision) (dollars float64, rival bool) {
	for _, h := range r.FullRounds {
		if h.Round != a.Round {
			continue
		}
		// What the market compares: cost terms and the price of capacity.
		total := func(p history.PricedOption) protocol.Microdollars { return p.Terms.Total() + p.Room }
		least := total(a.Option)
		for _, answer := range h.Answers {
			if answer.Site == a.Site || len(answer.Options) == 0 || answer.Late {
				continue
			}
			best := total(slices.MinFunc(answer.Options, func(x, y history.PricedOption) int { return int(total(x) - total(y)) }))
			if more := (best - least).InDollars(); !rival || more < dollars {
				dollars, rival = more, true
			}
		}
	}
	return max(dollars, 0), rival
}

// WritePaymentsMarkdown writes rows as a table, and for each rule what the most profitable
// misreport of each site gained over the truth.
func WritePaymentsMarkdown(w io.Writer, rows []MisreportRow) error {
	b := new(strings.Builder)
	fmt.Fprintf(b, "| day | paid by | site | bids | jobs | GPU-hours | cost $ | profit first-price $ | second-price $ | settled $ | federation %% |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	truth := honestRows(rows)
	for _, r := range rows {
		profit := fmt.Sprintf("%.2f | %.2f |", r.FirstPrice, r.SecondPrice)
		if r.Paid == paidByMeasurement {
			profit = "| |"
		}
		last := ""
		if r.Paid == paidByMeasurement {
			last = fmt.Sprintf("%.2f", r.Settled)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %.2f | %d | %.0f | %.2f | %s %s | %+.2f |\n", r.Scenario, r.Paid, r.Site, r.Price,
			r.Jobs, r.GPUHours, r.CostUSD, profit, last, 100*(r.ObjectiveUSD/truth[r.rowKey()].ObjectiveUSD-1))
	}
	fmt.Fprintf(b, "\nGain of each site's most profitable misreport over the truth, and its cost to the federation:\n\n| rule | gained $: median [lowest..highest] | sites that gain | federation %% |\n|---|--:|--:|--:|\n")
	for _, l := range MisreportGains(rows) {
		fmt.Fprintf(b, "| %s | %s | %d of %d | %s |\n", l.Rule, distributionOf(l.Gained).medianText(1, 2), l.Gainers, len(l.Gained), distributionOf(l.Lost).medianText(100, 2))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rowKey identifies the rows that differ only in the markup.
func (r MisreportRow) rowKey() string { return r.Scenario + "/" + r.Site + "/" + r.Paid }

// honestRows returns the rows with the true price, by key.
func honestRows(rows []MisreportRow) map[string]MisreportRow {
	truth := make(map[string]MisreportRow)
	for _, r := range rows {
		if r.Price == 1 {
			truth[r.rowKey()] = r
		}
	}
	return truth
}

// A MisreportGain is the effect of the most profitable misreports under one payment rule, with
// an entry for each site and day; 0 where the truth is the most profitable.
type MisreportGain struct {
	Rule    string
	Gained  []float64 // dollars, by the site
	Lost    []float64 // increase of the federation's objective, as a fraction
	Gainers int       // sites that gain half a cent or more
}

// MisreportGains returns the effect of the most profitable misreports by payment rule.
func MisreportGains(rows []MisreportRow) (out []MisreportGain) {
	truth := honestRows(rows)
	for _, rule := range []struct {
		name, paid string
		of         func(MisreportRow) float64
	}{
		{"first-price", paidByBid, func(r MisreportRow) float64 { return r.FirstPrice }},
		{"second-price", paidByBid, func(r MisreportRow) float64 { return r.SecondPrice }},
		{"settled", paidByMeasurement, func(r MisreportRow) float64 { return r.Settled }},
	} {
		best := make(map[string]MisreportRow)
		var order []string
		for _, r := range rows {
			if r.Paid != rule.paid {
				continue
			}
			x, ok := best[r.rowKey()]
			if !ok {
				order = append(order, r.rowKey())
				x = truth[r.rowKey()]
				best[r.rowKey()] = x
			}
			// The most profitable misreport of a site, or the truth.
			if rule.of(r) > rule.of(x) {
				best[r.rowKey()] = r
			}
		}
		t := MisreportGain{Rule: rule.name}
		for _, key := range order {
			gain := rule.of(best[key]) - rule.of(truth[key])
			t.Gained = append(t.Gained, gain)
			t.Lost = append(t.Lost, best[key].ObjectiveUSD/truth[key].ObjectiveUSD-1)
			if gain > 0.005 {
				t.Gainers++
			}
		}
		out = append(out, t)
	}
	return out
}

// MisreportStudySites returns the sites at which a misreport should have the most effect: the
// cheapest, the cleanest and the most expensive.
func MisreportStudySites(s spec.Scenario) []string {
	var out []string
	for _, i := range []int{cheapestSite(s), cleanestSite(s), mostExpensiveSite(s)} {
		if name := s.Sites[i].Name; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
