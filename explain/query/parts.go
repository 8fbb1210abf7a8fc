package query

import (
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// evaluateOverParts evaluates a query; one about a job in parts for each of its parts, with what concerns all of
// them before and after.
func (l *Dataset) evaluateOverParts(plain evaluator, q ask.Query) (r Result) {
	w, ok := l.history.LatestJob(q.Job)
	if !ok || !w.Job.IsDivided() {
		return l.evaluateWithOperators(plain, q)
	}
	subject := jobSubject(w.Job.ID)
	r.addSentence("Job %s has %s, all of which start, or none does; its state at the end of the record is %s.", namePart(w.Job.ID), countedPart(valueOf(subject, "parts", len(w.Job.Parts)), "part", "parts"), recordedText(l.stateOf(w)))
	for _, p := range w.PartStates {
		x := q
		x.Job = p.Part
		r.addPart(l.evaluateWithOperators(plain, x))
	}
	if all := l.usageOfParts(w); q.Ask == "bill" && all.jobs+all.pauses > 0 {
		r.addSentence("All parts together took %s, %s CO2e and %s for energy; %s was paid.", append(all.usageParts(subject), all.figureOf(subject, "paid"))...)
		r.noteEstimate(all)
	}
	return r
}

// addPart adds the result on a part of a job to that on the job: rows under the same head, and no chart, which
// would show one part as if it were all.
func (r *Result) addPart(p Result) {
	if len(r.Rows) == 0 {
		r.Head = p.Head
	}
	if slices.Equal(r.Head, p.Head) {
		r.Rows = append(r.Rows, p.Rows...)
	}
	for _, s := range p.Assumptions {
		if !slices.ContainsFunc(r.Assumptions, func(x Sentence) bool { return x.renderText() == s.renderText() }) {
			r.Assumptions = append(r.Assumptions, s)
		}
	}
	r.Sentences = append(r.Sentences, p.Sentences...)
	r.addFigures(p.ExtraFigures...)
	r.citeNamed(p.Cites...)
}

// usageOfParts sums up what the runs of a job's parts took.
func (l *Dataset) usageOfParts(w history.JobRecord) (all usageSum) {
	for _, p := range w.Job.Parts {
		for _, r := range l.jobInstances(protocol.PartID(w.Job.ID, p.Name)) {
			for _, s := range r.RunSegments() {
				if s.Over && r.Job.PartOf == w.Job.ID {
					all.addSegment(s)
				}
			}
		}
	}
	return all
}

// jobNames returns the ids of all jobs that a question may name, sorted: those in parts, too.
func (l *Dataset) jobNames() []protocol.JobID {
	all := append(l.history.JobIDs(), l.history.WholeIDs()...)
	for _, s := range l.history.Services() { // see AnswerQuery
		all = append(all, protocol.JobID(s.Service.ID))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
