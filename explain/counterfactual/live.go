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

// liveReplay steps markets over the ledger of a live coordinator: one for each of its
// lives, from the facts that it began with, and then by its own account of what
// it took in. A life that cannot be made again does not keep the next from it.
type liveReplay struct {
	run              *RoundReplay
	all              map[protocol.Party][]protocol.Message // by number
	incarnation      uint64
	first            int                 // of the run's rounds, in this life
	market           *market.Market      // nil: nothing more of this life can be made again
	eventsToRestore  []protocol.Input    // to be restored
	steps            []protocol.Input    // to be taken after that
	expectedMessages []producedMessage   // not met on the ledger yet
	later            []protocol.InputLog // of lives after that
}

// producedMessage is what the market said when so many rounds had been cleared.
type producedMessage struct {
	m      protocol.Message
	rounds int
}

// addMessage takes the next message of the ledger.
func (l *liveReplay) addMessage(m protocol.Message) {
	if h, ok := m.Body.(protocol.InputLog); ok {
		l.later = append(l.later, h)
	} else if all := l.all[m.From]; len(all) == 0 || all[len(all)-1].Seq < m.Seq {
		l.all[m.From] = append(all, m)
	}
	l.stepAvailableInputs()
	for len(l.later) > 0 && (l.later[0].Incarnation == l.incarnation || l.isExhausted()) {
		h := l.later[0]
		l.later = l.later[1:]
		if h.Incarnation != l.incarnation {
			l.beginIncarnation(h)
		}
		l.eventsToRestore, l.steps = append(l.eventsToRestore, h.Books...), append(l.steps, h.Steps...)
		l.stepAvailableInputs()
	}
}

// isExhausted reports whether nothing more of this life is to be made again.
func (l *liveReplay) isExhausted() bool {
	return l.market == nil || len(l.eventsToRestore)+len(l.steps)+len(l.expectedMessages) == 0
}

// stepAvailableInputs goes on as far as what was heard is on the ledger.
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

func (l *liveReplay) beginIncarnation(h protocol.InputLog) {
	r := l.run
	l.incarnation, l.first, l.market = h.Incarnation, len(r.rounds), nil
	l.eventsToRestore, l.steps, l.expectedMessages = nil, nil, nil
	r.rule, r.fresh = auction.New(auction.Config{}), true
	var cfg market.Config
	if err := json.Unmarshal([]byte(h.Rules), &cfg); err != nil {
		l.failFromRound(l.first, fmt.Sprintf("the settings of the coordinator's life %d cannot be read: %v", h.Incarnation, err))
		return
	}
	l.market = market.New(cfg, (*recordingRule)(r))
	l.market.BeginIncarnation(uint32(h.Incarnation))
}

// restoreEvents puts what is known of the facts on the market's books.
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

// takeInputs takes steps as far as what was heard is on the ledger.
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

// findMessage returns a message that was taken in. One that is not there may still come,
// unless its speaker said more.
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

// matchOnLedger reports whether what the market said has been met on the ledger, as it was.
func (l *liveReplay) matchOnLedger(got producedMessage) bool {
	want, ok := l.findMessage(protocol.Input{From: protocol.Coordinator, Seq: got.m.Seq})
	if !ok {
		return false
	}
	if want.At != got.m.At || want.KindName() != got.m.KindName() || isDecisive(want) && !sameDecision(got.m, want) {
		l.failFromRound(got.rounds-1, fmt.Sprintf("message %d of the coordinator, at %s, would have been another", want.Seq, want.At))
		return false
	}
	l.run.lastMatched = want.Seq
	return true
}

// failFromRound ends what can be made again of a life: its rounds from one on.
func (l *liveReplay) failFromRound(round int, why string) {
	l.market = nil
	l.run.dropRoundsFrom(max(round, l.first), why)
}

// missingInput says what the run waits for, or "".
func (l *liveReplay) missingInput() string {
	switch {
	case l.market == nil:
	case len(l.eventsToRestore) > 0:
		return fmt.Sprintf("the ledger does not hold message %d of %s yet", l.eventsToRestore[0].Seq, l.eventsToRestore[0].From)
	case len(l.steps) > 0:
		return fmt.Sprintf("the ledger does not hold message %d of %s yet", l.steps[0].Seq, l.steps[0].From)
	}
	return ""
}
