package leader

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/protocol"
)

// A ledMarket is the market of a term, with its log if the coordinator keeps one.
type ledMarket struct {
	market *market.Market
	notary *notary.Notary // nil: no log
}

// newLedMarket returns the market of the next term. The error says that its settings cannot be
// encoded.
func (cfg Config) newLedMarket() (ledMarket, error) {
	if cfg.Notary == nil {
		return ledMarket{market: market.New(cfg.Market, cfg.Rule())}, nil
	}
	rules, err := json.Marshal(cfg.Market)
	if err != nil {
		return ledMarket{}, fmt.Errorf("leader: encode the market's settings: %w", err)
	}
	n := notary.New(*cfg.Notary, string(rules))
	m := market.New(cfg.Market, n.ObserveRule(cfg.Rule()))
	n.Surround(m)
	return ledMarket{m, n}, nil
}

// machine returns what the loop steps.
func (k ledMarket) machine() bus.EventSourced {
	if k.notary == nil {
		return k.market
	}
	return k.notary
}

// restore applies an event. Those of a log are passed over by a coordinator that keeps none.
func (k ledMarket) restore(m protocol.Message) error {
	switch {
	case k.notary != nil:
		return k.notary.Restore(m)
	case m.From != protocol.LogWriter:
		k.market.Restore(m)
	}
	return nil
}

func (k ledMarket) beginIncarnation(incarnation uint32) {
	if k.notary == nil {
		k.market.BeginIncarnation(incarnation)
		return
	}
	k.notary.BeginIncarnation(incarnation)
}

// recordEdge records from where on the record has the log.
func (k ledMarket) recordEdge(now protocol.Time, r InputRecorder) {
	if k.notary == nil {
		return
	}
	if edge, ok := k.notary.Edge(now); ok {
		r.RecordSent(nil, []protocol.Message{edge})
	}
}

// recordingPersist returns what persists events, and has the entries of the log recorded too.
func (k ledMarket) recordingPersist(t *eventlog.Term, r InputRecorder) func(context.Context, []protocol.Message) error {
	if k.notary == nil {
		return t.AppendEvents
	}
	return func(ctx context.Context, events []protocol.Message) error {
		if err := t.AppendEvents(ctx, events); err != nil {
			return err
		}
		var of []protocol.Message
		for _, m := range events {
			if m.From == protocol.LogWriter {
				of = append(of, m)
			}
		}
		if len(of) > 0 {
			r.RecordSent(nil, of)
		}
		return nil
	}
}
