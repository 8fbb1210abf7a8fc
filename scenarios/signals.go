package scenarios

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Signals say what sites know of their grids ahead of time. All know this hour
// and those gone.
type Signals string

// Kinds of Signals.
const (
	Forecasts Signals = ""        // what is published, what services forecast, and their own forecasts of the rest
	Own       Signals = "own"     // the same, without services
	Perfect   Signals = "perfect" // what will be, two weeks ahead: to compare with
	Wrong     Signals = "wrong"   // of three days, hour by hour, up to half too much or too little
	NoneAhead Signals = "none"    // nothing: they take this hour to last
)

// kinds are all there are, the usual one first.
var kinds = []Signals{Forecasts, Own, Perfect, Wrong, NoneAhead}

// A line is a series, with when its values are said.
type line struct {
	series forecast.Series
	market forecast.Market
}

// wrongFor is how far ahead wrong values are said.
const wrongFor = 72 * time.Hour

// lines returns what a feed says of a quantity. What a later line says of an
// hour replaces what an earlier one said.
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

// rules says how a site forecasts what it is not told.
func (s Signals) rules(site spec.Site) forecast.Config {
	switch s {
	case Perfect, Wrong:
		return forecast.Config{}
	case NoneAhead:
		return forecast.Config{Price: forecast.Flat, Carbon: forecast.Flat, PUE: forecast.Flat}
	}
	return forecast.Config{Price: forecast.Usual(protocol.GridPrice, publishes(site, protocol.GridPrice))}
}

// wrong returns points, each off by up to half either way, by seed, site,
// quantity and hour. The building's share is known well enough and stays.
func wrong(seed uint64, site string, what protocol.Quantity, points []protocol.Point) []protocol.Point {
	if what == protocol.GridPUE {
		return points
	}
	out := make([]protocol.Point, len(points))
	for i, p := range points {
		h := fnv.New64a()
		key := append([]byte(site), what...)
		h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(key, seed), uint64(p.At))) // never fails
		out[i] = protocol.Point{At: p.At, Value: p.Value * (500 + int64(h.Sum64()%1001)) / 1000}
	}
	return out
}
