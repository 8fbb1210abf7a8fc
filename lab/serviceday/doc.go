// Package serviceday replays recorded days on which an inference service runs beside batch jobs, under
// several rules that divide its replicas over sites, and compares what the service cost, emitted and
// served in time, and what became of the jobs.
//
// All rows have the same load, start times, draw and traffic, and the same replica counts but for a margin of the
// rows by cost: only the division differs.
// The replay is the market's own, with calls, bids and assignments; after it each minute of the service is
// reckoned from the replicas that executors were told to run and that ran ([account]). [lowerBound] is
// what no placement of the same counts can be below.
//
// agents/serving has the model of a replica, scenarios/trace the day made of a recorded hour, and
// lab/bench the intervals.
package serviceday
