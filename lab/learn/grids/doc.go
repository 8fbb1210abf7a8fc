// Package grids trains what sites correct their forecasts of price and carbon by (Train), on recorded
// grids, and measures it on zones and weeks of their own (Measure).
//
// Promises: the same data and seed give the same weights, on one kind of processor; weeks of training,
// choice and report differ, and none is within three days of a day on which policies are judged; no
// grid teaches whose terms do not let weights of it be passed on.
//
// Neighbours: agents/forecast forecasts by what came out, lab/learn/fit has the gradients, lab/learn
// trains greensched.
package grids
