// Package bound says what no scheduler can beat: a certified lower bound on the
// objective of a scenario, for one who knows all arrivals, prices and carbon
// from the start (METHOD, section 5).
//
// The bound is the Lagrangian dual of the problem in which each job takes one
// way to run (a site, a GPU model, a power cap, a node size) and any start at
// or after its arrival, and in which the GPUs of each kind of node at a site
// are room that jobs share. With a price for the room of each kind in each
// slot, jobs choose apart from one another, and
//
//	bound = sum over jobs of min over ways and starts (cost + room x price) - sum over room x price
//
// holds for any prices that are not negative. So the prices are the proof:
// [ComputeCertificate] searches for good ones and returns them as a [Certificate]; [VerifyCertificate]
// recomputes the bound from them by another road. A job that can be paused may
// also run in parts: see docs/bound.md and decision 0209.
//
// What it promises: whatever a policy does on the stage of package scenarios,
// the record's objective is not below the bound. Every relaxation makes the
// bound lower, never higher; docs/bound.md lists them.
package bound
