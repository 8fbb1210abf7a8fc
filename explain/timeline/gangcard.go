package timeline

import (
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A GangCard is what a card tells of a job of several pods, or in parts.
type GangCard struct {
	Wait  history.GangWait // what it waited for by the decision's round
	Runs  []GangRun        // oldest first
	Parts []GangPart       // of the job in parts that this is, or is a part of
}

// A GangRun is a run of a gang: an elastic job has one for each number of pods that it had.
type GangRun struct {
	history.RunSegment
	Nodes   []history.NodePods
	Stopped string // how it ended, of one that was paused; else ""
}

// A GangPart is a part of a job at several sites, and the decision on it, if there is one.
type GangPart struct {
	history.PartState
	Decision string
}

// gangCard returns what a card tells of its gang; nil if its job is none.
func (d *Timeline) gangCard(c *Card) *GangCard {
	r := &c.Record
	if !r.Job.IsGang() && !r.Job.IsDivided() && r.Job.PartOf == "" {
		return nil
	}
	g := new(GangCard)
	if c.JobRound != nil {
		g.Wait = r.GangWait(c.JobRound)
	}
	for i, s := range r.RunSegments() {
		run := GangRun{RunSegment: s, Nodes: s.PodsByNode()}
		if i < len(r.Parts) {
			run.Stopped = narrate.HowStopped(s)
		}
		g.Runs = append(g.Runs, run)
	}
	g.Parts = d.partsOf(r)
	return g
}

// partsOf returns how the parts stand of the job in parts that r is, or is a part of.
func (d *Timeline) partsOf(r *history.JobRecord) (all []GangPart) {
	whole, id := r, r.Job.PartOf
	if id == "" {
		id = r.Job.ID
	}
	if w, ok := d.history.LatestJob(id); ok {
		whole = &w
	}
	for _, p := range whole.PartStates {
		part := GangPart{PartState: p}
		if e, ok := d.LastDecision(p.Part); ok {
			part.Decision = e.ID
		}
		all = append(all, part)
	}
	return all
}

// Pods returns how many pods the run has.
func (g GangRun) Pods() int { return g.Job.PodCount() }

// Started returns when the run began, or is to begin; 0 if that is not known.
func (g GangRun) Started() protocol.Time { return g.Run.Started }
