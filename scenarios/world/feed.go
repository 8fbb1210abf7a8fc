package world

import (
	"github.com/gridbid/gridbid/cluster-agent/grid"
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

type line struct {
	what protocol.Quantity
	feed *grid.Feed
}

// NewFeed returns the feed of a site that begins to speak at start, with all
// that was known by then.
func NewFeed(site string, start protocol.Time) *Feed {
	return &Feed{mouth: protocol.Mouth{Who: protocol.Feed(site)}, agent: protocol.Agent(site), start: start}
}

// Begin begins a life of a feed: see protocol.Mouth.
func (f *Feed) Begin(life uint32) { f.mouth.Life = life }

// Add lets the feed tell a series of one quantity, as m publishes it.
func (f *Feed) Add(what protocol.Quantity, s grid.Series, m grid.Market) {
	f.lines = append(f.lines, line{what, grid.NewFeed(s, m)})
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
		if p := l.feed.Publish(now); len(p) > 0 {
			said = append(said, f.mouth.Say(now, f.agent, protocol.Signal{What: l.what, Points: p}))
		}
	}
	return said
}

// Step implements bus.Machine. Nobody tells a grid anything.
func (f *Feed) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }
