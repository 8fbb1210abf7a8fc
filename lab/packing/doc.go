// Package packing replays the published packing experiment: the nodes and pods of the
// Alibaba "openb" trace, an arrival sequence for each seed, and a policy of package
// fgd that places or drops each pod. It measures the allocated and the fragmented
// share of the cluster's GPUs as load arrives.
//
// The package contains no scheduler: it reads files, orders arrivals, calls fgd and
// counts. Results depend on files and seed alone; the clock that is passed in only
// measures time.
package packing
