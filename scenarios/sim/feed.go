package sim

import (
	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

// A Feed tells a site's agent the state of its grid, each value when it became
// known and not before. It is a bus.Machine.
type Feed struct {
	mouth protocol.Mouth
	agent protocol.Party
	start protocol.Time
	lines []line
}

// A line is what tells of one quantity.
type line struct {
	what  protocol.Quantity
	guess bool // forecast by a service
	feed  interface {
		Due() protocol.Time
		Publish(now protocol.Time) []protocol.Point
	}
}

// NewFeed returns the feed of a site that begins to speak at start, with all
// that was known by then.
func NewFeed(site string, start protocol.Time) *Feed {
	return &Feed{mouth: protocol.Mouth{Who: protocol.Feed(site)}, agent: protocol.Agent(site), start: start}
}

// Begin begins a life of a feed: see protocol.Mouth.
func (f *Feed) Begin(life uint32) { f.mouth.Life = life }

// Add lets the feed tell a series of one quantity, as m publishes it.
func (f *Feed) Add(what protocol.Quantity, s forecast.Series, m forecast.Market) {
	f.lines = append(f.lines, line{what: what, feed: forecast.NewFeed(s, m)})
}

// Foretell lets the feed tell what a service said of one quantity, each bulletin
// when it was issued. A site remembers what was foretold of an hour only if it hears
// it before the hour's own value: so Foretell comes before Add.
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

// Step implements bus.Machine. Nobody tells a grid anything.
func (f *Feed) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }
