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

// A Poller publishes the values of its sources to a site's agent. If several sources
// provide a quantity, the first one that has an hour is used, and any fact takes
// precedence over a forecast.
type Poller struct {
	Site    string
	Sources []*Source
	// Fixed are quantities without a source, in the unit of a Span, constant over time.
	Fixed map[protocol.Quantity]float64
	Log   *slog.Logger

	publishedHours map[protocol.Quantity]map[time.Time]hourValue // last published values, by hour
}

// Run publishes on the bus until ctx ends or the bus fails. Failures of sources do
// not end it.
func (f *Poller) Run(ctx context.Context, siteBus bus.Bus, incarnation uint32) error {
	port, err := siteBus.Connect(ctx, protocol.SignalParty(f.Site))
	if err != nil {
		return fmt.Errorf("signals: %w", err)
	}
	defer port.Close()
	ctx, cancel := context.WithCancel(ctx)
	var polling sync.WaitGroup
	defer polling.Wait()
	defer cancel()
	news := make(chan struct{}, 1)
	for _, r := range f.Sources {
		// news holds at most one token: a reading during publication leads to one
		// more round.
		polling.Go(func() { f.pollSource(ctx, r, news) })
	}
	go func() { // receive and drop: no message is addressed to a signal source
		for range port.Messages() {
		}
	}()
	sender := protocol.Sender{Party: protocol.SignalParty(f.Site), Incarnation: incarnation}
	for {
		now := time.Now()
		var messages []protocol.Message
		for _, s := range f.unpublishedSignals(now) {
			messages = append(messages, sender.NewMessage(protocol.FromStdTime(now), protocol.AgentParty(f.Site), s))
		}
		if err := port.Send(ctx, messages...); len(messages) > 0 && err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("signals: %w", err)
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

// pollSource reads a source whenever it is due and signals news. In a sequence of
// failures it logs only the first, and the recovery.
func (f *Poller) pollSource(ctx context.Context, r *Source, news chan<- struct{}) {
	failed, incomplete := false, false
	for {
		wait := time.NewTimer(time.Until(r.NextRead()))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		err := r.FetchAndStore(ctx)
		switch {
		case ctx.Err() != nil:
			return
		// Log transitions only: a source may fail for days.
		case err != nil && !failed:
			f.Log.Warn("signal source failed: its values are ageing", "source", r.SourceName(), "err", err)
		case err == nil && failed:
			f.Log.Info("signal source recovered", "source", r.SourceName())
		}
		failed = err != nil
		if missing := r.missingForecast(); missing != nil && !incomplete {
			f.Log.Warn("signal source gave no forecast: what it measured is used", "source", r.SourceName(), "err", missing)
		}
		incomplete = r.missingForecast() != nil
		select {
		case news <- struct{}{}:
		default:
		}
	}
}

// unpublishedSignals returns the values that changed since the last call, facts and forecasts
// separately.
func (f *Poller) unpublishedSignals(now time.Time) (out []protocol.Signal) {
	if f.publishedHours == nil {
		f.publishedHours = make(map[protocol.Quantity]map[time.Time]hourValue)
	}
	for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE} {
		// Publish only hours that changed; agents keep the others.
		known := f.knownHours(q, now)
		facts, guesses := protocol.Signal{What: q}, protocol.Signal{What: q, Guess: true}
		for _, at := range slices.SortedFunc(maps.Keys(known), time.Time.Compare) {
			h := known[at]
			if was, ok := f.publishedHours[q][at]; ok && was == h {
				continue
			}
			if h.guess {
				guesses.Points = append(guesses.Points, protocolPoint(q, at, h.value))
			} else {
				facts.Points = append(facts.Points, protocolPoint(q, at, h.value))
			}
		}
		// What is known now replaces what was published: hours that are gone need no memory.
		f.publishedHours[q] = known
		for _, s := range []protocol.Signal{facts, guesses} {
			if len(s.Points) > 0 {
				out = append(out, s)
			}
		}
	}
	return out
}

// CurrentValue returns what is known of a quantity for the hour of now, in the unit of a Span; ok is
// false if nothing is. It is safe for concurrent use.
func (f *Poller) CurrentValue(q protocol.Quantity, now time.Time) (value float64, ok bool) {
	h, ok := f.knownHours(q, now)[now.UTC().Truncate(time.Hour)]
	return h.value, ok
}

// knownHours returns the current values of a quantity by hour, over all its sources.
func (f *Poller) knownHours(q protocol.Quantity, now time.Time) map[time.Time]hourValue {
	out := make(map[time.Time]hourValue)
	if v, ok := f.Fixed[q]; ok {
		for at := now.UTC().Truncate(time.Hour).Add(-lookBack); at.Before(now.Add(forecastHorizon)); at = at.Add(time.Hour) {
			out[at] = hourValue{value: v}
		}
	}
	for _, r := range f.Sources {
		if r.quantity != q {
			continue
		}
		hours := r.reportedHours(now)
		// The first source of an hour wins, but a fact replaces a forecast.
		for at, h := range hours {
			if was, ok := out[at]; !ok || was.guess && !h.guess {
				out[at] = h
			}
		}
	}
	return out
}
