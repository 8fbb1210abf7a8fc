package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A stressKind is a disturbance of a day. It falls on one site, so that other sites remain to
// move jobs to: on the site at which it should change decisions the most.
type stressKind struct {
	name  string
	about string
	site  func(spec.Scenario) int
	hours [2]int // of the day, UTC: from, to
	price func(int64) int64
	grams func(int64) int64
	other func(spec.Scenario, *spec.Site)
}

// sameValue leaves a signal as it is.
func sameValue(v int64) int64 { return v }

// noChange leaves a site as it is.
func noChange(spec.Scenario, *spec.Site) {}

// stressKinds are the kinds of stress days. Prices are in microdollars per kWh.
var stressKinds = []stressKind{
	{"spike", "the cheapest site's price is 3 $/kWh from 12:00 to 18:00", cheapestSite, [2]int{12, 18},
		func(int64) int64 { return 3_000_000 }, sameValue, noChange},
	{"drought", "the cleanest site has no wind all day: five times the carbon, three times the price", cleanestSite, [2]int{0, 24},
		func(v int64) int64 { return max(3*v, v) }, func(v int64) int64 { return 5 * v }, noChange},
	{"negative", "the most expensive site pays 50 $/MWh for consumption from 10:00 to 15:00", mostExpensiveSite, [2]int{10, 15},
		func(int64) int64 { return -50_000 }, sameValue, noChange},
	{"outage", "the cleanest site loses its power from 12:00 to 20:00, with all jobs that run there", cleanestSite, [2]int{}, sameValue, sameValue,
		func(s spec.Scenario, site *spec.Site) {
			day := stressMidnight(s, 20)
			site.Outages = spec.Outage{From: day.Add(12 * time.Hour), To: day.Add(20 * time.Hour)}.MergeInto(site.Outages)
		}},
	{"liar", "the most expensive site bids half of its price, energy and carbon", mostExpensiveSite, [2]int{}, sameValue, sameValue,
		func(_ spec.Scenario, site *spec.Site) { site.Bids = spec.Misreport{Price: 500, Energy: 500} }},
}

// A BenchDay is a scenario to run. Stress is the kind of stress day it was made, or "".
type BenchDay struct {
	spec.Scenario
	Stress string
	Draw   int // of its jobs (spec.Options); 0: the day's own
}

// label names a day for people: "ordinary-2022-04-13 seed 1 draw 2".
func (d BenchDay) label() string { return dayLabel(d.Name, d.Seed, d.Draw) }

// dayLabel names a day, a seed and a draw; a draw of 0 is left out.
func dayLabel(scenario string, seed uint64, draw int) string {
	if draw == 0 {
		return fmt.Sprintf("%s seed %d", scenario, seed)
	}
	return fmt.Sprintf("%s seed %d draw %d", scenario, seed, draw)
}

// StressNames returns the kinds of stress days, in the order of tables.
func StressNames() []string {
	var out []string
	for _, x := range stressKinds {
		out = append(out, x.name)
	}
	return out
}

