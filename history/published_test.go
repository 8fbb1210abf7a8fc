package history

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// What was published of an hour is the newest value that was known, and no forecast of a service.
func TestWhatWasPublishedOfAnHour(t *testing.T) {
	const hour = protocol.Time(7_200_000)
	at := func(n int) protocol.Time { return hour.Add(time.Duration(n) * time.Hour) }
	signal := func(said int, value int64, guess bool) PublishedSignal {
		return PublishedSignal{at(said), protocol.Signal{What: protocol.GridPrice, Points: []protocol.Point{{At: hour, Value: value}}, Guess: guess}}
	}
	b := New(Config{All: true})
	b.signals["oslo"] = []PublishedSignal{signal(0, 30, true), signal(1, 20, false), signal(2, 25, false), signal(3, 40, true)}
	for _, x := range []struct {
		known int
		value int64
		ok    bool
	}{{0, 0, false}, {1, 20, true}, {2, 25, true}, {9, 25, true}} {
		if v, _, ok := b.PublishedAt("oslo", protocol.GridPrice, hour.Add(30*time.Minute), at(x.known)); v != x.value || ok != x.ok {
			t.Errorf("known by %d h: %d, %v; want %d, %v", x.known, v, ok, x.value, x.ok)
		}
	}
	if _, _, ok := b.PublishedAt("oslo", protocol.GridCarbon, hour, at(9)); ok {
		t.Error("a price is published as carbon")
	}
}
