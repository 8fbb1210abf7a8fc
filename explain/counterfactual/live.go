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

// live steps markets over the ledger of a live coordinator: one for each of its
// lives, from the facts that it began with, and then by its own account of what
// it took in. A life that cannot be made again does not keep the next from it.
type live struct {
	run    *Run
	all    map[protocol.Party][]protocol.Message // by number
	life   uint64
	first  int              // of the run's rounds, in this life
	market *market.Market   // nil: nothing more of this life can be made again
	books  []protocol.Step  // to be restored
	steps  []protocol.Step  // to be taken after that
	said   []made           // not met on the ledger yet
	later  []protocol.Heard // of lives after that
}

// made is what the market said when so many rounds had been cleared.
type made struct {
	m      protocol.Message
	rounds int
}

// add takes the next message of the ledger.
func (l *live) add(m protocol.Message) {
	if h, ok := m.Body.(protocol.Heard); ok {
		l.later = append(l.later, h)
	} else if all := l.all[m.From]; len(all) == 0 || all[len(all)-1].Seq < m.Seq {
		l.all[m.From] = append(all, m)
	}
	l.catchUp()
	for len(l.later) > 0 && (l.later[0].Life == l.life || l.over()) {
		h := l.later[0]
		l.later = l.later[1:]
		if h.Life != l.life {
			l.begin(h)
		}
		l.books, l.steps = append(l.books, h.Books...), append(l.steps, h.Steps...)
		l.catchUp()
	}
}

// over reports whether nothing more of this life is to be made again.
func (l *live) over() bool {
	return l.market == nil || len(l.books)+len(l.steps)+len(l.said) == 0
}

// catchUp goes on as far as what was heard is on the ledger.
func (l *live) catchUp() {
	if l.market != nil {
		l.restore()
	}
	if l.market != nil && len(l.books) == 0 {
		l.take()
	}
	for l.market != nil && len(l.said) > 0 && l.meet(l.said[0]) {
		l.said = l.said[1:]
	}
}

func (l *live) begin(h protocol.Heard) {
	r := l.run
	l.life, l.first, l.market = h.Life, len(r.rounds), nil
	l.books, l.steps, l.said = nil, nil, nil
	r.rule, r.fresh = auction.New(auction.Config{}), true
	var cfg market.Config
	if err := json.Unmarshal([]byte(h.Rules), &cfg); err != nil {
		l.fails(l.first, fmt.Sprintf("the settings of the coordinator's life %d cannot be read: %v", h.Life, err))
		return
	}
	l.market = market.New(cfg, (*tape)(r))
	l.market.Begin(uint32(h.Life))
}

// restore puts what is known of the facts on the market's books.
func (l *live) restore() {
	for len(l.books) > 0 {
		m, ok := l.find(l.books[0])
		if !ok {
			return
		}
		l.market.Restore(m)
		l.books = l.books[1:]
	}
}

// take takes steps as far as what was heard is on the ledger.
func (l *live) take() {
	for len(l.steps) > 0 {
		var said []protocol.Message
		if s := l.steps[0]; s.From == "" {
			said = l.market.Tick(s.At)
		} else if m, ok := l.find(s); ok {
			said = l.market.Step(s.At, m)
		} else {
			return
		}
		l.steps = l.steps[1:]
		for _, m := range said {
			l.said = append(l.said, made{m, len(l.run.rounds)})
		}
	}
}

// find returns a message that was taken in. One that is not there may still come,
// unless its speaker said more.
func (l *live) find(s protocol.Step) (protocol.Message, bool) {
	all := l.all[s.From]
	i, ok := slices.BinarySearchFunc(all, s.Seq, func(m protocol.Message, seq uint64) int { return cmp.Compare(m.Seq, seq) })
	if ok {
		return all[i], true
	}
	if i < len(all) {
		l.fails(len(l.run.rounds), fmt.Sprintf("message %d of %s is not on the ledger", s.Seq, s.From))
	}
	return protocol.Message{}, false
}

// meet reports whether what the market said has been met on the ledger, as it was.
func (l *live) meet(got made) bool {
	want, ok := l.find(protocol.Step{From: protocol.Coordinator, Seq: got.m.Seq})
	if !ok {
		return false
	}
	if want.At != got.m.At || want.Kind() != got.m.Kind() || decides(want) && !same(got.m, want) {
		l.fails(got.rounds-1, fmt.Sprintf("message %d of the coordinator, at %s, would have been another", want.Seq, want.At))
		return false
	}
	l.run.met = want.Seq
	return true
}

// fails ends what can be made again of a life: its rounds from one on.
func (l *live) fails(round int, why string) {
	l.market = nil
	l.run.drop(max(round, l.first), why)
}

// missing says what the run waits for, or "".
func (l *live) missing() string {
	switch {
	case l.market == nil:
	case len(l.books) > 0:
		return fmt.Sprintf("the ledger does not hold message %d of %s yet", l.books[0].Seq, l.books[0].From)
	case len(l.steps) > 0:
		return fmt.Sprintf("the ledger does not hold message %d of %s yet", l.steps[0].Seq, l.steps[0].From)
	}
	return ""
}
