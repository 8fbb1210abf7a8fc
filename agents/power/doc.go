// Package power models the power draw of GPUs and of the hosts they sit in, and
// the effect of a power cap on a job: it runs slower and takes less energy per
// unit of work.
//
// A [Table] has one [GPU] for each model. A GPU offers [Choice]s: without a cap
// first, then the measured caps that save energy. A Choice holds all that a
// bid needs: the speed of the job relative to the reference clock (a V100
// without a cap is 1000) and the draw of each device while it runs.
//
// What it promises:
//   - no choice lies outside of the measured range;
//   - a device under a cap draws at most the cap, and at most what it draws
//     without one;
//   - a slower choice takes less energy than every faster one;
//   - run times and draws are rounded up, so that a bid is never below the curve
//     that it comes from.
//
// Every figure names its origin (Source). A figure that was not measured on that
// very model is marked Assumed; an operator can replace any by [Table.WithGPU].
// docs/signals-and-power.md has the table with its sources.
//
// Package agents/capacity, the neighbour, decides where jobs are placed and
// which nodes sleep.
package power
