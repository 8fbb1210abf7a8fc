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

// PriceMarkups are what a site asks for its energy in the study of payments, over
// what it costs, in thousandths. One of them is the truth.
var PriceMarkups = []protocol.Milli{700, 850, 1000, 1150, 1300}

// A MisreportRow is a day in which one site asked for more or less than its energy
// costs and all others told the truth, and what came of it for that site. Sums
// are in dollars, of the jobs that the site ran.
type MisreportRow struct {
	Scenario string  `json:"scenario"`
	Site     string  `json:"site"`
	Paid     string  `json:"paid"`  // by what was "bid" or by what was "measured"
	Price    float64 `json:"price"` // asked, over what it costs
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"`
	CostUSD  float64 `json:"cost_usd"` // of their energy, measured

	// What is left to the site when that is paid. A market that pays by bids takes
	// them as said, one that pays by measurement holds them to the site's own
	// prices: so the first two are of runs of the one, the last is of the other.
	FirstPrice  float64 `json:"first_price_profit_usd,omitempty"`  // paid: what it asked
	SecondPrice float64 `json:"second_price_profit_usd,omitempty"` // paid: what it could have asked and still been cheapest
	Settled     float64 `json:"settled_profit_usd,omitempty"`      // paid: what was measured and a tenth of it

	Rivals       int     `json:"rivals"`        // of Jobs, those that another site offered for too
	ObjectiveUSD float64 `json:"objective_usd"` // of the federation's jobs, by what was measured
}

// RunPaymentStudy plays a scenario with each of the named sites asking each of the
// shades in turn, under the auction, once in a market that pays what was bid and
// once in one that pays what was measured.
func RunPaymentStudy(ctx context.Context, s spec.Scenario, sites []string, say func(format string, args ...any)) (out []MisreportRow, err error) {
	for _, name := range sites {
		at := slices.IndexFunc(s.Sites, func(x spec.Site) bool { return x.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("bench: %s has no site %q", s.Name, name)
		}
	}
	play := func(site string, price protocol.Milli, pay accounts.Payment) (*history.History, float64, error) {
		x := s
		x.Sites = slices.Clone(s.Sites)
		for i := range x.Sites {
			x.Sites[i].Bids = spec.Misreport{} // the truth, whatever the day has a site say
			if x.Sites[i].Name == site {
				x.Sites[i].Bids.Price = price
			}
		}
		res, err := scenarios.Replay(ctx, x, scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{Pay: pay})
		return res.History, res.Totals.JobsUSD, err
	}
	for _, pay := range []accounts.Payment{accounts.FirstPrice, accounts.Settled} {
		honest, objective, err := play("", 1000, pay)
		if err != nil {
			return out, err
		}
		for _, site := range sites {
			for _, price := range PriceMarkups {
				book, sum := honest, objective
				if price != 1000 {
					if book, sum, err = play(site, price, pay); err != nil {
						return out, err
					}
				}
				row := misreportRowOf(book, site, pay)
				row.Scenario, row.Price, row.ObjectiveUSD = s.Name, float64(price)/1000, sum
				out = append(out, row)
				say("%s, paid by what was %s: %s asks %.2f of its cost: %d jobs, profit $%.2f first-price, $%.2f second-price, $%.2f settled; federation $%.2f",
					s.Name, row.Paid, site, row.Price, row.Jobs, row.FirstPrice, row.SecondPrice, row.Settled, sum)
			}
		}
	}
	return out, nil
}

// Who is paid by what.
const (
	paidByBid         = "bid"
	paidByMeasurement = "measured"
)

// misreportRowOf adds up what a site earned in a run.
func misreportRowOf(book *history.History, site string, pay accounts.Payment) MisreportRow {
	out := MisreportRow{Site: site, Paid: paidByBid}
	if pay == accounts.Settled {
		out.Paid = paidByMeasurement
	}
	for _, id := range book.JobIDs() {
		r, _ := book.LatestJob(id)
		a := r.CurrentAward()
		if a == nil || r.Run == nil || r.Run.Site != site || r.State != history.Ended {
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
			out.Settled += max(cost, -cost) / 10
			continue
		}
		out.FirstPrice += bid - cost
		out.SecondPrice += bid + more - cost
	}
	return out
}

// winnersMargin returns by how much the winner could have asked more before another
// site's cheapest option would have cost the market less; nothing if there was
// no such option, or if it was cheaper already and lost for want of room.
func winnersMargin(r history.JobRecord, a history.Decision) (dollars float64, rival bool) {
	for _, h := range r.FullRounds {
		if h.Round != a.Round {
			continue
		}
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

// WritePaymentsMarkdown writes rows as a table, and for each rule what the best lie
// of each site gained over the truth.
func WritePaymentsMarkdown(w io.Writer, rows []MisreportRow) error {
	b := new(strings.Builder)
	fmt.Fprintf(b, "| day | paid by | site | asks | jobs | GPU-hours | cost $ | profit first-price $ | second-price $ | settled $ | federation %% |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
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
	fmt.Fprintf(b, "\nWhat the best lie of a site gained over the truth, and what it cost the federation:\n\n| rule | gained $: median [lowest..highest] | sites that gain | federation %% |\n|---|--:|--:|--:|\n")
	for _, l := range MisreportGains(rows) {
		fmt.Fprintf(b, "| %s | %s | %d of %d | %s |\n", l.Rule, distributionOf(l.Gained).medianText(1, 2), l.Gainers, len(l.Gained), distributionOf(l.Lost).medianText(100, 2))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r MisreportRow) rowKey() string { return r.Scenario + "/" + r.Site + "/" + r.Paid }

// honestRows returns the rows of honest sites.
func honestRows(rows []MisreportRow) map[string]MisreportRow {
	truth := make(map[string]MisreportRow)
	for _, r := range rows {
		if r.Price == 1 {
			truth[r.rowKey()] = r
		}
	}
	return truth
}

// A MisreportGain is what the best lies under one rule of payment came to: an entry
// for each site and day, of nothing where no lie gains.
type MisreportGain struct {
	Rule    string
	Gained  []float64 // dollars, by the site
	Lost    []float64 // share of the federation's objective
	Gainers int       // sites that gain half a cent or more
}

// MisreportGains returns what lies came to, by rule.
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

// MisreportStudySites returns the sites on which a lie tells most: the cheapest, the
// cleanest and the dearest.
func MisreportStudySites(s spec.Scenario) []string {
	var out []string
	for _, i := range []int{cheapestSite(s), cleanestSite(s), mostExpensiveSite(s)} {
		if name := s.Sites[i].Name; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
