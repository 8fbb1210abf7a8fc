package jobfile

import (
	"fmt"
	"math"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A SpeedSpec is one point of a speed-up curve: how fast so many pods are together, as a multiple of one.
type SpeedSpec struct {
	Pods  int     `yaml:"pods"`
	Speed float64 `yaml:"speed"`
}

// speedCurve returns the speed-up curve of an elastic job from the fewest to the most pods; nil if the file
// says none. Min and max cut the curve that is given.
func (s Spec) speedCurve(at func(key, format string, args ...any) error) (curve []protocol.SpeedPoint, err error) {
	for i, c := range s.Components {
		key := func(name string) string { return fmt.Sprintf("components/%d/%s", i, name) }
		switch {
		case len(c.Speed) == 0 && c.Min != 0:
			return nil, at(key("min"), "is given without speed: say how fast the job is on %d pods and on more", c.Min)
		case len(c.Speed) == 0 && c.Max != 0:
			return nil, at(key("max"), "is given without speed: say how fast the job is on %d pods and on fewer", c.Max)
		case len(c.Speed) == 0:
			continue
		case len(s.Components) > 1:
			return nil, at(key("speed"), "is that of one of several components: an elastic job has one")
		case s.MinAvailable != 0:
			return nil, at("min_available", "is given for an elastic job: drop it, and say by min of the component on how few pods it runs")
		}
		full := protocol.Job{}
		for k, p := range c.Speed {
			x := protocol.SpeedPoint{Pods: p.Pods, Speed: protocol.Milli(math.Round(p.Speed * 1000))}
			if k > 0 && x.Pods <= full.Speed[k-1].Pods {
				return nil, at(key(fmt.Sprintf("speed/%d", k)), "is for %d pods after %d: want the points by rising number of pods", x.Pods, full.Speed[k-1].Pods)
			}
			full.Speed = append(full.Speed, x)
		}
		fewest, most := full.PodRange()
		if c.Min != 0 && (c.Min < fewest || c.Min > most) {
			return nil, at(key("min"), "is %d, and the curve is from %d to %d pods: add a point", c.Min, fewest, most)
		}
		if c.Max != 0 && (c.Max > most || c.Max <= max(c.Min, fewest)) {
			return nil, at(key("max"), "is %d: want more than the fewest pods, %d, and at most the last point's, %d", c.Max, max(c.Min, fewest), most)
		}
		curve = cutCurve(&full, max(c.Min, fewest), c.Max)
	}
	return curve, nil
}

// cutCurve returns the curve of a job from fewest to most pods; most 0 is its last point.
func cutCurve(full *protocol.Job, fewest, most int) (curve []protocol.SpeedPoint) {
	if most == 0 {
		_, most = full.PodRange()
	}
	for _, pods := range append([]int{fewest, most}, podsOf(full.Speed)...) {
		if pods >= fewest && pods <= most {
			curve = append(curve, protocol.SpeedPoint{Pods: pods, Speed: full.SpeedOf(pods)})
		}
	}
	slices.SortFunc(curve, func(x, y protocol.SpeedPoint) int { return x.Pods - y.Pods })
	return slices.CompactFunc(curve, func(x, y protocol.SpeedPoint) bool { return x.Pods == y.Pods })
}

// podsOf returns the numbers of pods of a curve's points.
func podsOf(curve []protocol.SpeedPoint) (out []int) {
	for _, p := range curve {
		out = append(out, p.Pods)
	}
	return out
}
