package agents

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/protocol"
)

// An elastic job that may be paused changes its number of pods at a checkpoint: it is paused, and what is left
// of it is called as a job, which sites offer on the numbers that find room then (decision 0379). When room
// becomes free, the agent has those paused that would go on with more pods for less; when a job waits, one that
// would make room for it (makeroom.go).

// Bounds of a resize.
const (
	resizeDelay    = time.Minute // after room became free or a job waits: those who wait for it go first
	minResizeGain  = 1.1         // how much faster a job must get, its restarts counted
	resizeSavings  = 10          // one part in so many of what going on as it is costs
	minResizeSaved = protocol.Microdollars(5_000)
)

// planResizes has resizeRuns look a while after room became free, or a job waits for it.
func (a *Agent) planResizes(now protocol.Time) {
	if a.resizeAt == 0 && a.delivery.AsOffered && a.ranPausableGang {
		for _, id := range slices.Sorted(maps.Keys(a.running)) {
			if a.running[id].mayMove() {
				a.resizeAt = now.Add(resizeDelay)
				return
			}
		}
	}
}

// mayMove reports whether a run is one of a gang that can be paused at a checkpoint, to go on elsewhere or with
// another number of pods.
func (l *activeRun) mayMove() bool {
	j := &l.launch.Job
	return l.running && l.preempt == nil && l.recall == nil && !l.cannotPause && !l.resizing && j.IsGang() && j.Pause > 0
}

// resizeRuns asks the executor to pause a run that makes room for a job that waits, or else an elastic one that
// would be better off with more pods. Whether it can is its answer, as for a planned pause. One run at a time:
// its end has the next one looked at.
func (a *Agent) resizeRuns(now protocol.Time) []protocol.Message {
	if a.resizeAt == 0 || now < a.resizeAt {
		return nil
	}
	a.resizeAt = 0
	id, found := a.runToMove(now)
	if !found {
		for _, x := range slices.Sorted(maps.Keys(a.running)) {
			if l := a.running[x]; !found && l.mayMove() && l.launch.Job.IsElastic() && a.shouldGrow(now, l) {
				id, found = x, true
			}
		}
	}
	if !found {
		return nil
	}
	l := a.running[id]
	l.resizing = true
	return []protocol.Message{a.sendReliably(now, pendingAck{
		job: id, epoch: l.epoch, to: protocol.ExecutorParty(a.cfg.Site), body: protocol.Cancel{Job: id, Epoch: l.epoch, Checkpoint: true},
	})}
}

// restOf returns what would be left of a run if it were paused now, for how long its launch would last else,
// and whether it has done enough for a pause.
func (a *Agent) restOf(now protocol.Time, l *activeRun) (rest protocol.Job, launch time.Duration, ok bool) {
	j := &l.launch.Job
	launch = l.started.Add(l.launch.Run).Sub(now)
	left := a.remainingRun(l, launch)
	if j.Run-left <= 2*j.Pause || launch <= 2*j.Pause { // it may still be moving its input
		return protocol.Job{}, 0, false
	}
	return j.RemainderAfterPause(a.cfg.Site, left), launch, true
}

// ResizeWorth returns by how much a speed-up is to be multiplied for what a restart costs: Sia's rule. Age is
// for how long the job has been there, restarts how often it was restarted, each at a cost. Source: S. Jayaram
// Subramanya et al., "Sia: Heterogeneity-aware, goodput-optimized ML-cluster scheduling", SOSP 2023.
func ResizeWorth(age time.Duration, restarts int, cost time.Duration) float64 {
	if age+cost <= 0 {
		return 0
	}
	return max(0, float64(age-time.Duration(restarts)*cost)/float64(age+cost))
}

// shouldGrow reports whether a run had better be paused and go on with more pods: there is room for them next
// to all reservations, it gets faster by more than its restarts cost, and to go on as it is costs more by the
// prices of the last call.
func (a *Agent) shouldGrow(now protocol.Time, l *activeRun) bool {
	j := &l.launch.Job
	rest, launch, ok := a.restOf(now, l)
	if !ok {
		return false
	}
	_, most := j.PodRange()
	whole := rest.AtPods(most)
	room := a.fleet.PodsThatFit(now, &whole, l.launch.Model, launch)
	stay := rest
	stay.Run -= j.Pause
	as, ok := a.costOfRunning(now, now, &rest, &stay, l.launch.Model, l.launch.Cap)
	if room == 0 || !ok {
		return false
	}
	worth := ResizeWorth(now.Sub(j.Arrival), int(min(l.epoch-1, 1000)), j.Pause)
	for _, pods := range sizesBetween(j, j.PodCount(), min(j.PodCount()+room, most)) {
		at := rest.AtPods(pods)
		gain := float64(j.SpeedOf(pods)) / float64(j.SpeedOf(j.PodCount())) * worth
		grown, ok := a.costOfRunning(now, now, &rest, &at, l.launch.Model, l.launch.Cap)
		if ok && gain >= minResizeGain && as-grown > max(as/resizeSavings, minResizeSaved) && a.fleet.StartsWithout(now, at, l.launch.Model, launch, []protocol.JobID{j.ID}) {
			return true
		}
	}
	return false
}

// sizesBetween returns the numbers of pods above one to look at, the most first.
func sizesBetween(j *protocol.Job, above, most int) (sizes []int) {
	for _, x := range slices.Backward(j.Speed) {
		if x.Pods > above && x.Pods < most {
			sizes = append(sizes, x.Pods)
		}
	}
	if most > above {
		sizes = slices.Insert(sizes, 0, most)
	}
	return sizes
}

// costOfRunning returns what a job costs from a start on, on a model and under a cap, by the prices of the last
// call; waiting and lateness as of called. False if the site could not run it, or has heard no call.
func (a *Agent) costOfRunning(now, start protocol.Time, called, j *protocol.Job, model string, limit protocol.Milliwatts) (cost protocol.Microdollars, ok bool) {
	call, heard := a.lastCall.Body.(protocol.CallForBids)
	if !heard || a.curve == nil {
		return 0, false
	}
	ways, _ := a.fleet.RunConfigs(*j)
	for _, w := range ways {
		if w.Model == model && w.Choice.Cap == limit {
			p := bidPricing{agent: a, now: now, weights: call.Weights.ForRanking(), planning: a.planning, shadow: newShadowPrices(call.ShadowPrices, a.cfg.Site), called: called}
			c := p.pricingOf(j, w, a.fleet.IdlePowerShare(now, *j, w.Model))
			return c.priceStart(start, &capacity.PlacementQuote{}).cost, true
		}
	}
	return 0, false
}
