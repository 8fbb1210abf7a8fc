package forecast

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Feed says the values of one series when they become known, each once. Its
// owner puts what it says into Signal messages.
type Feed struct {
	series Series
	market Market
	told   protocol.Time // the first hour not said
}

// NewFeed returns a feed that has said nothing yet.
func NewFeed(s Series, m Market) *Feed {
	return &Feed{series: s, market: m, told: s.Start().Ceil(time.Hour)}
}

// Publish returns what has become known since it was called before, one point
// for each hour: the value at its beginning.
func (f *Feed) Publish(now protocol.Time) []protocol.Point {
	var said []protocol.Point
	until := min(f.market.Until(now), f.series.End())
	for f.told < until {
		if v, ok := f.series.At(f.told); ok {
			said = append(said, protocol.Point{At: f.told, Value: v})
		}
		f.told = f.told.Add(time.Hour)
	}
	return said
}

// Due returns when Publish will have more to say, or 0 for never.
func (f *Feed) Due() protocol.Time {
	if f.told >= f.series.End() {
		return 0
	}
	return f.market.next(f.told)
}
