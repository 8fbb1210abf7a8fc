// Package bench runs the benchmarks behind `gridbid bench`: days by policy and seed, each
// row with its gap to a lower bound (RunPlan); the incentive to misreport costs under three
// payment rules (RunPaymentStudy); how questions are read (JudgeQuestions); and whether
// every claim of an answer, page or report is in the ledger (GroundingCheck).
//
// Each row of a plan is cached in a file of its own, named by a hash of all that it depends
// on: scenario, policy, weights and program. A repeat of the command runs only rows that
// are missing, so an interrupted benchmark can be completed.
//
// Package history computes the figures and package lab/bound the bounds; this package
// collects, compares and prints them.
package bench