// StressScenario returns a copy of a scenario as a stress day of a kind. Its name ends in the
// kind, and its hash differs.
func StressScenario(s spec.Scenario, kind string) (BenchDay, error) {
	k := slices.IndexFunc(stressKinds, func(x stressKind) bool { return x.name == kind })
	if k < 0 {
		return BenchDay{}, fmt.Errorf("bench: unknown stress %q: want one of %q", kind, StressNames())
	}
	x := stressKinds[k]
	hit := x.site(s)
	// Copy what changes: the scenario shares its sites and series with other days.
	s.Sites = slices.Clone(s.Sites)
	site := &s.Sites[hit]
	site.Signals = maps.Clone(site.Signals)
	day := stressMidnight(s, x.hours[1])
	change := func(q protocol.Quantity, to func(int64) int64) {
		points := slices.Clone(site.Signals[q])
		for i, p := range points {
			if h := p.At.Sub(day).Hours(); h >= float64(x.hours[0]) && h < float64(x.hours[1]) {
				points[i].Value = to(p.Value)
			}
		}
		site.Signals[q] = points
	}
	change(protocol.GridPrice, x.price)
	change(protocol.GridCarbon, x.grams)
	if s.Carbon == spec.ByMarginal && len(site.Signals[spec.MarginalCarbon]) > 0 { // bids and totals use marginal carbon
		change(spec.MarginalCarbon, x.grams)
	}
	x.other(s, site)
	s.Name += "-" + x.name
	s.About = x.about
	s.Notes = append(slices.Clone(s.Notes), fmt.Sprintf("%s: %s", site.Name, x.about))
	// The hash names the content, which is another one now.
	sum := sha256.Sum256([]byte(s.Hash + x.name))
	s.Hash = hex.EncodeToString(sum[:])
	return BenchDay{Scenario: s, Stress: kind}, nil
}

// stressMidnight returns the midnight from which the hours of a stress count: of the first day
// on which hour last is after the first arrivals.
func stressMidnight(s spec.Scenario, last int) protocol.Time {
	day := s.Start.Floor(24 * time.Hour)
	if day.Add(time.Duration(last)*time.Hour) <= s.Start {
		day = day.Add(24 * time.Hour)
	}
	return day
}

// meanSignal returns a site's mean of a quantity over the day of arrivals.
func meanSignal(s spec.Scenario, site int, q protocol.Quantity) float64 {
	sum, n := 0.0, 0
	for _, p := range s.Sites[site].Signals[q] {
		if p.At >= s.Start && p.At < s.End {
			sum += float64(p.Value)
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// argminSite returns the index of the site with the least value, the first of equals.
func argminSite(s spec.Scenario, value func(site int) float64) int {
	best := 0
	for i := range s.Sites {
		if value(i) < value(best) {
			best = i
		}
	}
	return best
}

// cheapestSite returns the site with the lowest mean price.
func cheapestSite(s spec.Scenario) int {
	return argminSite(s, func(i int) float64 { return meanSignal(s, i, protocol.GridPrice) })
}

// cleanestSite returns the site with the lowest mean carbon intensity.
func cleanestSite(s spec.Scenario) int {
	return argminSite(s, func(i int) float64 { return meanSignal(s, i, protocol.GridCarbon) })
}

// mostExpensiveSite returns the site with the highest mean price.
func mostExpensiveSite(s spec.Scenario) int {
	return argminSite(s, func(i int) float64 { return -meanSignal(s, i, protocol.GridPrice) })
}

// The weights of a sweep: prices of carbon in dollars per tonne, and costs of waiting in
// dollars per GPU-hour of jobs that are wanted now.
var (
	SweepKappas = []float64{0, 25, 50, 100, 190, 400, 800}
	SweepDelays = []float64{0.01, 0.1, 1, 10}
)

// SweepScenarios returns copies of a scenario with each weight of the sweep in turn, the other
// weight unchanged, and the scenario itself once.
func SweepScenarios(s spec.Scenario) (out []spec.Scenario) {
	weigh := func(name string, dollars float64, to func(*spec.Scenario) *protocol.Microdollars) {
		x := s
		*to(&x) = protocol.DollarsToMicrodollars(&dollars, 0)
		if x.Weights != s.Weights {
			sum := sha256.Sum256([]byte(fmt.Sprint(s.Hash, name, dollars)))
			x.Hash = hex.EncodeToString(sum[:])
			out = append(out, x)
		}
	}
	for _, v := range SweepKappas {
		weigh("kappa", v, func(x *spec.Scenario) *protocol.Microdollars { return &x.Weights.Kappa })
	}
	for _, v := range SweepDelays {
		weigh("delay", v, func(x *spec.Scenario) *protocol.Microdollars { return &x.Weights.WaitNow })
	}
	return append(out, s)
}
