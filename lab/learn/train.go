package learn

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/lab/learn/fit"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Rewards by which a policy may be trained.
const (
	RewardRegret = "regret" // what a job paid over its best choice at the bound's prices of capacity
	RewardPlain  = "plain"  // the same where capacity is free: the job's own cost, less a constant
)

// Sizes of an update: every one plays its days several times, as the same arrivals vary less.
const (
	daysOfUpdate    = 2
	rolloutsOfDay   = 4
	updatesToPoint  = 4   // of the learning curve
	decisionsPerJob = 1.3 // about; for the number of updates
)

// How many decisions one may learn from.
const (
	FewestDecisions  = 1_000
	DefaultDecisions = 45_000
	MostDecisions    = 10_000_000
)

// CollectAt is the garbage collector's target for a process that trains: days are short and leave much
// behind.
const CollectAt = 400

// A Config says how to train.
type Config struct {
	Seed      uint64
	Decisions int    // about how many to learn from
	Reward    string // RewardRegret or RewardPlain
	Version   string // of this build
	Progress  func(Progress)

	shrink int // tests: days have so many times fewer jobs
}

// A Progress says how far a training is.
type Progress struct {
	Decisions int         // so far
	Part      float64     // of the training that is done, from 0 to 1
	Point     *CurvePoint // the latest of the learning curve, if one is new
}

// A CurvePoint says how weights do on the validation days.
type CurvePoint struct {
	Decisions int     `json:"decisions"`
	Percent   float64 `json:"percent"` // of the jobs' cost over that of the untrained net: mean of log ratios
}

// A Result is a training's outcome.
type Result struct {
	Weights net.File // those that did best on the validation days
	Curve   []CurvePoint
}

// Train trains a policy. It uses all cores.
func Train(ctx context.Context, cfg Config) (Result, error) {
	if cfg.Decisions < FewestDecisions || cfg.Decisions > MostDecisions {
		return Result{}, fmt.Errorf("learn: %d decisions: want %d to %d", cfg.Decisions, FewestDecisions, MostDecisions)
	}
	t := training{Config: cfg, ppo: fit.NewPPO(learned.Inputs, cfg.Seed), updates: updatesFor(cfg.Decisions)}
	for _, d := range validationDays() {
		s, err := d.load(cfg.shrink)
		if err != nil {
			return Result{}, err
		}
		t.validation = append(t.validation, s)
	}
	if err := t.addPoint(ctx); err != nil {
		return Result{}, err
	}
	for u := range t.updates {
		if err := t.update(ctx, u); err != nil {
			return Result{}, err
		}
		if (u+1)%updatesToPoint == 0 || u+1 == t.updates {
			if err := t.addPoint(ctx); err != nil {
				return Result{}, err
			}
		}
	}
	text, err := t.best.Write()
	if err != nil {
		return Result{}, err
	}
	f, err := learned.ParseWeights(text)
	return Result{Weights: f, Curve: t.curve}, err
}

// updatesFor returns how many updates make up so many decisions.
func updatesFor(decisions int) (n int) {
	for left := float64(decisions); left > 0; n++ {
		for k := range daysOfUpdate {
			left -= decisionsPerJob * rolloutsOfDay * float64(trainingDay(n*daysOfUpdate+k).jobs)
		}
	}
	return n
}

// A training is one under way.
type training struct {
	Config
	ppo        *fit.PPO
	updates    int
	done       int // updates
	decisions  int
	validation []spec.Scenario
	untrained  []float64 // cost of the validation days before training
	curve      []CurvePoint
	best       net.File // of the curve's points
	bestMean   float64
}

// update plays the days of an update and learns from them.
func (t *training) update(ctx context.Context, u int) error {
	days := make([]measuredDay, daysOfUpdate)
	if err := inParallel(len(days), func(i int) (err error) {
		days[i], err = measureDay(ctx, trainingDay(u*daysOfUpdate+i), t.Config)
		return err
	}); err != nil {
		return err
	}
	played := make([][]fit.Trajectory, daysOfUpdate*rolloutsOfDay)
	if err := inParallel(daysOfUpdate, func(i int) (err error) { // one day's yardstick serves one at a time
		for k := range rolloutsOfDay {
			at := i*rolloutsOfDay + k
			if played[at], err = days[i].play(ctx, t.ppo.NewPlayer(diceOf(t.Seed, u, at))); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	var all []fit.Trajectory
	for _, p := range played {
		all = append(all, p...)
	}
	t.done++
	t.decisions += t.ppo.Update(all, float64(u)/float64(t.updates)).Steps
	t.tell(nil)
	return nil
}

// addPoint validates the weights as they are, and keeps them if they are the best so far: trainings
// that go on longer may get worse.
func (t *training) addPoint(ctx context.Context) error {
	f := t.weights()
	costs, err := validate(ctx, t.validation, f)
	if err != nil {
		return err
	}
	if t.untrained == nil {
		t.untrained = costs
	}
	mean := 0.0
	for i, c := range costs {
		mean += math.Log(c/t.untrained[i]) / float64(len(costs))
	}
	t.curve = append(t.curve, CurvePoint{t.decisions, 100 * mean})
	if len(t.curve) == 1 || mean < t.bestMean {
		t.bestMean, t.best = mean, f
		t.best.Layers = copyOf(f.Layers)
	}
	t.tell(&t.curve[len(t.curve)-1])
	return nil
}

// tell reports progress.
func (t *training) tell(point *CurvePoint) {
	if t.Progress != nil {
		t.Progress(Progress{t.decisions, float64(t.done) / float64(t.updates), point})
	}
}

// weights returns the policy's net as a file.
func (t *training) weights() net.File {
	return net.File{
		Name: learned.Name, Version: t.Version, Seed: t.Seed, Decisions: t.decisions,
		Days: hashOfDays(t.updates * daysOfUpdate), Features: learned.InputNames(), Net: *t.ppo.Policy,
	}
}

// copyOf returns a copy of layers, which training changes in place.
func copyOf(layers []net.Layer) (out []net.Layer) {
	for _, l := range layers {
		out = append(out, net.Layer{Weights: slices.Clone(l.Weights), Bias: slices.Clone(l.Bias)})
	}
	return out
}

// inParallel calls a function for 0 to n-1 on as many cores as there are, and returns the error of the
// least number that had one.
func inParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := range next {
				errs[i] = do(i)
			}
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
