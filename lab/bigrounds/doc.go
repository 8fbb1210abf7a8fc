// Package bigrounds is a test of rounds that are larger than the connections of sites
// carry: over every bus, the market receives byte for byte what the agents sent, and
// awards the same. It holds one round in memory, over an embedded NATS server, and over
// the hub of a federation with an account for each site, whose agents run in four
// processes of the operating system.
//
// A small round is part of every test; `make big-round` holds one of 1,000 jobs at 64
// sites with the payload of a federation, 512 KiB.
package bigrounds
