package protocol

import (
	"fmt"
	"time"
)

// A gang with MinPods may start with fewer than all of its pods, as many as find room, as with partial
// admission in Kueue. It gets no more of them later, but may lose some as long as MinPods are left. The component
// with the most pods gives way, of equal ones the first; the others are always whole. What the missing pods would
// have done, the others do: with half of the pods that give way the run takes twice as long.

// givingWay returns the index of the component that a gang may start without a part of.
func (j *Job) givingWay() (most int) {
	for i := range j.Pods {
		if j.Pods[i].Pods > j.Pods[most].Pods {
			most = i
		}
	}
	return most
}

// maySpare returns how many pods a gang may do without.
func (j *Job) maySpare() int {
	if j.MinPods == 0 {
		return 0
	}
	return max(j.PodCount()-j.MinPods, 0)
}

// LeastPods returns with how many of its pods j may start.
func (j *Job) LeastPods() int { return j.PodCount() - j.maySpare() }

// WithPodCount returns j as it runs with so many of its pods, from LeastPods on: a gang of these, which takes
// longer.
func (j Job) WithPodCount(pods int) Job {
	missing := j.PodCount() - pods
	if j.MinPods == 0 || missing <= 0 || missing > j.maySpare() {
		return j
	}
	all, i := append([]Component(nil), j.Pods...), j.givingWay()
	all[i].Pods -= missing
	// Whole seconds, rounded up. A product of MaxRun and MaxPods fits.
	whole, left := time.Duration(j.Pods[i].Pods), time.Duration(all[i].Pods) // as SlowedBy
	seconds := j.Run / time.Second
	if j.Run%time.Second > 0 {
		seconds++
	}
	j.Run = (seconds*whole + left - 1) / left * time.Second
	if j = j.withSums(all); j.givingWay() != i {
		j.MinPods = 0 // another has most now: none may be lost
	}
	return j
}

// MostPodsWithin returns on how many pods a job that can run on several numbers takes no more than some GPUs, in
// thousandths; 0 if it takes no more on any number, or cannot run on as few.
func (j *Job) MostPodsWithin(gpus Milli) int {
	fewest, most, at := j.LeastPods(), j.PodCount(), j.WithPodCount
	if j.IsElastic() {
		at = j.AtPods
		fewest, most = j.PodRange()
	}
	for pods := most; pods >= fewest; pods-- {
		if x := at(pods); x.TotalGPUMilli() > gpus {
			continue
		}
		if pods == most {
			return 0
		}
		return pods
	}
	return 0
}

// SlowedBy returns how many pods did what fewer do in x, which is j with fewer pods: a run slows down by all/fewer.
func (j *Job) SlowedBy(x *Job) (all, fewer time.Duration) {
	i := j.givingWay()
	return time.Duration(j.Pods[i].Pods), time.Duration(x.Pods[i].Pods)
}

// HasSizes reports whether j can run on several numbers of pods: it is elastic, or may start with fewer.
func (j *Job) HasSizes() bool { return j.IsElastic() || j.MinPods > 0 }

// AtPlaces returns j as it runs at some places: an elastic job on as many pods as they have, if these are
// within its range, a gang that may start with fewer pods with those, and any other job as it is.
func (j Job) AtPlaces(places []Place) Job {
	pods := 0
	for i := range places {
		pods += places[i].Pods
	}
	switch fewest, most := j.PodRange(); {
	case len(places) == 0:
		return j
	case j.IsElastic() && pods >= fewest && pods <= most:
		return j.AtPods(pods)
	}
	return j.WithPodCount(pods)
}

// invalidMinPods returns what is wrong with the number of pods with which a gang may start, or "". The
// field is named as in a job file.
func (j *Job) invalidMinPods() string {
	if j.MostPods < 0 || j.MostPods != 0 && !j.HasSizes() {
		return "it names a most number of pods, which only calls of the market do"
	}
	if j.MinPods == 0 {
		return ""
	}
	if j.IsElastic() {
		return "min_available: the job is elastic, and its speed says on how few pods it runs; drop min_available, or speed"
	}
	if !j.IsGang() {
		return "min_available: of a job of one pod; add components, or drop it"
	}
	// One pod of the component that gives way must be left, and all of the others.
	others := j.PodCount() - j.Pods[j.givingWay()].Pods
	switch {
	case j.MinPods < others+1 || j.MinPods > j.PodCount():
		return fmt.Sprintf("min_available: %d; want %d..%d, since only component %q, which has the most pods, may start in part", j.MinPods, others+1, j.PodCount(), j.Pods[j.givingWay()].Role)
	case j.Pause > 0:
		return "min_available: the job may be paused, too; drop pause, or start with all pods"
	}
	return ""
}
