package sim

import (
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// A SignalPublisher publishes grid signals to a site's agent, each value at the time at which it
// becomes known. It is a bus.Machine.
type SignalPublisher struct {
	sender protocol.Sender
	agent  protocol.Party
	start  protocol.Time
	lines  []publishedQuantity
}

// A publishedQuantity publishes one quantity.
type publishedQuantity struct {
	quantity protocol.Quantity
	guess    bool // a service's forecast, not a measured value
	series   interface {
		Due() protocol.Time
		Publish(now protocol.Time) []protocol.Point
	}
}

// NewSignalPublisher returns the publisher of a site's signals. At start it publishes all values
// known by then.
func NewSignalPublisher(site string, start protocol.Time) *SignalPublisher {
	return &SignalPublisher{sender: protocol.Sender{Party: protocol.SignalParty(site)}, agent: protocol.AgentParty(site), start: start}
}

// BeginIncarnation sets the incarnation number of the publisher: see protocol.Sender.
func (f *SignalPublisher) BeginIncarnation(life uint32) { f.sender.Incarnation = life }

// AddSeries publishes a series of one quantity on the schedule of m.
func (f *SignalPublisher) AddSeries(what protocol.Quantity, s forecast.Series, m forecast.Market) {
	f.lines = append(f.lines, publishedQuantity{quantity: what, series: forecast.NewSeriesPublisher(s, m)})
}

// AddServiceForecasts publishes a service's forecasts of one quantity, each bulletin at its
// issue time. Call it before AddSeries: within one instant, a site keeps the forecast of an
// hour only if it arrives before the measured value.
func (f *SignalPublisher) AddServiceForecasts(what protocol.Quantity, said []forecast.Bulletin) {
	f.lines = append(f.lines, publishedQuantity{quantity: what, guess: true, series: forecast.NewService(said)})
}

// Due implements bus.Machine.
func (f *SignalPublisher) Due() (due protocol.Time) {
	for _, l := range f.lines {
		if d := l.series.Due(); d != 0 && (due == 0 || d < due) {
			due = d
		}
	}
	if due == 0 {
		return 0
	}
	// Values known before start are published at start.
	return max(due, f.start)
}

// Tick implements bus.Machine.
func (f *SignalPublisher) Tick(now protocol.Time) (said []protocol.Message) {
	for _, l := range f.lines {
		for p := l.series.Publish(now); len(p) > 0; p = l.series.Publish(now) {
			said = append(said, f.sender.NewMessage(now, f.agent, protocol.Signal{What: l.quantity, Points: p, Guess: l.guess}))
		}
	}
	return said
}

// Step implements bus.Machine. A publisher accepts no messages.
func (f *SignalPublisher) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }
