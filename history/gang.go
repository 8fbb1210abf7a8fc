package history

import "github.com/gridbid/gridbid/protocol"

// A GangWait is what a gang waited for by a round in which no site could start it at once.
type GangWait struct {
	Room int            // for so many of its pods at once, where most was
	Site string         // there; "": some site could start it, or none said
	Held *protocol.Hole // what the site that has it keeps idle until it starts; nil: nothing
}

// GangWait returns what the job, a gang, waited for by one of its rounds.
func (r *JobRecord) GangWait(h *JobRound) (w GangWait) {
	most, at, now := -1, "", false
	for _, a := range h.Answers {
		for i := range a.Options {
			p := &a.Options[i]
			if a.Late || p.Hole == nil {
				now = now || !a.Late
				continue
			}
			if p.Hole.Fit > most {
				most, at = p.Hole.Fit, a.Site
			}
			if h.Decision.Kind == "award" && a.Site == h.Decision.Site && p.BidOption == h.Decision.Option.BidOption && p.Hole.GPUHours > 0 {
				w.Held = p.Hole
			}
		}
	}
	if most >= 0 && most < r.Job.PodCount() && !now {
		w.Room, w.Site = most, at
	}
	return w
}

// NodePods is how many pods of a role a run has on a node, and on how many of its GPUs.
type NodePods struct {
	Role, Node string
	Pods, GPUs int
}

// PodsByNode returns where the pods of a gang are in the segment, one item for each role and node; none before
// that is known.
func (s RunSegment) PodsByNode() (all []NodePods) {
	for _, p := range s.Run.Places {
		role := ""
		if p.Component >= 0 && p.Component < len(s.Job.Pods) {
			role = s.Job.Pods[p.Component].Role
		}
		all = append(all, NodePods{role, p.Node, p.Pods, len(p.Devices)})
	}
	return all
}

// PausedByItsSite reports whether the segment ended in a pause that its award did not name: its site made room,
// or resized it.
func (s RunSegment) PausedByItsSite() bool {
	a := s.Award()
	return s.Run.Paused && !s.Run.Preempted && a != nil && a.PauseAt == 0
}
