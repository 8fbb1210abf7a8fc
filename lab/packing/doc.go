// Package packing replays the published packing experiment: the nodes and pods of
// the Alibaba "openb" trace, an arrival sequence per seed, and one policy of
// package fgd that places each pod or drops it. It measures how much of the
// cluster's GPU gets allocated and how much of it lies in fragments, as load
// arrives.
//
// There is no scheduler here: the package reads files, orders arrivals, calls
// fgd and counts. Everything is a function of the files and the seed; the only
// clock is the one passed in, and it times, it does not decide.
package packing
