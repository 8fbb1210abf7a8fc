// Package fgd says where a job lands in a cluster of GPU nodes. It is the
// published Fragmentation Gradient Descent (Weng et al., "Beware of
// Fragmentation", USENIX ATC 2023) and its baselines, exactly, and made
// incremental: a decision costs what changed since the last one of its kind,
// not what the cluster holds.
//
// # Fragmentation
//
// A cluster is expected to serve a target workload: classes of requests with
// counts. An idle part of a GPU is a fragment for a class that cannot use it,
// because its device, its node's CPU or its model does not fit. F, in
// thousandths of a GPU, is the expected fragment for a job drawn from the
// target. FGD places a job where F grows least, or shrinks most.
//
// With D the sum of the counts, D*F is a whole number, so F is kept exactly.
// The published program sums floats; [Config].Reference repeats its order of
// summation, and with it its rounding noise, for parity.
//
// # What it promises
//
// The state after any sequence of Place, Take, Release, Cordon, AddNode,
// RemoveNode and Observe decides as a fresh cluster in that state would.
// Quotes change nothing. Equal scores go to the lowest rank; nothing depends on
// time, on map order or on a global random source. A Place or Quote of a kind
// of request seen before allocates nothing.
//
// # What it counts
//
//   - CPU in milli-CPU, memory in MiB, GPU in thousandths of one device.
//   - A share takes Milli < 1000 of one device, and GPUMemory of it where both
//     the request and the node speak of device memory.
//   - Whole requests take 1 to 8 fully idle devices of one node.
//   - Models restrict a request to nodes with one of the named models.
//   - A CPU-only request may use any node, GPU node or not.
//
// A Cluster is single-threaded: one goroutine at a time. Package fleet, its
// neighbour, turns a placement into an option with a power cap and a price.
package fgd
