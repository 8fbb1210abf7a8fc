// Package conformance runs published cases with our own rules. A comparison
// with a baseline says little until the baseline gives, on its authors' data,
// its authors' figures; the tests hold it to that, to six decimals.
//
// The data is not part of the repository: docs/baselines.md says where it is
// from, and tests skip without it.
package conformance
