// Package power knows what GPUs and their hosts draw, and what a power cap
// does to a job: it runs slower, and costs less energy per unit of work.
//
// A [Table] has one [GPU] for each model. A GPU offers [Choice]s: no cap
// first, then the caps that were measured and that save something. A Choice
// is all that a bid needs: how fast the job runs on the reference clock (a
// V100 without a cap is 1000), and what each device draws meanwhile.
//
// What it promises:
//   - no choice lies outside of the range that was measured;
//   - under a cap no device draws more than the cap, and no more than without;
//   - a choice that is slower than another saves energy for it;
//   - run times are rounded up and draws too, so that a bid is not below the
//     curve it comes from.
//
// Every figure says where it is from (Source); those that are not measured on
// that very model are marked Assumed, and any may be replaced by [Table.With].
// docs/signals-and-power.md has the table with its sources.
//
// Where jobs are placed, and which nodes sleep, is the fleet's to say.
package power
