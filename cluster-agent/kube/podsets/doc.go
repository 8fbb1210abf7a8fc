// Package podsets says which pods an object of a kind creates that all run at once: for
// each role how many, from which template, and how a pod shows which of them it is. With
// that the queue describes an object of the cluster's users as a gang, and the executor
// gives each of its pods its place.
//
// It knows kinds by what their controllers do, and reads decoded objects only. How a job
// of one pod runs, and kinds whose pods go to one node, are the executor's.
package podsets
