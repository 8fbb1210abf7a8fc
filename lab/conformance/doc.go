// Package conformance reproduces published results with the rules of
// scenarios/baseline/published. A baseline is a fair comparison only if it gives its
// authors' figures on its authors' data; the tests check that to six decimals.
//
// The data is not part of the repository: docs/baselines.md says where to get it, and
// tests skip without it.
package conformance
