package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Series is a step function of time: each point holds until the next one, the
// last for an hour. The zero Series has no values.
type Series struct {
	points []protocol.Point // Invariant: ascending by At, no two alike
}

// NewSeries returns the series of points, which must be in ascending time. The
// error names the first point that is not.
func NewSeries(points []protocol.Point) (Series, error) {
	for i, p := range points[:max(0, len(points)-1)] {
		if next := points[i+1]; next.At <= p.At {
			return Series{}, fmt.Errorf("forecast: point %d of the series is at %v, not after the one before at %v; sort points by time and remove duplicates", i+1, next.At, p.At)
		}
	}
	return Series{slices.Clone(points)}, nil
}

// ValueAt returns the value at t; ok is false before the first point and after the end.
func (s Series) ValueAt(t protocol.Time) (int64, bool) {
	i, exact := slices.BinarySearchFunc(s.points, t, func(p protocol.Point, t protocol.Time) int {
		return cmp.Compare(p.At, t)
	})
	if !exact {
		i--
	}
	if i < 0 || t >= s.End() {
		return 0, false
	}
	return s.points[i].Value, true
}

// Start returns the instant of the first point, or 0.
func (s Series) Start() protocol.Time {
	if len(s.points) == 0 {
		return 0
	}
	return s.points[0].At
}

// End returns the instant after the last value: an hour after the last point.
func (s Series) End() protocol.Time {
	if len(s.points) == 0 {
		return 0
	}
	return s.points[len(s.points)-1].At.Add(time.Hour)
}

// An hour counts hours since 1970, in UTC.
type hour int64

func hourOf(t protocol.Time) hour { return hour(clampTime(t).Floor(time.Hour) / msPerHour) }

// clampTime clamps t to within 140,000 years of 1970, where no sum overflows.
func clampTime(t protocol.Time) protocol.Time { return min(max(t, -1<<52), 1<<52) }

func (h hour) startTime() protocol.Time { return protocol.Time(h) * msPerHour }

const (
	msPerHour = 3_600_000
	day       = 24 // hours
)
