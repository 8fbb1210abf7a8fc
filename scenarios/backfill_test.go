package scenarios

import (
	"flag"
	"math"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var (
	backfillDraws = flag.Int("backfill.draws", 0, "measure backfill against none on so many draws of a recorded day with gangs")
	backfillDay   = flag.String("backfill.day", "real-days/ordinary_2022-04-13", "the day")
	backfillShare = flag.Float64("backfill.share", 1, "share of the jobs of 8 GPUs that grow to gangs")
)

// TestBackfillAgainstNone measures what it is worth that jobs run on nodes which are kept for others until
// then. It needs the data, and judges nothing: one day is no proof.
func TestBackfillAgainstNone(t *testing.T) {
	if *backfillDraws == 0 {
		t.Skip("measure with -backfill.draws N")
	}
	var objective, wait, late, used []float64
	for draw := 1; draw <= *backfillDraws; draw++ {
		s, err := spec.LoadScenario(*backfillDay, spec.Options{Data: "../../shared/data", Gangs: *backfillShare, Draw: draw})
		if err != nil {
			t.Fatal(err)
		}
		run := func(none bool) history.Totals {
			res, err := Replay(t.Context(), s, PolicyAuction, new(membus.Bus), Options{NoBackfill: none, NoBids: true})
			if err != nil {
				t.Fatal(err)
			}
			return res.Totals
		}
		with, none := run(false), run(true)
		t.Logf("draw %2d: objective $%.2f with backfill, $%.2f without; mean wait %.1f and %.1f min; late %d and %d; GPUs busy %.1f and %.1f %%", draw,
			with.ObjectiveUSD, none.ObjectiveUSD, with.WaitS.Mean/60, none.WaitS.Mean/60, with.Late, none.Late, 100*with.GPUUse.Mean, 100*none.GPUUse.Mean)
		objective = append(objective, 100*(with.ObjectiveUSD/none.ObjectiveUSD-1))
		wait = append(wait, (with.WaitS.Mean-none.WaitS.Mean)/60)
		late = append(late, float64(with.Late-none.Late))
		used = append(used, 100*(with.GPUUse.Mean-none.GPUUse.Mean))
	}
	for _, x := range []struct {
		name string
		all  []float64
	}{{"objective, %", objective}, {"mean wait, min", wait}, {"late jobs", late}, {"GPUs busy, points", used}} {
		mean, half := meanAndInterval(x.all)
		t.Logf("backfill against none, %s: %+.2f, 95 %% interval %+.2f to %+.2f", x.name, mean, mean-half, mean+half)
	}
}

// meanAndInterval returns the mean of paired differences and half of its 95 % interval, by Student's t.
func meanAndInterval(all []float64) (mean, half float64) {
	n := float64(len(all))
	for _, v := range all {
		mean += v / n
	}
	squares := 0.0
	for _, v := range all {
		squares += float64((v - mean) * (v - mean))
	}
	quantiles := []float64{0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13}
	quantile := 1.96
	if k := len(all) - 1; k < len(quantiles) {
		quantile = quantiles[k]
	}
	return mean, quantile * math.Sqrt(squares/(n-1)/n)
}
