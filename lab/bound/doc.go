// Package bound computes a certified lower bound on the objective of a scenario: no
// scheduler can be below it, even one that knows all arrivals, prices and carbon
// intensities from the start (METHOD, section 5).
//
// The bound is the Lagrangian dual of a relaxed problem. Each job takes one way to
// run (a site, a GPU model, a power cap, a node size) and any start at or after its
// arrival, and the GPUs of each kind of node at a site are shared capacity. With a
// shadow price for each kind and slot, jobs choose independently, and
//
//	bound = sum over jobs of min over ways and starts (cost + capacity x price) - sum over capacity x price
//
// holds for any prices that are not negative (weak duality). So the prices are the
// proof: [ComputeCertificate] searches for good ones and returns them as a [Certificate]; [VerifyCertificate]
// recomputes the bound from them independently. A job that can be paused may also run
// in segments: see docs/bound.md and decision 0209.
//
// Guarantee: for every policy replayed by package scenarios, the record's objective
// is not below the bound. Every relaxation lowers the bound; docs/bound.md lists
// them.
package bound
