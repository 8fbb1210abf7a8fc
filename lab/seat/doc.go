// Package seat lets a program of anyone's, a learner, take one seat of a replay by lines of JSON: one
// line in, one line out. The seat "rule" speaks for the clearing: it decides each called job in
// place of the auction, among the options that sites bid. The seat "room" prices the room that the
// auction keeps from jobs that can wait; at the seat "site" each site is an agent that chooses what it
// says of its costs (docs/learners.md has the lines).
//
// The same lines serve both ways round. [Serve] answers a program that trains: it resets days and
// steps through them, as a Gymnasium environment does. A [Learner] is a program that a replay starts
// and asks, to be judged as any other policy.
//
// Promises: the same resets and the same answers give the same lines, byte for byte; a line that
// cannot be read gets an error in a line and ends nothing; a learner is told what its seat sees and
// nothing that happens later; a learner that a replay asks cannot end that replay, nor change
// anything but its own choices.
//
// Neighbours: scenarios replays the day, coordinator/auction defines the clearing rule whose place
// the seat takes, history counts what the day costs.
package seat
