package bench

import (
	"math"
	"testing"

	"github.com/gridbid/gridbid/history"
)

// Of pairs that are too few for an interval the row chance says what may be called better: only what
// is farther apart than two runs of one policy, and nothing that the row says nothing about.
func TestWhatIsWithinChanceOfTheRowIsNotCalledBetter(t *testing.T) {
	run := func(carbon float64, late int) history.Totals {
		return history.Totals{Scenario: "day", CarbonKg: carbon, JobsUSD: carbon, ObjectiveUSD: carbon, CostUSD: carbon, Late: late}
	}
	auction, chance := []history.Totals{run(100, 4)}, []history.Totals{run(101, 4)}
	for _, tc := range []struct {
		second float64
		want   Verdict
	}{{100, WithinChance}, {95, WithinChance}, {110, WithinChance}, {80, Better}, {140, Worse}} {
		all := ComparePairs([]history.Totals{run(100, 4)}, []history.Totals{run(tc.second, 1)})
		AddChance(all, auction, chance)
		for _, c := range all {
			switch c.Figure {
			case "carbon_kg":
				// One run has one degree of freedom: Student's quantile is 12.7.
				if want := math.Expm1(12.706 * math.Log(1.01)); c.Verdict != tc.want || math.Abs(c.ByChance-want) > 1e-9 {
					t.Errorf("100 against %v with chance of 1 %%: %s by %v; want %s by %v", tc.second, c.Verdict, c.ByChance, tc.want, want)
				}
			case "late_jobs": // in which the row agrees with the auction
				if c.Verdict != TooFewPairs || c.ByChance != 0 || c.ChanceText() != "" {
					t.Errorf("a figure without a difference by chance: %+v", c)
				}
			}
		}
	}
	// More runs of the row tell smaller differences, and an interval needs no row.
	var firsts, seconds, rows []history.Totals
	for i := range MinPairs {
		firsts, seconds = append(firsts, run(100, 0)), append(seconds, run(95+float64(i%2), 0))
		rows = append(rows, run(101, 0))
	}
	few := ComparePairs(firsts[:4], seconds[:4])
	AddChance(few, firsts[:4], rows[:4])
	many := ComparePairs(firsts, seconds)
	AddChance(many, firsts, rows)
	if few[5].Figure != "carbon_kg" || few[5].Verdict != Better || many[5].ByChance != 0 || many[5].Verdict != Better {
		t.Errorf("four pairs: %+v\nsix pairs: %+v", few[5], many[5])
	}
}
