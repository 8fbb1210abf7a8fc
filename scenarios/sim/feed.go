package sim

import (
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// A Feed publishes grid signals to a site's agent, each value at the time at which it becomes known. It is a
// bus.Machine.
type Feed struct {
	mouth protocol.Mouth
	agent protocol.Party
	start protocol.Time
	lines []line
}

// A line publishes one quantity.
type line struct {
	what  protocol.Quantity
	guess bool // a service's forecast, not a measured value
	feed  interface {
		Due() protocol.Time
		Publish(now protocol.Time) []protocol.Point
	}
}

// NewFeed returns the publisher of a site's signals. At start it publishes all values known by then.
func NewFeed(site string, start protocol.Time) *Feed {
	return &Feed{mouth: protocol.Mouth{Who: protocol.Feed(site)}, agent: protocol.Agent(site), start: start}
}

// Begin sets the incarnation number of the feed: see protocol.Mouth.
func (f *Feed) Begin(life uint32) { f.mouth.Life = life }

// Add publishes a series of one quantity on the schedule of m.
func (f *Feed) Add(what protocol.Quantity, s forecast.Series, m forecast.Market) {
	f.lines = append(f.lines, line{what: what, feed: forecast.NewFeed(s, m)})
}

// Foretell publishes a service's forecasts of one quantity, each bulletin at its issue time. Call it before Add:
// within one instant, a site keeps the forecast of an hour only if it arrives before the measured value.
func (f *Feed) Foretell(what protocol.Quantity, said []forecast.Bulletin) {
	f.lines = append(f.lines, line{what: what, guess: true, feed: forecast.NewService(said)})
}

// Due implements bus.Machine.
func (f *Feed) Due() (due protocol.Time) {
	for _, l := range f.lines {
		if d := l.feed.Due(); d != 0 && (due == 0 || d < due) {
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
func (f *Feed) Tick(now protocol.Time) (said []protocol.Message) {
	for _, l := range f.lines {
		for p := l.feed.Publish(now); len(p) > 0; p = l.feed.Publish(now) {
			said = append(said, f.mouth.Say(now, f.agent, protocol.Signal{What: l.what, Points: p, Guess: l.guess}))
		}
	}
	return said
}

// Step implements bus.Machine. A feed accepts no messages.
func (f *Feed) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }
