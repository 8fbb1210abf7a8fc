// Package learned decides rounds lot by lot, as one who learns does: it turns each called job into an
// [Observation], asks for an action, and turns that into a decision. [New] has a net answer: the policy
// greensched. lab/seat has a program of anyone's answer, and lab/learn a net that is being trained, so
// all three see the same.
//
// Promises: an observation holds nothing that happens later; whatever is answered, an option is given
// only where its room is left; the same weights and rounds give the same decisions, on any machine.
//
// Neighbours: coordinator/auction defines the clearing rule that this is, internal/net the net.
package learned
