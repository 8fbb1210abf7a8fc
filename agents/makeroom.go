package agents

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// A job waits in the queue although enough GPUs are free or could be: they lie on several nodes, or an elastic
// job holds more than its fewest pods. Then a gang that may be paused makes room: it is paused at a checkpoint,
// the job starts, and what is left of the gang goes on beside it, on fewer nodes or with fewer pods. KAI calls
// the first consolidation. Here it is priced: it must cost less than the wait, by as much as every resize.

// A waitingJob is a job of the queue that has its room later and would start at once if it had some now.
type waitingJob struct {
	capacity.JobStart
	saves protocol.Microdollars // what its wait costs
}

// runToMove returns the run by whose move most is saved, for the first job of the queue for which one pays.
func (a *Agent) runToMove(now protocol.Time) (id protocol.JobID, found bool) {
	runs := slices.Sorted(maps.Keys(a.running))
	if slices.ContainsFunc(runs, func(x protocol.JobID) bool { return a.running[x].resizing }) {
		return "", false // it makes room already
	}
	for _, r := range a.queue {
		w, waits := a.asWaiting(now, r)
		if !waits {
			continue
		}
		best := protocol.Microdollars(0)
		for _, x := range runs {
			l := a.running[x]
			if !l.mayMove() || l.launch.Job.Priority > r.job.Priority || l.launch.Model != w.Model {
				continue
			}
			if saved, moves := a.savedByMoving(now, l, &w); moves && saved > best {
				id, found, best = x, true, saved
			}
		}
		if found {
			return id, true
		}
	}
	return "", false
}

// asWaiting returns a job of the queue as one for which room may be made. False if it starts soon anyway, or
// waits by choice.
func (a *Agent) asWaiting(now protocol.Time, r reservation) (w waitingJob, waits bool) {
	from, kept := a.fleet.ReservedFrom(r.job.ID)
	if !r.confirmed || !kept || from <= now.Add(resizeDelay) || r.earliestStart() > now {
		return w, false
	}
	called, known := a.calledJobs.find(r.job.ID)
	if !known {
		called = r.job
	}
	then, ok := a.costOfRunning(now, from, &called, &r.job, r.award.Option.Model, r.award.Option.Cap)
	if !ok {
		return w, false
	}
	soon, _ := a.costOfRunning(now, now, &called, &r.job, r.award.Option.Model, r.award.Option.Cap)
	return waitingJob{capacity.JobStart{Job: r.job, Model: r.award.Option.Model, Run: r.runTime()}, then - soon}, then > soon
}

// savedByMoving returns what is saved if a run is paused for a waiting job and goes on beside it, with as many
// pods as find room: the job's wait, less what the run's pause and its slower rest cost. False if they do not
// fit, or too little is saved.
func (a *Agent) savedByMoving(now protocol.Time, l *activeRun, w *waitingJob) (saved protocol.Microdollars, moves bool) {
	rest, launch, ok := a.restOf(now, l)
	if !ok {
		return 0, false
	}
	stay := rest
	stay.Run -= rest.Pause
	as, ok := a.costOfRunning(now, now, &rest, &stay, l.launch.Model, l.launch.Cap)
	if !ok {
		return 0, false
	}
	fits := func(pods int) bool {
		at := rest.AtPods(pods)
		run := time.Duration(float64(launch) * (float64(at.Run) / float64(stay.Run)))
		return a.fleet.BothStartWithout(now, w.JobStart, capacity.JobStart{Job: at, Model: l.launch.Model, Run: run}, rest.ID)
	}
	fewest, most := rest.PodCount(), rest.PodCount()
	if rest.IsElastic() {
		fewest, _ = rest.PodRange()
	}
	pods := most - sort.Search(most-fewest, func(less int) bool { return fits(most - less) })
	if pods == fewest && !fits(pods) {
		return 0, false
	}
	at := rest.AtPods(pods)
	moved, ok := a.costOfRunning(now, now, &rest, &at, l.launch.Model, l.launch.Cap)
	saved = w.saves - (moved - as)
	return saved, ok && saved > max(w.saves/resizeSavings, minResizeSaved)
}
