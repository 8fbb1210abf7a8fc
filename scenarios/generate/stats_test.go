package generate_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/generate"
)

// seeds over which a statistic is held to its stated value.
const seeds = 60

var noon = protocol.FromStdTime(time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC))

func values(points []protocol.Point) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = float64(p.Value) / 1000
	}
	return out
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	out := make([]float64, len(v))
	for rank, i := range order {
		out[i] = float64(rank)
	}
	return out
}

func correlation(a, b []float64) float64 {
	ma, mb := mean(a), mean(b)
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}
	return ab / math.Sqrt(aa*bb)
}

// daily measures the middle day of three, by the same arithmetic as the figures
// of the real grids in docs/scenarios.md.
func daily(r generate.SyntheticRegion) (price, carbon generate.DailyProfile, match float64) {
	var pm, ps, cm, cs, rho []float64
	for seed := range uint64(seeds) {
		s := r.GenerateSignals(seed, "here", noon, 72)
		p, c := values(s[protocol.GridPrice][24:48]), values(s[protocol.GridCarbon][24:48])
		pm, ps = append(pm, mean(p)), append(ps, slices.Max(p)-slices.Min(p))
		cm, cs = append(cm, mean(c)), append(cs, slices.Max(c)-slices.Min(c))
		rho = append(rho, correlation(ranks(p), ranks(c)))
	}
	return generate.DailyProfile{Mean: median(pm), Swing: median(ps)}, generate.DailyProfile{Mean: median(cm), Swing: median(cs)}, mean(rho)
}

func TestARegionsUsualDayIsTheOneStated(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    generate.SyntheticRegion
	}{
		{"price and carbon go together", generate.SyntheticRegion{Price: generate.DailyProfile{Mean: 90, Swing: 66}, Carbon: generate.DailyProfile{Mean: 450, Swing: 160}, Match: 0.67, PUE: 1.09, Peak: 17}},
		{"they go together a little", generate.SyntheticRegion{Price: generate.DailyProfile{Mean: 52, Swing: 49}, Carbon: generate.DailyProfile{Mean: 277, Swing: 145}, Match: 0.39, PUE: 1.1, Peak: 2}},
		{"they have nothing in common", generate.SyntheticRegion{Price: generate.DailyProfile{Mean: 120, Swing: 80}, Carbon: generate.DailyProfile{Mean: 660, Swing: 173}, Match: 0.06, PUE: 1.1, Peak: 8}},
		{"they go against each other", generate.SyntheticRegion{Price: generate.DailyProfile{Mean: 120, Swing: 80}, Carbon: generate.DailyProfile{Mean: 660, Swing: 173}, Match: -0.5, PUE: 1.2, Peak: 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			price, carbon, match := daily(tc.r)
			near := func(what string, got, want, within float64) {
				t.Helper()
				if math.Abs(got-want) > within {
					t.Errorf("%s over %d seeds = %.2f; want %.2f within %.2f", what, seeds, got, want, within)
				}
			}
			near("price mean", price.Mean, tc.r.Price.Mean, 0.05*tc.r.Price.Mean)
			near("price swing", price.Swing, tc.r.Price.Swing, 0.1*tc.r.Price.Swing)
			near("carbon mean", carbon.Mean, tc.r.Carbon.Mean, 0.05*tc.r.Carbon.Mean)
			near("carbon swing", carbon.Swing, tc.r.Carbon.Swing, 0.1*tc.r.Carbon.Swing)
			near("match", match, tc.r.Match, 0.05)
		})
	}
}

func quantile(v []time.Duration, q float64) float64 {
	return v[min(int(q*float64(len(v))), len(v)-1)].Seconds()
}

func TestADayOfJobsIsSpreadAsStated(t *testing.T) {
	const count = 600
	sites := []string{"a", "b", "c", "d", "e", "f"}
	mix := generate.WorkloadMix{Count: count, TraitRates: generate.TraitRates{Sites: sites,
		Deferrable: generate.DefaultDeferrable, Flexible: 250, Resident: generate.DefaultResident, Input: generate.DefaultInput}}
	got := make(map[string]float64)
	add := func(what string, yes bool) {
		if yes {
			got[what]++
		}
	}
	var total float64
	for seed := range uint64(seeds) {
		var runs []time.Duration
		for _, j := range mix.GenerateJobs(seed, noon, noon.Add(24*time.Hour)) {
			total++
			runs = append(runs, j.Run)
			add("one GPU", j.GPUs == 1 || j.GPUs == 0)
			add("two GPUs", j.GPUs == 2)
			add("four GPUs", j.GPUs == 4)
			add("eight GPUs", j.GPUs == 8)
			add("no GPU", j.GPUs == 0)
			add("a share", j.GPUs == 1 && j.Share < 1000)
			add("names models", len(j.Models) > 0)
			add("deferrable", j.MayWait())
			add("flexible", j.Urgency == protocol.UrgencyFlexible)
			add("resident", len(j.Regions) > 0)
			add("input", j.Input > 0)
			add("home is a", j.Home == "a")
			add("input over 1 GiB", j.Input > 1024)
		}
		slices.Sort(runs)
		for _, q := range []struct{ q, want, within float64 }{{0.1, 64, 7}, {0.5, 1486, 40}, {0.9, 10536, 900}} {
			if got := quantile(runs, q.q); math.Abs(got-q.want) > q.within {
				t.Errorf("seed %d: run p%.0f = %.0f s; want %.0f within %.0f", seed, 100*q.q, got, q.want, q.within)
			}
		}
	}
	for _, want := range []struct {
		what          string
		share, within float64
	}{
		{"one GPU", 0.950, 0.001}, {"two GPUs", 0.018, 0.001}, {"four GPUs", 0.019, 0.001}, {"eight GPUs", 0.013, 0.001},
		{"no GPU", 0.05 * 0.95, 0.006}, {"a share", 0.38 * 0.95 * 0.95, 0.015}, {"names models", 0.2, 0.015},
		{"deferrable", 0.8, 0.01}, {"flexible", 0.25 * 0.8, 0.01}, {"resident", 0.05, 0.005}, {"input", 0.2, 0.01}, {"home is a", 1.0 / 6, 0.01}, {"input over 1 GiB", 0.1, 0.01},
	} {
		if s := got[want.what] / total; math.Abs(s-want.share) > want.within {
			t.Errorf("%s = %.4f of jobs; want %.4f within %.4f", want.what, s, want.share, want.within)
		}
	}
}
