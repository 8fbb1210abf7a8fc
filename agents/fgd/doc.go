// Package fgd chooses the node and the devices for a job in a cluster of GPU
// nodes. It implements Fragmentation Gradient Descent (Weng et al., "Beware of
// Fragmentation", USENIX ATC 2023) and the baselines of that paper, exactly as
// published. It works incrementally: the cost of a decision grows with the
// number of nodes that changed since the last request of the same class, not
// with the size of the cluster.
//
// # Fragmentation
//
// A cluster expects a target workload: classes of requests with counts. An idle
// part of a GPU is a fragment for a class that cannot use it, because the
// class does not fit the device, the CPU of the node or the GPU model. F, in
// thousandths of a GPU, is the expected fragment for a job drawn from the
// target. FGD places a job where F grows least, or shrinks most.
//
// With D the sum of the counts, D*F is a whole number, so the cluster keeps F
// exactly, in integers. The published program sums floats; [Config].Reference
// repeats its order of summation, rounding noise included, so that tests can
// compare placements one by one.
//
// # What it promises
//
// After any sequence of PlaceRequest, TakePlacement, ReleasePlacement, SetCordon,
// AddNode, RemoveNode and ObserveArrival, a cluster decides as one built from scratch in
// that state would. Quotes change nothing. Among equal scores the node of lowest rank wins; no
// decision depends on time, map order or a global random source. A
// PlaceRequest or QuoteRequest of a class of request seen before allocates nothing.
//
// # Units
//
//   - CPU in milli-CPU, memory in MiB, GPU in thousandths of one device.
//   - A share takes Milli < 1000 of one device. It takes GPUMemory of the device
//     too when both the request and the node state device memory.
//   - Whole requests take 1 to 8 fully idle devices of one node.
//   - Models restrict a request to nodes with one of the named models.
//   - A CPU-only request may use any node, GPU node or not.
//
// A Cluster serves one goroutine at a time. Package capacity, the neighbour
// that calls it, turns a placement into a bid option with a power cap and a
// price.
//
// Numbers such as §5 in comments are sections of a written specification of the
// published program. docs/fgd.md reports how close the package comes to it.
package fgd
