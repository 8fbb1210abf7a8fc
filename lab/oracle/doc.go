// Package oracle holds the gradients of lab/learn/fit against those of another implementation, gomlx, in
// float64. It is a module of its own, so that the product requires nothing of gomlx; `make oracle` runs
// its test, and `make test` does not.
//
// Neighbours: lab/learn/fit holds the same gradients against differences, in `make test`.
package oracle
