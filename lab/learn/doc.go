// Package learn trains the weights of the policy greensched: it replays invented days, in which the
// policy draws its choices, tells each job's regret to the learner, and validates on days of its own.
// It also trains what sites correct their forecasts by (TrainGrid), on recorded grids, and measures that
// on zones and weeks of their own (MeasureGrid).
//
// Promises: the same seed and decisions, or recorded data, give the same weights, on one kind of
// processor and with any number of cores; days of training, validation and report differ; no grid
// teaches whose terms do not let weights of it be passed on.
//
// Neighbours: lab/learn/fit learns from numbers, scenarios/learned decides by what came out of the one
// and agents/forecast forecasts by what came out of the other, lab/bound has the prices by which a
// job's regret is counted.
package learn
