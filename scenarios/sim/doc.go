// Package sim plays, in simulated time, what a live federation finds outside
// of its own processes: hands that run jobs on machines which draw power, feeds
// that say what a grid does, a submitter with a list of jobs.
//
// Each is a bus.Machine that keeps physics and nothing else. The parties that
// decide are the real ones; they hear of this world only by message, and so
// cannot see a price before it is published or an end before it came.
package sim
