// Package sim simulates what surrounds the deciding parties of a federation:
// executors that run jobs on nodes with a power draw, publishers of grid signals, and
// a submitter with a list of jobs.
//
// Each is a bus.Machine that models physics and makes no decision. The deciding
// parties are the production ones and learn about the simulation by message alone, so
// they cannot see a price before it is published or an end before it happens. Package
// sim/loop drives the simulated clock.
package sim
