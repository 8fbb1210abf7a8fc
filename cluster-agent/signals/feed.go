package signals

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A Feed tells a site's agent what its readers read. Of several readers of one
// quantity the first that knows an hour is believed, and any fact before a guess.
type Feed struct {
	Site    string
	Readers []*Reader
	// Fixed are quantities without a source, in the unit of a Span: the same at
	// all hours.
	Fixed map[protocol.Quantity]float64
	Log   *slog.Logger

	said map[protocol.Quantity]map[time.Time]hour // what the agent was told
}

// Run speaks on a hub until ctx ends, or the hub fails. A source that fails ends
// nothing.
func (f *Feed) Run(ctx context.Context, near bus.Hub, life uint32) error {
	port, err := near.Join(ctx, protocol.Feed(f.Site))
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	defer port.Close()
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	news := make(chan struct{}, 1)
	for _, r := range f.Readers {
		readers.Go(func() { f.attend(ctx, r, news) })
	}
	go func() { // nobody tells a feed anything
		for range port.Heard() {
		}
	}()
	mouth := protocol.Mouth{Who: protocol.Feed(f.Site), Life: life}
	for {
		now := time.Now()
		var said []protocol.Message
		for _, s := range f.news(now) {
			said = append(said, mouth.Say(protocol.At(now), protocol.Agent(f.Site), s))
		}
		if err := port.Say(ctx, said...); len(said) > 0 && err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("feed: %w", err)
		}
		turn := time.NewTimer(now.Truncate(time.Hour).Add(time.Hour).Sub(now)) // a fixed value is told of the next hour, too
		select {
		case <-ctx.Done():
			turn.Stop()
			return nil
		case <-news:
		case <-turn.C:
		}
		turn.Stop()
	}
}

// attend reads a source whenever it is due, and says so. Of failures in a row the
// first is logged, and the end of them.
func (f *Feed) attend(ctx context.Context, r *Reader, news chan<- struct{}) {
	failed := false
	for {
		wait := time.NewTimer(time.Until(r.Due()))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		err := r.Read(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failed:
			f.Log.Warn("a signal is not read: what is known of it grows old", "source", r.Name(), "err", err)
		case err == nil && failed:
			f.Log.Info("a signal is read again", "source", r.Name())
		}
		failed = err != nil
		select {
		case news <- struct{}{}:
		default:
		}
	}
}

// news returns what is known now and was not said yet, facts and guesses apart.
func (f *Feed) news(now time.Time) (out []protocol.Signal) {
	if f.said == nil {
		f.said = make(map[protocol.Quantity]map[time.Time]hour)
	}
	for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
		known := f.known(q, now)
		facts, guesses := protocol.Signal{What: q}, protocol.Signal{What: q, Guess: true}
		for _, at := range slices.SortedFunc(maps.Keys(known), time.Time.Compare) {
			h := known[at]
			if was, ok := f.said[q][at]; ok && was == h {
				continue
			}
			if h.guess {
				guesses.Points = append(guesses.Points, point(q, at, h.value))
			} else {
				facts.Points = append(facts.Points, point(q, at, h.value))
			}
		}
		f.said[q] = known
		for _, s := range []protocol.Signal{facts, guesses} {
			if len(s.Points) > 0 {
				out = append(out, s)
			}
		}
	}
	return out
}

// known returns the hours of a quantity, over all its readers.
func (f *Feed) known(q protocol.Quantity, now time.Time) map[time.Time]hour {
	out := make(map[time.Time]hour)
	if v, ok := f.Fixed[q]; ok {
		for at := now.UTC().Truncate(time.Hour).Add(-back); at.Before(now.Add(forth)); at = at.Add(time.Hour) {
			out[at] = hour{value: v}
		}
	}
	for _, r := range f.Readers {
		if r.what != q {
			continue
		}
		r.mu.Lock()
		hours := hourly(r.spans)
		r.mu.Unlock()
		for at, h := range hours {
			if was, ok := out[at]; !ok || was.guess && !h.guess {
				out[at] = h
			}
		}
	}
	return out
}
