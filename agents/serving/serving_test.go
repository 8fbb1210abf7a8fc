package serving

import (
	"math"
	"math/rand/v2"
	"testing"
)

// someTokens are pairs with the means and the spread of Azure's conversations of 2023: log-normal, 1,155
// and 211 tokens, coefficients of variation 1.0 and 0.75.
func someTokens(n int) []Tokens {
	d := rand.New(rand.NewPCG(1, 2))
	draw := func(mean, cv float64) int {
		s := math.Sqrt(math.Log1p(cv * cv))
		return max(int(mean*math.Exp(s*d.NormFloat64()-s*s/2)), 1)
	}
	out := make([]Tokens, n)
	for i := range out {
		out[i] = Tokens{draw(1155, 1), draw(211, 0.75)}
	}
	return out
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*want {
		t.Errorf("%s is %.4g; want %.4g within %.0f %%", what, got, want, 100*within)
	}
}

// SERVING.md §2: Llama 8B on an H100, Azure's conversations: the limit is 13.2 requests a second, and the
// formula says 16.7 and 24.5 ms a token, 109 and 145 ms to the first, at 0.7 and 0.85 of it.
func TestTheFormulaGivesThePublishedFigures(t *testing.T) {
	p, m := Profiles()[0], Moments{Prompt: 1155, Output: 211, PromptSquare: 1155 * 1155 * 2}
	limit := p.Limit(m)
	near(t, "limit", limit, 13.2, 0.005)
	for _, x := range []struct{ load, tpot, ttft float64 }{{0.7, 16.7, 109}, {0.85, 24.5, 145}} {
		e := p.Estimate(x.load*limit, m)
		near(t, "TPOT", e.TPOT, x.tpot, 0.01)
		near(t, "TTFT", e.TTFT, x.ttft, 0.06)
	}
	for load := range 20 {
		e := p.Estimate(float64(load)/10*limit, m)
		if !(e.TTFT >= 0 && e.TTFT < 1e4) || load < 10 && e.TTFT == 0 || load > 12 && e.TTFT > 0 {
			t.Errorf("TTFT is %g at %d tenths of the limit", e.TTFT, load)
		}
	}
}

// Without spread the simulation of a replica whose prompts cost nothing is the formula: b = λ·E[out]·T(b).
func TestTheSimulationFollowsLittlesLaw(t *testing.T) {
	p := Profile{Name: "plain", GPUs: 1, A: 10, K: 0.1, MaxBatch: 256, Chunk: 2048, Idle: 100, Power0: 400, Power1: 200, Half: 20}
	r := Simulate(p, []Tokens{{1, 200}}, 10, 20_000, 1)
	e := p.Estimate(10, Moments{Prompt: 1, PromptSquare: 1, Output: 200})
	tpot := 0.0
	for _, s := range r.Served {
		tpot += s.TPOT / float64(len(r.Served))
	}
	near(t, "TPOT", tpot, e.TPOT, 0.02)
	near(t, "batch", r.Batch, e.Batch, 0.05)
	near(t, "draw", r.Watts, p.Watts(e.Batch), 0.02)
}

// More load makes all worse, and distance costs attainment and goodput (S-D4: it is paid in replicas).
func TestLoadAndDistanceCostAttainment(t *testing.T) {
	table, err := Tabulate(Profiles()[0], someTokens(5000), Class{TTFT: 450, TPOT: 40, Percentile: 95}, 3000, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(table.Rows); i++ {
		if a, b := table.Rows[i-1], table.Rows[i]; b.Watts < 0.99*a.Watts || b.Found.TPOT < 0.99*a.Found.TPOT || b.Load <= 0.95 && b.Watts <= a.Watts {
			t.Errorf("load %g draws %g W at %g ms a token, and load %g %g W at %g ms", a.Load, a.Watts, a.Found.TPOT, b.Load, b.Watts, b.Found.TPOT)
		}
	}
	last := math.Inf(1)
	for _, rtt := range []float64{0, 50, 100, 200} {
		g := table.Goodput(rtt)
		if g > last || g <= 0 {
			t.Errorf("goodput is %g at %g ms; before it was %g", g, rtt, last)
		}
		if last = g; table.Attained(g/table.Limit, rtt) < 0.95 {
			t.Errorf("at its goodput of %g only %g of the requests are in time", g, table.Attained(g/table.Limit, rtt))
		}
	}
	if g := table.Goodput(460); g != 0 {
		t.Errorf("goodput is %g farther away than the bound", g)
	}
	if got, most := table.Attained(5, 0), table.Attained(1.25, 0); got > most/3.9 {
		t.Errorf("at five times the limit %g are in time, and %g at 1.25", got, most)
	}
	near(t, "idle draw", table.Watts(0), 120, 0)
}

func TestImpossibleProfilesAreRefused(t *testing.T) {
	for _, change := range []func(*Profile){
		func(p *Profile) { p.A = 0 }, func(p *Profile) { p.K = -1 }, func(p *Profile) { p.GPUs = 0 },
		func(p *Profile) { p.MaxBatch = 0 }, func(p *Profile) { p.Chunk = 10 }, func(p *Profile) { p.Idle = math.NaN() },
	} {
		p := Profiles()[0]
		change(&p)
		if _, err := Tabulate(p, []Tokens{{1, 1}}, Class{}, 10, 1); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
	for _, p := range Profiles() {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
}
