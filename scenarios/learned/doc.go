// Package learned decides rounds lot by lot, as one who learns does: it turns each called job into an
// [Observation], asks for an action, and turns that into a decision. lab/seat has a program of anyone's answer.
//
// Promises: an observation holds nothing that happens later; whatever is answered, an option is given
// only where its room is left.
//
// Neighbours: coordinator/auction defines the clearing rule that this is.
package learned
