package scenarios

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// SignalKnowledge selects what sites know of their grids ahead of time. All kinds know past
// hours, as soon as their values are published.
type SignalKnowledge string

// Kinds of SignalKnowledge.
const (
	SignalForecasts    SignalKnowledge = ""        // published values, service forecasts, and their own forecasts of the rest
	SignalOwnForecasts SignalKnowledge = "own"     // as SignalForecasts, without services
	SignalPerfect      SignalKnowledge = "perfect" // actual values, two weeks ahead: an upper bound for comparison
	SignalPerturbed    SignalKnowledge = "wrong"   // 72 hours of forecasts, each off by up to half
	SignalNoneAhead    SignalKnowledge = "none"    // no forecast: the last published values are taken to last
	SignalLearned      SignalKnowledge = "learned" // as SignalForecasts, with own forecasts corrected by a net (forecast.Learned)
)

// SignalWrongRunTimes is SignalForecasts where the stated run times of jobs are wrong: see
// statedRunTime. All other kinds know them exactly.
const SignalWrongRunTimes SignalKnowledge = "runtimes"

// signalKnowledgeKinds lists all kinds, the default first.
var signalKnowledgeKinds = []SignalKnowledge{SignalForecasts, SignalOwnForecasts, SignalPerfect, SignalPerturbed, SignalNoneAhead, SignalLearned, SignalWrongRunTimes}

// receivesServices reports whether sites receive the forecasts of services.
func (s SignalKnowledge) receivesServices() bool {
	return s == SignalForecasts || s == SignalLearned || s == SignalWrongRunTimes
}

// A publishedSeries is a series with its publication schedule.
type publishedSeries struct {
	series forecast.Series
	market forecast.Market
}

// wrongForecastLead is how far ahead perturbed values are published.
const wrongForecastLead = 72 * time.Hour

// signalSeries returns what a signal source publishes of a quantity. A value of a later line replaces
// an earlier one of the same hour.
func (s SignalKnowledge) signalSeries(seed uint64, site spec.Site, what protocol.Quantity, points []protocol.Point) ([]publishedSeries, error) {
	actual, err := forecast.NewSeries(points)
	if err != nil {
		return nil, err
	}
	switch s {
	case SignalPerfect:
		return []publishedSeries{{actual, forecast.Market{Lag: -MaxReplayOverrun}}}, nil
	case SignalNoneAhead:
		schedule := publicationSchedule(site, what)
		if schedule.Ahead {
			schedule = forecast.Market{} // the price of an hour that was sold the day before is known in it
		}
		return []publishedSeries{{actual, schedule}}, nil
	case SignalPerturbed:
		// Perturbed values come first, ahead of time; the actual ones replace them at the beginning
		// of their hour, without a lag, because no bill may be made of a wrong value.
		guess, err := forecast.NewSeries(perturbPoints(seed, site.Name, what, points))
		return []publishedSeries{{guess, forecast.Market{Lag: -wrongForecastLead}}, {actual, forecast.Market{}}}, err
	}
	return []publishedSeries{{actual, publicationSchedule(site, what)}}, nil
}

// forecastConfig returns how a site forecasts values that are not published. Of SignalLearned, l corrects
// them; nil: nothing does.
func (s SignalKnowledge) forecastConfig(site spec.Site, l *forecast.Learned) forecast.Config {
	switch s {
	case SignalPerfect, SignalPerturbed:
		return forecast.Config{}
	case SignalNoneAhead:
		return forecast.Config{Price: forecast.Flat, Carbon: forecast.Flat, PUE: forecast.Flat}
	}
	if s != SignalLearned {
		l = nil
	}
	return forecast.Config{Price: forecast.DefaultRule(protocol.GridPrice, publicationSchedule(site, protocol.GridPrice)), Learned: l}
}

// perturbPoints multiplies each point by a factor of 0.5 to 1.5 that depends on seed, site,
// quantity and hour. PUE is left unchanged: sites know it well.
func perturbPoints(seed uint64, site string, what protocol.Quantity, points []protocol.Point) []protocol.Point {
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
