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
// becomes free, the agent has those paused that would go on with more pods for less.

// Bounds of a resize.
const (
	growDelay      = time.Minute // after room became free: those who wait for it go first
	minResizeGain  = 1.1         // how much faster a job must get, its restarts counted
	resizeSavings  = 10          // one part in so many of what going on as it is costs
	minResizeSaved = protocol.Microdollars(5_000)
)

// planGrowth has growElasticJobs look a while after room became free.
func (a *Agent) planGrowth(now protocol.Time) {
	if a.growAt == 0 && a.delivery.AsOffered {
		for _, id := range slices.Sorted(maps.Keys(a.running)) {
			if a.running[id].mayResize() {
				a.growAt = now.Add(growDelay)
				return
			}
		}
	}
}

// mayResize reports whether a run's number of pods can change at a checkpoint.
func (l *activeRun) mayResize() bool {
	j := &l.launch.Job
	return l.running && l.preempt == nil && l.recall == nil && !l.cannotPause && !l.resizing && j.IsElastic() && j.Pause > 0
}

// growElasticJobs asks the executor to pause the elastic jobs that would be better off with more pods. Whether
// it can is its answer, as for a planned pause.
func (a *Agent) growElasticJobs(now protocol.Time) (msgs []protocol.Message) {
	if a.growAt == 0 || now < a.growAt {
		return nil
	}
	a.growAt = 0
	for _, id := range slices.Sorted(maps.Keys(a.running)) {
		if l := a.running[id]; l.mayResize() && a.shouldGrow(now, l) {
			l.resizing = true
			return []protocol.Message{a.sendReliably(now, pendingAck{
				job: id, epoch: l.epoch, to: protocol.ExecutorParty(a.cfg.Site), body: protocol.Cancel{Job: id, Epoch: l.epoch, Checkpoint: true},
			})} // one at a time: its end has the next one looked at
		}
	}
	return nil
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
	call, ok := a.lastCall.Body.(protocol.CallForBids)
	launch := l.started.Add(l.launch.Run).Sub(now)
	left := a.remainingRun(l, launch)
	if !ok || a.curve == nil || j.Run-left <= 2*j.Pause || launch <= 2*j.Pause { // it may still be moving its input
		return false
	}
	rest := j.RemainderAfterPause(a.cfg.Site, left)
	_, most := j.PodRange()
	whole := rest.AtPods(most)
	room := a.fleet.PodsThatFit(now, &whole, l.launch.Model, launch)
	stay := rest
	stay.Run -= j.Pause
	as, ok := a.costOfGoingOn(now, &call, &rest, &stay, l)
	if room == 0 || !ok {
		return false
	}
	worth := ResizeWorth(now.Sub(j.Arrival), int(min(l.epoch-1, 1000)), j.Pause)
	for _, pods := range sizesBetween(j, j.PodCount(), min(j.PodCount()+room, most)) {
		at := rest.AtPods(pods)
		gain := float64(j.SpeedOf(pods)) / float64(j.SpeedOf(j.PodCount())) * worth
		grown, ok := a.costOfGoingOn(now, &call, &rest, &at, l)
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

// costOfGoingOn returns what the rest of a job costs from now on, on the model and under the cap of its run;
// waiting and lateness as of called. False if the site could not run it.
func (a *Agent) costOfGoingOn(now protocol.Time, call *protocol.CallForBids, called, rest *protocol.Job, l *activeRun) (cost protocol.Microdollars, ok bool) {
	ways, _ := a.fleet.RunConfigs(*rest)
	for _, w := range ways {
		if w.Model == l.launch.Model && w.Choice.Cap == l.launch.Cap {
			p := bidPricing{agent: a, now: now, weights: call.Weights.ForRanking(), planning: a.planning, shadow: newShadowPrices(call.ShadowPrices, a.cfg.Site), called: called}
			c := p.pricingOf(rest, w, a.fleet.IdlePowerShare(now, *rest, w.Model))
			return c.priceStart(now, &capacity.PlacementQuote{}).cost, true
		}
	}
	return 0, false
}
