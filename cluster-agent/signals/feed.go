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

// A Feed publishes the values of its readers to a site's agent. If several readers provide a quantity, the first
// one that has an hour is used, and any fact takes precedence over a forecast.
type Feed struct {
	Site    string
	Readers []*Reader
	// Fixed are quantities without a source, in the unit of a Span, constant over time.
	Fixed map[protocol.Quantity]float64
	Log   *slog.Logger

	said map[protocol.Quantity]map[time.Time]hour // last published values, by hour
}

// Run publishes on the bus until ctx ends or the bus fails. Failures of sources do not end it.
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
		// news holds at most one token: a reading during publication leads to one more round.
		readers.Go(func() { f.attend(ctx, r, news) })
	}
	go func() { // receive and drop: nothing is addressed to a feed
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
		turn := time.NewTimer(now.Truncate(time.Hour).Add(time.Hour).Sub(now)) // at the next hour fixed values are published for one hour more
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

// attend reads a source whenever it is due and signals news. In a sequence of failures it logs only the first, and
// the recovery.
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
			f.Log.Warn("signal source failed: its values are ageing", "source", r.Name(), "err", err)
		case err == nil && failed:
			f.Log.Info("signal source recovered", "source", r.Name())
		}
		failed = err != nil
		select {
		case news <- struct{}{}:
		default:
		}
	}
}

// news returns the values that changed since the last call, facts and forecasts separately.
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

// known returns the current values of a quantity by hour, over all its readers.
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
