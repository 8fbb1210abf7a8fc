package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/history"
)

// A Change is by which fraction a figure differs from a baseline's: -0.58 is 58 % less.
type Change struct {
	Fraction    float64
	Low, High   float64 // of its 95 % interval, if it has one
	HasInterval bool
	Missing     bool // it has no meaning: the baseline's figure is not above zero
}

// A Gain is what a policy wins against a baseline, and what that costs the users.
type Gain struct {
	Policy, Baseline string
	Days, Runs       int // replayed under both

	Cost, Carbon                 Change // of the energy of the jobs alone
	CostWithIdle, CarbonWithIdle Change

	WaitMin, BaselineWaitMin float64 // mean over jobs, then over runs
	Jobs                     int     // of all runs
	Late, BaselineLate       int     // of all runs: jobs that ended late, or never ran
}

// GainOf returns the gain of one run over another of the same day; it has no intervals.
func GainOf(ours, baseline history.Totals) Gain {
	change := func(x, y float64) Change {
		if y <= 0 {
			return Change{Missing: true}
		}
		return Change{Fraction: x/y - 1}
	}
	return Gain{
		Policy: ours.Policy, Baseline: baseline.Policy, Days: 1, Runs: 1,
		Cost:         change(ours.CostUSD-ours.IdleUSD, baseline.CostUSD-baseline.IdleUSD),
		Carbon:       change(ours.CarbonKg-ours.IdleKg, baseline.CarbonKg-baseline.IdleKg),
		CostWithIdle: change(ours.CostUSD, baseline.CostUSD), CarbonWithIdle: change(ours.CarbonKg, baseline.CarbonKg),
		WaitMin: ours.WaitS.Mean / 60, BaselineWaitMin: baseline.WaitS.Mean / 60,
		Jobs: ours.Jobs, Late: ours.Late + ours.Unplaced, BaselineLate: baseline.Late + baseline.Unplaced,
	}
}

// gainOf returns what the auction won against home-fifo, in a sentence; "" if one of them was not
// replayed.
func gainOf(all []history.Totals) string {
	find := func(policy string) int {
		return slices.IndexFunc(all, func(t history.Totals) bool { return t.Policy == policy })
	}
	ours, baseline := find("auction"), find("home-fifo")
	if ours < 0 || baseline < 0 {
		return ""
	}
	return GainOf(all[ours], all[baseline]).Sentence()
}

// Sentence says what was won and what it costs: "auction against home-fifo: -58 % cost, -27 %
// carbon of the jobs' energy (-52 and -22 % with idle machines); jobs wait 73 min on the mean
// instead of 10; all deadlines kept." A change that has an interval is given with it, or said to
// be within chance.
func (g Gain) Sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s against %s: %s, %s of the jobs' energy (%s and %s with idle machines); ",
		legibleText(g.Policy), legibleText(g.Baseline), g.Cost.text("cost"), g.Carbon.text("carbon"), g.CostWithIdle.text("cost"), g.CarbonWithIdle.text("carbon"))
	fmt.Fprintf(&b, "jobs wait %s min on the mean instead of %s; ", formatWhole(math.Round(g.WaitMin)), formatWhole(math.Round(g.BaselineWaitMin)))
	switch {
	case g.Late == 0 && g.BaselineLate == 0:
		fmt.Fprintf(&b, "all deadlines kept, as under %s.", legibleText(g.Baseline))
	case g.Late == 0:
		fmt.Fprintf(&b, "all deadlines kept (%s missed under %s).", formatWhole(float64(g.BaselineLate)), legibleText(g.Baseline))
	default:
		fmt.Fprintf(&b, "%s of %s missed instead of %s.", formatWhole(float64(g.Late)), countText(g.Jobs, "deadline", "deadlines"), formatWhole(float64(g.BaselineLate)))
	}
	if g.Runs == 1 {
		b.WriteString(" One run is in part a lottery: `gridbid bench days` shows what of it is chance.")
	} else {
		fmt.Fprintf(&b, " Over %s and %s.", countText(g.Days, "day", "days"), countText(g.Runs, "run of each policy", "runs of each policy"))
	}
	return b.String()
}

// text formats a change as "-58 % cost", with its interval where it has one.
func (c Change) text(what string) string {
	percent := func(v float64) string {
		v = math.Round(100 * v)
		if v == 0 {
			return "0" // without a sign, which a negative zero has
		}
		return fmt.Sprintf("%+.0f", v)
	}
	switch {
	case c.Missing:
		return what + " not comparable"
	case c.HasInterval && c.Low <= 0 && 0 <= c.High:
		return fmt.Sprintf("%s within chance (%s [%s, %s] %%)", what, percent(c.Fraction), percent(c.Low), percent(c.High))
	case c.HasInterval:
		return fmt.Sprintf("%s [%s, %s] %% %s", percent(c.Fraction), percent(c.Low), percent(c.High), what)
	}
	return percent(c.Fraction) + " % " + what
}
