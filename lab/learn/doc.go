// Package learn trains the weights of the policy greensched: it replays invented days, in which the
// policy draws its choices, tells each job's regret to the learner, and validates on days of its own.
//
// Promises: the same seed and decisions give the same weights, on one kind of processor and with any
// number of cores; days of training, validation and report differ.
//
// Neighbours: lab/learn/fit learns from numbers, scenarios/learned decides by what came out, lab/bound
// has the prices by which a job's regret is counted.
package learn
