package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// FrontPrices are the usual prices of waiting of a front, in dollars per GPU-hour of a
// standard job whose run is an hour.
var FrontPrices = []float64{0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05}

// A FrontPlan replays the auction at several prices of waiting, and searches for the best
// schedule at each.
type FrontPlan struct {
	BenchPlan           // its Entries are not used
	Prices    []float64 // as FrontPrices, ascending
}

// A WaitPrice is the price of waiting of one point of a front.
type WaitPrice struct {
	USD  float64 `json:"usd"`  // per GPU-hour of a standard job whose run is an hour
	Free bool    `json:"free"` // waiting costs standard jobs nothing and has no limit but the deadline
}

// String returns the price as tables name it.
func (w WaitPrice) String() string {
	if w.Free {
		return "free"
	}
	return fmt.Sprintf("$%g", w.USD)
}

// Curves of a front.
const (
	FrontAuction     = scenarios.PolicyAuction
	FrontClairvoyant = "clairvoyant"
)

// A FrontDay is one day at one price of waiting: what a curve saves against home-fifo, as
// fractions, and how long its jobs wait.
type FrontDay struct {
	Scenario string    `json:"scenario"`
	Seed     uint64    `json:"seed"`
	Curve    string    `json:"curve"`
	Price    WaitPrice `json:"price"`

	Cost      float64 `json:"cost"`     // change of the cost of the jobs' energy: -0.5 is half of it
	Carbon    float64 `json:"carbon"`   // of their carbon
	Both      float64 `json:"both"`     // of both together, carbon at its price
	NoRatio   bool    `json:"no_ratio"` // home-fifo's cost is not above zero, so the changes mean nothing
	WaitMin   float64 `json:"wait_min"`
	MedianMin float64 `json:"median_min"`
	Late      float64 `json:"late"`       // jobs; of the clairvoyant not counted
	OverBound float64 `json:"over_bound"` // of a schedule's V and lateness, as a fraction; of the auction's jobs' objective
}

// RunFront runs what is not cached, and returns the days of both curves: by day, price and curve.
func RunFront(ctx context.Context, p FrontPlan) (out []FrontDay, err error) {
	if err := os.MkdirAll(filepath.Join(p.Dir, "rows"), 0o755); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	prices := append([]WaitPrice{{Free: true}}, make([]WaitPrice, len(p.Prices))...)
	for i, v := range p.Prices {
		prices[i+1].USD = v
	}
	for n, d := range p.Days {
		// What home-fifo does depends on no price.
		fifo, _, err := p.rowOf(ctx, d.Scenario, savableBaseline, boundPair{})
		if err != nil {
			return out, fmt.Errorf("bench: %s under %s: %w", d.Name, savableBaseline, err)
		}
		for _, w := range prices {
			both, err := p.frontDaysAt(ctx, d.Scenario, w, fifo)
			if err != nil {
				return out, err
			}
			for _, f := range both {
				p.Progress("%d/%d %s seed %d, waiting at %s, %s: cost %+.1f %%, carbon %+.1f %%, wait %.0f min (median %.0f)",
					n+1, len(p.Days), d.Name, d.Seed, w, f.Curve, 100*f.Cost, 100*f.Carbon, f.WaitMin, f.MedianMin)
			}
			out = append(out, both...)
		}
	}
	return out, nil
}

// frontDaysAt returns both curves' figures of a day at a price of waiting.
func (p FrontPlan) frontDaysAt(ctx context.Context, day spec.Scenario, w WaitPrice, fifo BenchRow) ([]FrontDay, error) {
	s := scenarioAtWaitPrice(day, w)
	proof, err := p.proofOf(ctx, s)
	if err != nil {
		return nil, err
	}
	floor := boundPair{Jobs: proof.BoundUSD, Proof: proof}
	row, _, err := p.rowOf(ctx, s, FrontAuction, floor)
	if err != nil {
		return nil, fmt.Errorf("bench: %s under %s, waiting at %s: %w", s.Name, FrontAuction, w, err)
	}
	online := FrontDay{
		Scenario: s.Name, Seed: s.Seed, Curve: FrontAuction, Price: w, WaitMin: row.Totals.WaitS.Mean / 60, MedianMin: row.Totals.WaitS.P50 / 60,
		Late: float64(row.Totals.Late), OverBound: row.Gap,
	}
	online.fillChanges(row.BusyCostUSD, row.BusyKg, fifo)
	out := []FrontDay{online}
	if p.SearchSteps > 0 {
		k, err := p.searchDay(ctx, s, floor, []BenchRow{row})
		if err != nil {
			return nil, err
		}
		best := FrontDay{Scenario: s.Name, Seed: s.Seed, Curve: FrontClairvoyant, Price: w, WaitMin: k.WaitMeanS / 60, MedianMin: k.WaitP50S / 60}
		if k.BoundUSD > 0 {
			best.OverBound = k.TotalUSD()/k.BoundUSD - 1
		}
		best.fillChanges(k.CostUSD, k.CarbonKg, fifo)
		out = append(out, best)
	}
	return out, nil
}

// fillChanges fills the changes against home-fifo from the cost and carbon of the jobs' energy.
func (f *FrontDay) fillChanges(usd, kg float64, fifo BenchRow) {
	change := func(now, was float64) float64 {
		if was <= 0 { // negative prices
			f.NoRatio = true
			return 0
		}
		return now/was - 1
	}
	perKg := fifo.KappaUSD / 1000
	f.Cost, f.Carbon = change(usd, fifo.BusyCostUSD), change(kg, fifo.BusyKg)
	f.Both = change(usd+kg*perKg, fifo.BusyCostUSD+fifo.BusyKg*perKg)
}

