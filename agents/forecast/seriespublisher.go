package forecast

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A SeriesPublisher publishes the values of one series when they become known, each once.
// Its owner sends them as Signal messages.
type SeriesPublisher struct {
	series   Series
	market   Market
	nextHour protocol.Time // the first hour not published yet
}

// NewSeriesPublisher returns a publisher that has published nothing yet.
func NewSeriesPublisher(s Series, m Market) *SeriesPublisher {
	return &SeriesPublisher{series: s, market: m, nextHour: s.Start().Ceil(time.Hour)}
}

// Publish returns the values that became known since the previous call, one
// point for each hour: the value at the beginning of the hour.
func (f *SeriesPublisher) Publish(now protocol.Time) []protocol.Point {
	var published []protocol.Point
	until := min(f.market.KnownUntil(now), f.series.End())
	for f.nextHour < until {
		if v, ok := f.series.ValueAt(f.nextHour); ok {
			published = append(published, protocol.Point{At: f.nextHour, Value: v})
		}
		f.nextHour = f.nextHour.Add(time.Hour)
	}
	return published
}

// Due returns when Publish will return more points, or 0 for never.
func (f *SeriesPublisher) Due() protocol.Time {
	if f.nextHour >= f.series.End() {
		return 0
	}
	return f.market.nextPublication(f.nextHour)
}
