// Package serving models one replica of an inference service: how fast it answers at a load, what its
// GPUs draw, and how much load it takes within a service level objective.
//
// A decode iteration with b running requests takes T(b) = A + K·b ms, and each prompt token P ms more
// (continuous batching with chunked prefill, as vLLM). [Profile.Estimate] is the formula of means;
// [Simulate] goes iteration by iteration. Percentiles follow from no mean, so [Tabulate] simulates a
// variant once at several loads, and goodput is read from that table.
//
// Both share A, K and P: what they are compared by is the queueing, not the hardware. The package is
// pure; agents/power models what GPUs draw that run jobs.
package serving