// scenarioAtWaitPrice returns a scenario at another price of waiting of standard jobs. All of a
// front's prices are set here.
func scenarioAtWaitPrice(s spec.Scenario, w WaitPrice) spec.Scenario {
	s.Weights.WaitStandard = protocol.DollarsToMicrodollars(&w.USD, 0)
	if w.Free {
		s.Weights.WaitStandard, s.Weights.WaitLimit = 0, 0
	}
	sum := sha256.Sum256([]byte(fmt.Sprint(s.Hash, "waiting", w)))
	s.Hash = hex.EncodeToString(sum[:])
	return s
}

// proofOf returns the bound of a scenario's jobs, from the cache or computed.
func (p BenchPlan) proofOf(ctx context.Context, s spec.Scenario) (c bound.Certificate, err error) {
	path := p.cache().File("proof", s.Hash, fmt.Sprint(s.Weights), fmt.Sprint(p.Steps))
	if ReadCached(path, &c) {
		return c, nil
	}
	if c, err = bound.ComputeCertificate(s, bound.Config{Steps: p.Steps, Stop: ctx.Err}); err != nil {
		return c, err
	}
	return c, WriteCached(path, c)
}

// A FrontPoint is one price of waiting: the figures of a curve over all days.
type FrontPoint struct {
	Curve string    `json:"curve"`
	Price WaitPrice `json:"price"`
	Days  int       `json:"days"`
	Knee  bool      `json:"knee,omitempty"`

	Cost      Distribution `json:"cost"` // changes against home-fifo, as fractions
	Carbon    Distribution `json:"carbon"`
	Both      Distribution `json:"both"`
	WaitMin   Distribution `json:"wait_min"`
	MedianMin Distribution `json:"median_min"`
	Late      Distribution `json:"late"`
	OverBound Distribution `json:"over_bound"`
}

// FrontPoints summarizes days by curve, in the order in which curves first occur, and by price:
// free waiting first, then from low to high. The knee of the auction's curve is marked.
func FrontPoints(days []FrontDay) (out []FrontPoint) {
	var curves []string
	byPrice := make(map[string]map[WaitPrice][]FrontDay)
	for _, d := range days {
		if byPrice[d.Curve] == nil {
			curves = append(curves, d.Curve)
			byPrice[d.Curve] = make(map[WaitPrice][]FrontDay)
		}
		byPrice[d.Curve][d.Price] = append(byPrice[d.Curve][d.Price], d)
	}
	for _, curve := range curves {
		var points []FrontPoint
		for price, of := range byPrice[curve] {
			points = append(points, frontPointOf(curve, price, of))
		}
		slices.SortFunc(points, func(a, b FrontPoint) int {
			if a.Price.Free != b.Price.Free {
				return map[bool]int{true: -1, false: 1}[a.Price.Free]
			}
			return cmp.Compare(a.Price.USD, b.Price.USD)
		})
		if k := kneeOf(points); k >= 0 && curve == FrontAuction {
			points[k].Knee = true
		}
		out = append(out, points...)
	}
	return out
}

// frontPointOf summarizes the days of a curve at a price.
func frontPointOf(curve string, price WaitPrice, days []FrontDay) FrontPoint {
	of := func(days []FrontDay, value func(FrontDay) float64) Distribution {
		var values []float64
		for _, d := range days {
			values = append(values, value(d))
		}
		return distributionOf(values)
	}
	changed := slices.DeleteFunc(slices.Clone(days), func(d FrontDay) bool { return d.NoRatio })
	return FrontPoint{
		Curve: curve, Price: price, Days: len(days),
		Cost:      of(changed, func(d FrontDay) float64 { return d.Cost }),
		Carbon:    of(changed, func(d FrontDay) float64 { return d.Carbon }),
		Both:      of(changed, func(d FrontDay) float64 { return d.Both }),
		WaitMin:   of(days, func(d FrontDay) float64 { return d.WaitMin }),
		MedianMin: of(days, func(d FrontDay) float64 { return d.MedianMin }),
		Late:      of(days, func(d FrontDay) float64 { return d.Late }),
		OverBound: of(days, func(d FrontDay) float64 { return d.OverBound }),
	}
}

// kneeOf returns the index of the knee of points: the one that lies farthest above the chord
// from the point of the longest mean wait to that of the shortest, waits and savings (cost and
// carbon together) each as a part of their range. It is -1 if no point lies above the chord.
func kneeOf(points []FrontPoint) int {
	if len(points) < 3 {
		return -1
	}
	wait := func(p FrontPoint) float64 { return p.WaitMin.Mean }
	saved := func(p FrontPoint) float64 { return -p.Both.Mean }
	order := slices.SortedStableFunc(slices.Values(points), func(a, b FrontPoint) int { return cmp.Compare(wait(a), wait(b)) })
	first, last := order[0], order[len(order)-1]
	best, most := -1, 1e-9
	for i, p := range points {
		part := (wait(p) - wait(first)) / max(wait(last)-wait(first), 1e-12)
		if above := (saved(p)-saved(first))/max(math.Abs(saved(last)-saved(first)), 1e-12) - part; above > most {
			best, most = i, above
		}
	}
	return best
}
