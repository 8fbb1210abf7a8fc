package scenarios

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Signals selects what sites know of their grids ahead of time. All kinds know the current and past hours.
type Signals string

// Kinds of Signals.
const (
	Forecasts Signals = ""        // published values, service forecasts, and their own forecasts of the rest
	Own       Signals = "own"     // as Forecasts, without services
	Perfect   Signals = "perfect" // actual values, two weeks ahead: an upper bound for comparison
	Wrong     Signals = "wrong"   // 72 hours of forecasts, each off by up to half
	NoneAhead Signals = "none"    // no forecast: the current hour's values are taken to last
)

// kinds lists all kinds, the default first.
var kinds = []Signals{Forecasts, Own, Perfect, Wrong, NoneAhead}

// A line is a series with its publication schedule.
type line struct {
	series forecast.Series
	market forecast.Market
}

// wrongFor is how far ahead perturbed values are published.
const wrongFor = 72 * time.Hour

// lines returns what a feed publishes of a quantity. A value of a later line replaces an earlier one of the same
// hour.
func (s Signals) lines(seed uint64, site spec.Site, what protocol.Quantity, points []protocol.Point) ([]line, error) {
	actual, err := forecast.NewSeries(points)
	if err != nil {
		return nil, err
	}
	switch s {
	case Perfect:
		return []line{{actual, forecast.Market{Lag: -Longest}}}, nil
	case NoneAhead:
		return []line{{actual, forecast.Market{}}}, nil
	case Wrong:
		guess, err := forecast.NewSeries(wrong(seed, site.Name, what, points))
		return []line{{guess, forecast.Market{Lag: -wrongFor}}, {actual, forecast.Market{}}}, err
	}
	return []line{{actual, publishes(site, what)}}, nil
}

// rules returns how a site forecasts values that are not published.
func (s Signals) rules(site spec.Site) forecast.Config {
	switch s {
	case Perfect, Wrong:
		return forecast.Config{}
	case NoneAhead:
		return forecast.Config{Price: forecast.Flat, Carbon: forecast.Flat, PUE: forecast.Flat}
	}
	return forecast.Config{Price: forecast.Usual(protocol.GridPrice, publishes(site, protocol.GridPrice))}
}

// wrong multiplies each point by a factor of 0.5 to 1.5 that depends on seed, site, quantity and hour. PUE is left
// unchanged: sites know it well.
func wrong(seed uint64, site string, what protocol.Quantity, points []protocol.Point) []protocol.Point {
	if what == protocol.GridPUE {
		return points
	}
	out := make([]protocol.Point, len(points))
	for i, p := range points {
		h := fnv.New64a()
		key := append([]byte(site), what...)
		h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(key, seed), uint64(p.At))) // hash.Hash never returns an error
		out[i] = protocol.Point{At: p.At, Value: p.Value * (500 + int64(h.Sum64()%1001)) / 1000}
	}
	return out
}
