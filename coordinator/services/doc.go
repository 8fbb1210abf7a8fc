// Package services is the part of the market that divides long-running services among sites: a state
// machine in memory, which package market steps, sends for and records (docs/services.md).
//
// A service is divided when it comes, when its count changes, on demand, when a site is lost or drained,
// when replicas find no node at their site, and when room may have appeared for replicas that wait. Each
// time all sites are called for capacity, and package division decides by their bids alone; what sites
// were told and have not acknowledged yet is taken off their bids. Sites are then told how many replicas
// to hold. Where replicas move, the old ones stay until the new ones run.
//
// Promises: no decision plans more replicas at a site than its bid has room for; a site that does not
// answer keeps what it has, and gets no more; after a restart each site is told again what it is to hold.
package services
