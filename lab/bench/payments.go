package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/stats"
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
	Draw     int     `json:"draw,omitempty"` // of the day's jobs; 0: its own
	Site     string  `json:"site"`
	Paid     string  `json:"paid"`  // basis of payments: "bid" or "measured"
	Price    float64 `json:"price"` // bid price over real price
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"`
	CostUSD  float64 `json:"cost_usd"` // measured cost of their energy

	// The site's profit under each rule. A market that pays by bids takes bids as they
	// are; one that pays by measurement recomputes them from the site's own prices. So
	// the first three are from runs of the one market, the last from runs of the other.
	FirstPrice  float64 `json:"first_price_profit_usd,omitempty"`  // paid its bid
	SecondPrice float64 `json:"second_price_profit_usd,omitempty"` // paid the highest bid with which it would still have won
	VCG         float64 `json:"vcg_profit_usd,omitempty"`          // paid its bid, and what each round would cost more without it
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
	// replay runs the day with one misreporting site; "" is none. Above is what VCG adds to the bids of
	// each of the studied sites.
	type result struct {
		book      *history.History
		objective float64
		above     []protocol.Microdollars
	}
	replay := func(site string, price protocol.Milli, pay accounts.Payment) (result, error) {
		x := s
		x.Sites = slices.Clone(s.Sites)
		for i := range x.Sites {
			x.Sites[i].Bids = spec.Misreport{} // truthful, even if the scenario has misreporting sites
			if x.Sites[i].Name == site {
				x.Sites[i].Bids.Price = price
			}
		}
		o, v := scenarios.Options{Pay: pay}, vcgRule{ClearingRule: auction.New(auction.Config{}), sites: sites, above: make([]protocol.Microdollars, len(sites))}
		if pay == accounts.FirstPrice {
			o.Rule = func() auction.ClearingRule { return &v }
		}
		res, err := scenarios.Replay(ctx, x, scenarios.PolicyAuction, new(membus.Bus), o)
		return result{res.History, res.Totals.JobsUSD, v.above}, err
	}
	for _, pay := range []accounts.Payment{accounts.FirstPrice, accounts.Settled} {
		// The truthful run serves all sites: only misreports need runs of their own.
		honest, err := replay("", 1000, pay)
		if err != nil {
			return out, err
		}
		for i, site := range sites {
			for _, price := range PriceMarkups {
				run := honest
				if price != 1000 {
					if run, err = replay(site, price, pay); err != nil {
						return out, err
					}
				}
				row := misreportRowOf(run.book, site, pay)
				if pay == accounts.FirstPrice {
					row.VCG = row.FirstPrice + run.above[i].InDollars()
				}
				row.Scenario, row.Price, row.ObjectiveUSD = s.Name, float64(price)/1000, run.objective
				out = append(out, row)
				progress("%s, paid by %s: %s bids %.2f of its cost: %d jobs, profit $%.2f first-price, $%.2f second-price, $%.2f VCG, $%.2f settled; federation $%.2f",
					s.Name, row.Paid, site, row.Price, row.Jobs, row.FirstPrice, row.SecondPrice, row.VCG, row.Settled, run.objective)
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
		ran := r.JobIn(r.Run)
		out.GPUHours += float64(ran.TotalGPUMilli()) / 1000 * r.Run.Ended.Sub(r.Run.Started).Hours()
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

// WritePaymentsMarkdown writes rows as a table, and what each misreport gains under each rule.
func WritePaymentsMarkdown(w io.Writer, rows []MisreportRow) error {
	b := new(strings.Builder)
	fmt.Fprintf(b, "| day | paid by | site | bids | jobs | GPU-hours | cost $ | profit first-price $ | second-price $ | VCG $ | settled $ | federation %% |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	truth := honestRows(rows)
	for _, r := range rows {
		profits := fmt.Sprintf("%.2f | %.2f | %.2f |", r.FirstPrice, r.SecondPrice, r.VCG)
		if r.Paid == paidByMeasurement {
			profits = fmt.Sprintf("| | | %.2f", r.Settled)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %.2f | %d | %.0f | %.2f | %s | %+.2f |\n", r.day(), r.Paid, r.Site, r.Price,
			r.Jobs, r.GPUHours, r.CostUSD, profits, 100*(r.ObjectiveUSD/truth[r.rowKey()].ObjectiveUSD-1))
	}
	gains := MisreportGains(rows)
	fmt.Fprintf(b, "\nWhat a site gains over the truth by bidding so many times its cost, in $, the mean of days and sites with its 95 %% interval, and what the federation pays more, in %%; \\* more than chance:\n\n| rule | bids | gained $ | federation %% |\n|---|--:|--:|--:|\n")
	for _, g := range gains {
		fmt.Fprintf(b, "| %s | %.2f | %s | %s |\n", g.Rule, g.Price, intervalText(g.GainedUSD), intervalText(g.Federation))
	}
	if len(gains) > 0 && !gains[0].GainedUSD.Known() {
		fmt.Fprintf(b, "\nOf fewer than %d days and draws nothing is said of chance: add `--draws %d`.\n", minUnits, 2*minUnits)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// intervalText prints an interval, with a star if it does not hold 0.
func intervalText(i Interval) string {
	switch {
	case !i.Known():
		return fmt.Sprintf("%+.2f", i.Mean)
	case i.WithinChance():
		return fmt.Sprintf("%+.2f [%+.2f..%+.2f]", i.Mean, i.Low, i.High)
	}
	return fmt.Sprintf("%+.2f\\* [%+.2f..%+.2f]", i.Mean, i.Low, i.High)
}

// day names the day and the draw of its jobs.
func (r MisreportRow) day() string {
	if r.Draw == 0 {
		return r.Scenario
	}
	return fmt.Sprintf("%s draw %d", r.Scenario, r.Draw)
}

// rowKey identifies the rows that differ only in the markup.
func (r MisreportRow) rowKey() string {
	return strings.Join([]string{r.day(), r.Site, r.Paid}, "/")
}

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

// A MisreportGain is the effect of one misreport under one payment rule. Each day, and each draw of
// one, is a unit: the mean of the sites that misreport on it, one at a time.
type MisreportGain struct {
	Rule       string   `json:"rule"`
	Price      float64  `json:"price"`      // bid price over real price
	GainedUSD  Interval `json:"gained_usd"` // by the site, over the truth
	Federation Interval `json:"federation"` // increase of the federation's objective, in percent
}

// paymentRules are the rules of the study, with the market that each one's profits are from.
var paymentRules = []struct {
	name, paid string
	profit     func(MisreportRow) float64
}{
	{"first-price", paidByBid, func(r MisreportRow) float64 { return r.FirstPrice }},
	{"second-price", paidByBid, func(r MisreportRow) float64 { return r.SecondPrice }},
	{"VCG", paidByBid, func(r MisreportRow) float64 { return r.VCG }},
	{"settled", paidByMeasurement, func(r MisreportRow) float64 { return r.Settled }},
}

// MisreportGains returns the effect of each misreport by payment rule, in the order of the rules
// and PriceMarkups.
func MisreportGains(rows []MisreportRow) (out []MisreportGain) {
	truth := honestRows(rows)
	for _, rule := range paymentRules {
		for _, markup := range PriceMarkups {
			price := float64(markup) / 1000
			var units []string
			gained, lost := make(map[string][]float64), make(map[string][]float64)
			for _, r := range rows {
				if r.Paid != rule.paid || r.Price != price || price == 1 {
					continue
				}
				unit, honest := r.day(), truth[r.rowKey()]
				if gained[unit] == nil {
					units = append(units, unit)
				}
				gained[unit] = append(gained[unit], rule.profit(r)-rule.profit(honest))
				lost[unit] = append(lost[unit], 100*(r.ObjectiveUSD/honest.ObjectiveUSD-1))
			}
			if len(units) == 0 {
				continue
			}
			g, l := make([]float64, len(units)), make([]float64, len(units))
			for i, unit := range units {
				g[i], _ = stats.MeanAndDeviation(gained[unit])
				l[i], _ = stats.MeanAndDeviation(lost[unit])
			}
			out = append(out, MisreportGain{rule.name, price, bootstrapInterval(g), bootstrapInterval(l)})
		}
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
