package market

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// Tolerances of a site's options for an elastic job: what rounding and other hours of the grid may do.
const (
	maxSizes         = 4       // numbers of pods that a site may offer for a job
	runSlack         = 2_000   // milliseconds
	maxEnergyFactor  = 2       // between the energy of a pod-hour of two options: PUE changes by the hour
	energySlackJoule = 100_000 // millijoules
)

// A sizedOption is a site's option for an elastic job, on a number of pods.
type sizedOption struct {
	*protocol.BidOption
	pods int // as the option says, or as many as the job has
}

// fitsCurve reports whether an option for an elastic job, said on its pods, agrees with the speed-up curve,
// beside options of the same model and cap that the site offers. A run is a part that no pod shortens, such
// as moving its input, and work that goes as fast as the curve says: so it takes no longer on more pods, and
// the saving is no more than the curve's. Its energy goes by pods and hours. An option for
// any other job names no pods, and one for an elastic job none out of its range.
func fitsCurve(j *protocol.Job, o *protocol.BidOption, others []sizedOption) bool {
	pods := j.PodCount()
	if !j.IsElastic() || o.Pods != 0 && o.Pods != pods {
		return o.Pods == 0
	}
	sizes := []int{pods}
	for _, x := range others {
		if !slices.Contains(sizes, x.pods) {
			sizes = append(sizes, x.pods)
		}
		if x.Model != o.Model || x.Cap != o.Cap || x.pods == pods {
			continue
		}
		less, more := sizedOption{o, pods}, x
		if pods > x.pods {
			less, more = x, less
		}
		a, b := less.runMilliseconds(), more.runMilliseconds()
		s, t := int64(j.SpeedOf(less.pods)), int64(j.SpeedOf(more.pods))
		if b > a+runSlack || a*s > (b+runSlack)*t {
			return false
		}
		per := float64(less.Energy) * float64(b) * float64(more.pods)
		of := float64(more.Energy) * float64(a) * float64(less.pods)
		slack := float64(energySlackJoule) * float64(max(a, b)) * float64(more.pods)
		if per > float64(maxEnergyFactor*of)+slack || of > float64(maxEnergyFactor*per)+slack {
			return false
		}
	}
	return len(sizes) <= maxSizes
}

// runMilliseconds returns how long an option runs, without the time in which nodes wake.
func (x sizedOption) runMilliseconds() int64 { return int64(x.Finish-x.Start) - x.Wake.Milliseconds() }
