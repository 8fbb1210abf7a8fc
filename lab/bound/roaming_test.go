package bound

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/baseline"
	"github.com/gridbid/gridbid/scenarios/sim/loop"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A roamer has whatever another rule sells paused again and again, after a time
// that differs from job to job, so that jobs wander from site to site.
type roamer struct {
	auction.ClearingRule
	every time.Duration
}

func (r roamer) Clear(round auction.Round) auction.Outcome {
	out := r.ClearingRule.Clear(round)
	for i := range out.Decisions {
		if d := &out.Decisions[i]; d.Verdict == auction.Award {
			d.PauseAt = d.Option.Start.Add(r.every + time.Duration(i%5)*7*time.Minute)
		}
	}
	return out
}

// roam plays a scenario under a rule whose jobs wander.
func roam(t *testing.T, s spec.Scenario, rule string, every time.Duration) *history.History {
	t.Helper()
	st, err := scenarios.BuildTestbed(s, rule+"/perfect")
	if err != nil {
		t.Fatal(err)
	}
	inner, _ := baseline.New(rule, s.Seed)
	st.Parties[protocol.Coordinator] = market.New(market.Config{Terms: scenarios.MarketWeights(s), Pay: accounts.PaymentRule{Margin: 100}}, roamer{inner, every})
	book := history.New(history.Config{})
	_, err = loop.Run(t.Context(), new(membus.Bus), st.Parties, loop.Config{
		Start: st.Start, Latest: st.MeteredUntil.Add(scenarios.MaxReplayOverrun), Done: st.AllDone,
		Record: func(m protocol.Message) error { book.AddMessage(m); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if wrong := book.CheckInvariants(scenarios.NodesOf(s)); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return book
}

// Jobs that are paused and moved as no policy of ours would do it cost no less
// than the bound, together and each for itself.
func TestJobsThatWanderDoNotBeatTheBound(t *testing.T) {
	for _, day := range []spec.Scenario{broken(60), calm(broken(60))} {
		for i := range day.Jobs {
			day.Jobs[i].Input, day.Jobs[i].State = day.Jobs[i].Input/100, day.Jobs[i].State/10 // so that moving may pay
		}
		of, with := certify(t, day, false), certify(t, day, true)
		p, err := modelScenario(day, false)
		if err != nil {
			t.Fatal(err)
		}
		for rule, every := range map[string]time.Duration{baseline.RuleRoundRobin: 10 * time.Minute, baseline.RuleGeoGreedy: 3 * time.Minute, baseline.RuleCheapestNow: 30 * time.Minute} {
			book := roam(t, day, rule, every)
			parts := alone(t, day, p, rule, book)
			moved := 0
			for _, r := range scenarios.CompletedJobs(book, of.Weights) {
				for _, x := range r.PausedSegments {
					if x.Site != r.Site {
						moved++
					}
				}
			}
			sum := book.ComputeTotals(scenarios.RunMetadata(day, rule))
			if sum.JobsUSD < of.BoundUSD || sum.ObjectiveUSD < with.BoundUSD {
				t.Errorf("%s: jobs cost $%.4f, with idle nodes $%.4f; the bounds are $%.4f and $%.4f", rule, sum.JobsUSD, sum.ObjectiveUSD, of.BoundUSD, with.BoundUSD)
			}
			if parts < 20 || moved < 5 {
				t.Errorf("%s: %d pauses, %d of them at other sites than the last", rule, parts, moved)
			}
			t.Logf("%s: %d pauses, %d of them elsewhere; $%.3f against $%.3f, with idle $%.3f against $%.3f", rule, parts, moved, sum.JobsUSD, of.BoundUSD, sum.ObjectiveUSD, with.BoundUSD)
		}
	}
}

// Where nothing differs, neither sites nor hours nor ways, a paused job costs its
// bound and what its pauses after the first add, but for the seconds and millionths
// that are granted.
func TestAPausedJobCostsItsBound(t *testing.T) {
	s := broken(60)
	s.Sites = s.Sites[1:2]
	for _, what := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon} {
		points := s.Sites[0].Signals[what]
		for i := range points {
			points[i].Value = 50_000
		}
	}
	for i := range s.Sites[0].Nodes {
		s.Sites[0].Nodes[i].Model, s.Sites[0].Nodes[i].GPUs = "T4", 8
	}
	for i := range s.Jobs {
		s.Jobs[i].Home = s.Sites[0].Name
	}
	p, err := modelScenario(s, false)
	if err != nil {
		t.Fatal(err)
	}
	ran := scenarios.CompletedJobs(roam(t, s, baseline.RuleHomeFIFO, 20*time.Minute), scenarios.MarketWeights(s))
	paused := 0
	for i, j := range s.Jobs {
		k := slices.IndexFunc(ran, func(r scenarios.CompletedJob) bool { return r.Job == j.ID })
		if k < 0 || len(ran[k].PausedSegments) == 0 || ran[k].Ended > j.Deadline {
			continue
		}
		paused++
		cost := float64(ran[k].Cost)
		for _, x := range ran[k].PausedSegments {
			cost += float64(x.Cost)
		}
		v, _, _ := p.leastPausedCost(&p.jobs[i], math.Inf(1))
		again := float64(j.Pause) / float64(j.Run)
		if more := v * (1 + float64(len(ran[k].PausedSegments))*again) / (1 + again); v > cost || math.Abs(cost-more) > 0.003*cost+20 {
			t.Errorf("%s costs %.1f in %d parts; its bound is %.1f, %.1f with all pauses", j.ID, cost, len(ran[k].PausedSegments)+1, v, more)
		}
	}
	if paused < 10 {
		t.Errorf("%d jobs were paused", paused)
	}
}
