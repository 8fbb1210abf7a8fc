package counterfactual

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// liveReplay steps markets over the ledger of a live coordinator: one for each incarnation,
// from the events that it began with and then by its own record of inputs. An
// incarnation that cannot be reproduced does not affect later ones.
type liveReplay struct {
	run              *RoundReplay
	all              map[protocol.Party][]protocol.Message // by sequence number
	incarnation      uint64
	first            int                 // index of the incarnation's first round in the run
	market           *market.Market      // nil: the rest of this incarnation cannot be reproduced
	eventsToRestore  []protocol.Input    // events to restore
	steps            []protocol.Input    // inputs to process after that
	expectedMessages []producedMessage   // messages that the ledger has not shown yet
	aside            uint64              // numbers of this incarnation so far that messages about the coordinator's log have
	later            []protocol.InputLog // input logs of later incarnations
}

// producedMessage is a message of the market, with the number of rounds cleared before it.
type producedMessage struct {
	m      protocol.Message
	rounds int
}

// addMessage processes the next message of the ledger.
func (l *liveReplay) addMessage(m protocol.Message) {
	// Messages of each sender are kept in order of their numbers; repeats are dropped.
	if h, ok := m.Body.(protocol.InputLog); ok {
		l.later = append(l.later, h)
	} else if all := l.all[m.From]; len(all) == 0 || all[len(all)-1].Seq < m.Seq {
		l.all[m.From] = append(all, m)
	}
	l.stepAvailableInputs()
	// The next incarnation begins only when this one has nothing left, as rounds go in order.
	for len(l.later) > 0 && (l.later[0].Incarnation == l.incarnation || l.isExhausted()) {
		h := l.later[0]
		l.later = l.later[1:]
		if h.Incarnation != l.incarnation {
			l.beginIncarnation(h)
		}
		l.eventsToRestore, l.steps = append(l.eventsToRestore, h.Restored...), append(l.steps, h.Steps...)
		l.stepAvailableInputs()
	}
}

// isExhausted reports whether this incarnation has nothing left to reproduce.
func (l *liveReplay) isExhausted() bool {
	return l.market == nil || len(l.eventsToRestore)+len(l.steps)+len(l.expectedMessages) == 0
}

// stepAvailableInputs proceeds as far as the ledger has the needed messages: it restores events,
// then takes inputs, then compares what the market sent with the ledger.
func (l *liveReplay) stepAvailableInputs() {
	if l.market != nil {
		l.restoreEvents()
	}
	if l.market != nil && len(l.eventsToRestore) == 0 {
		l.takeInputs()
	}
	for l.market != nil && len(l.expectedMessages) > 0 && l.matchOnLedger(l.expectedMessages[0]) {
		l.expectedMessages = l.expectedMessages[1:]
	}
}

// beginIncarnation starts the market of the next incarnation with its own settings and an auction
// without state, as the coordinator does after a restart.
func (l *liveReplay) beginIncarnation(h protocol.InputLog) {
	r := l.run
	l.incarnation, l.first, l.market = h.Incarnation, len(r.rounds), nil
	l.eventsToRestore, l.steps, l.expectedMessages, l.aside = nil, nil, nil, 0
	r.rule, r.fresh = auction.New(auction.Config{}), true
	var cfg market.Config
	if h.Rules == "" {
		l.failFromRound(l.first, "the record has not all that the coordinator decided by: it is that of a tenant")
		return
	}
	if err := json.Unmarshal([]byte(h.Rules), &cfg); err != nil {
		l.failFromRound(l.first, fmt.Sprintf("the settings of the coordinator's incarnation %d cannot be read: %v", h.Incarnation, err))
		return
	}
	l.market = market.New(cfg, (*recordingRule)(r))
	l.market.BeginIncarnation(uint32(h.Incarnation))
}

// restoreEvents restores the events that the ledger has already.
func (l *liveReplay) restoreEvents() {
	for len(l.eventsToRestore) > 0 {
		m, ok := l.findMessage(l.eventsToRestore[0])
		if !ok {
			return
		}
		l.market.Restore(m)
		l.eventsToRestore = l.eventsToRestore[1:]
	}
}

// takeInputs processes inputs as far as the ledger has them.
func (l *liveReplay) takeInputs() {
	for len(l.steps) > 0 {
		var said []protocol.Message
		if s := l.steps[0]; s.From == "" {
			said = l.market.Tick(s.At)
		} else if m, ok := l.findMessage(s); ok {
			said = l.market.Step(s.At, m)
		} else {
			return
		}
		l.steps = l.steps[1:]
		for _, m := range said {
			l.expectedMessages = append(l.expectedMessages, producedMessage{m, len(l.run.rounds)})
		}
	}
}

// findMessage returns a message that was an input. A missing one may still follow, unless
// its sender's later messages are there already.
func (l *liveReplay) findMessage(s protocol.Input) (protocol.Message, bool) {
	all := l.all[s.From]
	i, ok := slices.BinarySearchFunc(all, s.Seq, func(m protocol.Message, seq uint64) int { return cmp.Compare(m.Seq, seq) })
	if ok {
		return all[i], true
	}
	if i < len(all) {
		l.failFromRound(len(l.run.rounds), fmt.Sprintf("message %d of %s is not on the ledger", s.Seq, s.From))
	}
	return protocol.Message{}, false
}

// matchOnLedger compares a message of the market with the ledger's. It returns false if the
// ledger does not have it yet or it differs.
func (l *liveReplay) matchOnLedger(got producedMessage) bool {
	want, ok := l.findMessage(protocol.Input{From: protocol.Coordinator, Seq: got.m.Seq + l.aside})
	for ok && !isOfMarket(want) {
		l.aside++
		want, ok = l.findMessage(protocol.Input{From: protocol.Coordinator, Seq: got.m.Seq + l.aside})
	}
	if !ok {
		return false
	}
	if want.At != got.m.At || want.KindName() != got.m.KindName() || isDecisive(want) && !sameDecision(got.m, want) {
		l.failFromRound(got.rounds-1, fmt.Sprintf("message %d of the coordinator, at %s, would have been different", want.Seq, want.At))
		return false
	}
	l.run.lastMatched = want.Seq
	return true
}

// isOfMarket reports whether the market says m, and not the notary around it, about the log.
func isOfMarket(m protocol.Message) bool {
	switch m.Body.(type) {
	case protocol.LogHead, protocol.Receipt, protocol.SiteClearing:
		return false
	}
	return true
}

// failFromRound ends the reproduction of an incarnation: its rounds from round on cannot be
// cleared.
func (l *liveReplay) failFromRound(round int, why string) {
	l.market = nil
	l.run.dropRoundsFrom(max(round, l.first), why)
}

// missingInput returns which message the run waits for, or "".
func (l *liveReplay) missingInput() string {
	switch {
	case l.market == nil:
	case len(l.eventsToRestore) > 0:
		return fmt.Sprintf("the ledger does not contain message %d of %s yet", l.eventsToRestore[0].Seq, l.eventsToRestore[0].From)
	case len(l.steps) > 0:
		return fmt.Sprintf("the ledger does not contain message %d of %s yet", l.steps[0].Seq, l.steps[0].From)
	}
	return ""
}
