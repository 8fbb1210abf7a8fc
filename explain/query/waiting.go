package query

import (
	"slices"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// statesBeforeRun are the states of a job that has arrived and does not run: a person calls all of
// them waiting.
var statesBeforeRun = []history.State{history.Pending, history.Planned, history.Preempted}

// describeWaiting splits jobs that wait at an instant by their state.
func (r *Result) describeWaiting(l *Dataset, all []history.JobRecord, at protocol.Time) {
	n := make(map[history.State]int)
	for _, x := range all {
		n[l.history.JobStateAt(&x, at).State]++
	}
	var parts partList
	for _, s := range statesBeforeRun {
		if n[s] > 0 {
			parts = append(parts, newSentence("%s "+string(s), valueOf("run", "jobs-"+string(s), n[s])))
		}
	}
	if len(parts) > 0 {
		r.addSentence("By state: %s.", parts)
	}
}

// describeQueue says which jobs are to start before a job at its site, and reports whether it is to
// start anywhere.
func (r *Result) describeQueue(l *Dataset, m jobCase) bool {
	s := l.history.JobStateNow(&m.job, l.lastTime())
	q := l.history.SiteQueuesNow(l.lastTime())[s.Site]
	place, before := q.PlaceOf(m.job.Job.ID)
	if place == 0 || s.State.IsFinal() {
		return false
	}
	r.addSentence("Job %s is to start at %s at %s, as number %s of %s that are to start there.", m.jobName(), namePart(s.Site), jobValue(m, "planned", s.Start),
		jobValue(m, "queue-place", place), jobValue(m, "queue-length", len(q)))
	if next := slices.Clone(before[max(0, len(before)-mostBefore):]); len(next) > 0 {
		slices.Reverse(next)
		r.addSentence("The next before it: %s.", namesOf(next...))
	}
	if !s.Awarded {
		r.addSentence("That is the plan of the last auction, which each may change.")
	}
	return true
}

// mostBefore bounds the jobs of a queue that are named.
const mostBefore = 5
