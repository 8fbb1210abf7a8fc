package learn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/lab/learn/fit"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// mostRegret bounds the reward of one job: one that never ran, or was late by far, teaches no more.
const mostRegret = 5

// priceSteps is the effort of the search for prices of capacity. They need be no tight bound.
const priceSteps = 60

// A measuredDay is a training day with the yardstick of its jobs.
type measuredDay struct {
	scenario  spec.Scenario
	yardstick *bound.Yardstick
	weights   protocol.Weights
	meanUSD   float64 // of the jobs' best choices
}

// measureDay computes the prices of a day, or leaves capacity free if rewards are plain.
func measureDay(ctx context.Context, d day, cfg Config) (measuredDay, error) {
	s, err := d.load(cfg.shrink)
	if err != nil {
		return measuredDay{}, err
	}
	c, err := bound.ComputeCertificate(s, bound.Config{Steps: priceSteps, Stop: ctx.Err})
	if err != nil {
		return measuredDay{}, err
	}
	if cfg.Reward == RewardPlain {
		for i := range c.Pools {
			c.Pools[i].Values = nil
		}
	}
	y, err := bound.NewYardstick(s, c)
	if err != nil {
		return measuredDay{}, err
	}
	m := measuredDay{scenario: s, yardstick: y, weights: c.Weights}
	for _, j := range s.Jobs {
		m.meanUSD += y.BestUSD(j.ID) / float64(len(s.Jobs))
	}
	return m, nil
}

// play replays the day once with choices that a player draws, and returns them by job, in the order in
// which the jobs were asked about first.
func (m *measuredDay) play(ctx context.Context, y *fit.Player) ([]fit.Trajectory, error) {
	var out []fit.Trajectory
	var jobs []protocol.JobID
	index := make(map[protocol.JobID]int)
	ask := func(q *learned.Question) (int, string) {
		step, actions := stepOf(&q.Observation)
		y.Play(&step)
		i, known := index[q.Job]
		if !known {
			i = len(out)
			index[q.Job] = i
			out, jobs = append(out, fit.Trajectory{}), append(jobs, q.Job)
		}
		out[i].Steps = append(out[i].Steps, step)
		return actions[step.Taken], ""
	}
	run, err := replay(ctx, m.scenario, func() auction.ClearingRule { return learned.NewRule(ask, false) })
	if err != nil {
		return nil, err
	}
	rewards := make([]float64, len(out))
	for i := range rewards {
		rewards[i] = -mostRegret
	}
	for _, r := range scenarios.CompletedJobs(run.History, m.weights) {
		i, asked := index[r.Job]
		if !asked {
			continue
		}
		if rewards[i], err = m.reward(r); err != nil {
			return nil, err
		}
	}
	for i := range out {
		out[i].Reward = rewards[i]
	}
	return out, nil
}

// reward returns minus what a job paid beyond its best choice. The unit is the geometric mean of what
// its own best choice costs and what those of the day cost on average, so that neither the few large
// jobs nor the many small ones are all that counts.
func (m *measuredDay) reward(r scenarios.CompletedJob) (float64, error) {
	regret, err := m.yardstick.RegretUSD(r)
	if err != nil {
		return 0, err
	}
	mean := max(m.meanUSD, 1e-6)
	unit := math.Sqrt(max(m.yardstick.BestUSD(r.Job), mean/20) * mean)
	return -min(regret/unit, mostRegret), nil
}

// stepOf returns the step of an observation, and the action that each of its rows is.
func stepOf(o *learned.Observation) (s fit.Step, actions []int) {
	var row []float64
	for action, allowed := range o.Mask {
		if allowed == 0 {
			continue
		}
		actions = append(actions, action)
		s.Priors = append(s.Priors, o.Prior(action))
		row = o.AppendInputs(row[:0], action)
		for _, v := range row {
			s.Inputs = append(s.Inputs, float32(v))
		}
	}
	return s, actions
}

// replay replays a day under a rule.
func replay(ctx context.Context, s spec.Scenario, rule func() auction.ClearingRule) (scenarios.ReplayResult, error) {
	res, err := scenarios.Replay(ctx, s, scenarios.PolicyOutside, new(membus.Bus), scenarios.Options{Rule: rule, NoBids: true, Sequential: true})
	if err != nil {
		return res, fmt.Errorf("learn: day %s of seed %d: %w", s.Name, s.Seed, err)
	}
	return res, nil
}

// validate returns what the jobs of validation days cost under weights, in dollars, by day.
func validate(ctx context.Context, days []spec.Scenario, f net.File) ([]float64, error) {
	out := make([]float64, len(days))
	err := inParallel(len(days), func(i int) error {
		res, err := replay(ctx, days[i], func() auction.ClearingRule { return learned.New(f) })
		out[i] = res.Totals.JobsUSD
		return err
	})
	return out, err
}

// diceOf returns the dice of one rollout, which depend on nothing but its place in the training.
func diceOf(seed uint64, update, rollout int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(update)<<8|uint64(rollout)))
}
