package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import (
	"fmt"
	"time"
)

// An elastic job can run on any number of pods within a range. It has one component, whose Pods say on how
// many Run holds, and a speed-up curve: its Speed at some numbers of pods, from the fewest to the most,
// linear between. Its work is Run times its speed there, so on more pods it takes less time.
//
// The same job can be said on any number of its range: see AtPods. So an elastic job that was awarded a
// number of pods is a gang of so many, for all that run it.
type SpeedPoint struct {
	_msgpack struct{} `msgpack:",as_array"`
	Pods     int
	Speed    Milli // of so many pods together, in thousandths of one pod's
}

// maxSpeedPoints and maxSpeed bound a speed-up curve. With them a run time times a speed fits 64 bits.
const (
	maxSpeedPoints       = 16
	maxSpeed       Milli = 4_000 * MaxPods
)

// IsElastic reports whether j can run on several numbers of pods.
func (j *Job) IsElastic() bool { return len(j.Speed) > 0 }

// PodRange returns the fewest and the most pods that j can run on.
func (j *Job) PodRange() (fewest, most int) {
	if n := len(j.Speed); n > 0 {
		return j.Speed[0].Pods, j.Speed[n-1].Pods
	}
	n := j.PodCount()
	return n, n
}

// SpeedOf returns the speed of an elastic job on so many pods within its range.
func (j *Job) SpeedOf(pods int) Milli {
	for i := range j.Speed {
		if q := j.Speed[i]; q.Pods >= pods {
			if q.Pods == pods || i == 0 {
				return q.Speed
			}
			p := j.Speed[i-1]
			return p.Speed + (q.Speed-p.Speed)*Milli(pods-p.Pods)/Milli(q.Pods-p.Pods)
		}
	}
	return j.Speed[len(j.Speed)-1].Speed
}

// AtPods returns an elastic job as it is on another number of pods within its range: its run time and its
// sums are those of so many. Any other job is returned as it is.
func (j Job) AtPods(pods int) Job {
	if !j.IsElastic() || pods == j.Pods[0].Pods {
		return j
	}
	c := j.Pods[0]
	j.Run = j.runOn(j.Run, c.Pods, pods)
	c.Pods = pods
	return j.WithPods([]Component{c})
}

// Under returns j as it runs under an option of a bid: an elastic job on the pods of the option. An option
// without pods, or with such as are out of its range, leaves it as it is.
func (j Job) Under(o *BidOption) Job {
	if fewest, most := j.PodRange(); o.Pods < fewest || o.Pods > most {
		return j
	}
	return j.AtPods(o.Pods)
}

// GPUsUnder returns the GPU capacity that j takes under an option, in thousandths of a device.
func (j *Job) GPUsUnder(o *BidOption) Milli {
	if o.Pods == 0 || !j.IsElastic() {
		return j.TotalGPUMilli()
	}
	return Milli(o.Pods*j.Pods[0].GPUs) * j.Pods[0].Share
}

// RunLeftOn returns what is left of an elastic job's run, counted on the pods that it has, as it counts on
// another number of pods. Work is never lost: it rounds up.
func (j *Job) RunLeftOn(pods int, left time.Duration) time.Duration {
	if !j.IsElastic() {
		return left
	}
	return j.runOn(left, j.Pods[0].Pods, pods)
}

// runOn converts a run time on a number of pods to that on another, rounded up to a millisecond.
func (j *Job) runOn(run time.Duration, from, to int) time.Duration {
	if from == to {
		return run
	}
	num, den := int64(j.SpeedOf(from)), int64(j.SpeedOf(to))
	ms := int64((run + time.Millisecond - 1) / time.Millisecond)
	return time.Duration((ms*num+den-1)/den) * time.Millisecond
}

// invalidSpeed returns what is wrong with the range and the speed-up curve of an elastic job whose pods are
// valid by themselves, or "". The field is named as in a job file.
func (j *Job) invalidSpeed() string {
	n := len(j.Speed)
	switch {
	case n == 0:
		return ""
	case len(j.Pods) != 1:
		return "components: an elastic job has one component; drop speed, or the others"
	case n < 2 || n > maxSpeedPoints:
		return fmt.Sprintf("components[0].speed: %d points; want 2..%d, from the fewest pods to the most", n, maxSpeedPoints)
	}
	for i, p := range j.Speed {
		switch {
		case p.Pods < 1 || p.Pods > MaxPods:
			return fmt.Sprintf("components[0].speed[%d]: %d pods; want 1..%d", i, p.Pods, MaxPods)
		case i > 0 && p.Pods <= j.Speed[i-1].Pods:
			return fmt.Sprintf("components[0].speed[%d]: %d pods after %d; want the points by rising number of pods", i, p.Pods, j.Speed[i-1].Pods)
		case p.Speed < 1 || p.Speed > maxSpeed:
			return fmt.Sprintf("components[0].speed[%d]: want a speed above 0, at most %d times that of one pod", i, maxSpeed/1000)
		case p.Pods == 1 && p.Speed != 1000:
			return fmt.Sprintf("components[0].speed[%d]: one pod has the speed 1, which the others are multiples of", i)
		case i > 0 && p.Speed <= j.Speed[i-1].Speed:
			return fmt.Sprintf("components[0].speed[%d]: not above the speed on %d pods; more pods must be faster, or max lower", i, j.Speed[i-1].Pods)
		}
	}
	fewest, most := j.PodRange()
	switch {
	case j.Pods[0].Pods < fewest || j.Pods[0].Pods > most:
		return fmt.Sprintf("components[0].pods: %d, which run is for; want it within the range of %d to %d pods", j.Pods[0].Pods, fewest, most)
	case j.Run <= 0:
		return "run: an elastic job says how long it runs on its pods"
	case j.Run <= MaxRun && j.RunLeftOn(fewest, j.Run) > MaxRun:
		return fmt.Sprintf("components[0].speed[0]: on %d pods it would run for over 720h", fewest)
	}
	return ""
}
