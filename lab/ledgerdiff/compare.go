package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

// A side is one of two ledgers that are read side by side.
type side struct {
	path     string
	messages int
	awards   []string // site and award, as JSON, in the order of the ledger
}

// A result is what comparing two ledgers found.
type result struct {
	a, b  side
	first int // number of the first message that differs, from 1; 0: none
	text  [2]string
}

// compareLedgers reads two whole ledgers. A ledger that cannot be read to its end is
// an error: of what is missing nothing can be claimed.
func compareLedgers(a, b string, ignore keys) (found result, err error) {
	found.a.path, found.b.path = a, b
	readers := [2]*wal.Reader{}
	for i, path := range []string{a, b} {
		r, err := wal.Open(path)
		if err != nil {
			return found, err
		}
		defer r.Close()
		readers[i] = r
	}
	for number := 1; ; number++ {
		x, more, err := found.a.next(readers[0], ignore)
		if err != nil {
			return found, err
		}
		y, still, err := found.b.next(readers[1], ignore)
		if err != nil {
			return found, err
		}
		if !more && !still {
			return found, nil
		}
		if found.first == 0 && (more != still || !bytes.Equal(x.wire, y.wire)) {
			found.first, found.text = number, [2]string{x.text(), y.text()}
		}
	}
}

// entry is a message of a ledger, without the keys that are left out.
type entry struct {
	message protocol.Message
	wire    []byte // as it would travel
}

func (e entry) text() string {
	if e.wire == nil {
		return "(the ledger has ended)"
	}
	line, err := protocol.JSON(e.message)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

// next reads the next message of a side, if there is one.
func (s *side) next(r *wal.Reader, ignore keys) (e entry, ok bool, err error) {
	m, err := r.Read()
	if errors.Is(err, io.EOF) {
		return e, false, nil
	}
	if err != nil {
		return e, false, err
	}
	s.messages++
	e.message = ignore.without(m)
	if e.wire, err = protocol.Encode(e.message); err != nil {
		return e, false, fmt.Errorf("%s: message %d: %w", s.path, s.messages, err)
	}
	if _, award := m.Body.(protocol.Award); award {
		plain := e.message // when it was sent, and as which message, is no part of what was decided
		plain.At, plain.Seq = 0, 1
		s.awards = append(s.awards, entry{message: plain, wire: e.wire}.text())
	}
	return e, true, nil
}

func (f result) equal() bool { return f.first == 0 && f.firstAward() == 0 }

// firstAward returns the number of the first award that differs, from 1, or 0.
func (f result) firstAward() int {
	for i := range max(len(f.a.awards), len(f.b.awards)) {
		if i >= len(f.a.awards) || i >= len(f.b.awards) || f.a.awards[i] != f.b.awards[i] {
			return i + 1
		}
	}
	return 0
}

// describe says what was found, for people.
func (f result) describe(without string) string {
	var b strings.Builder
	if f.first == 0 {
		fmt.Fprintf(&b, "%d messages are equal%s\n", f.a.messages, without)
	} else {
		fmt.Fprintf(&b, "message %d is the first that differs%s\n  %s: %s\n  %s: %s\n", f.first, without, f.a.path, f.text[0], f.b.path, f.text[1])
		fmt.Fprintf(&b, "%s has %d messages, %s has %d\n", f.a.path, f.a.messages, f.b.path, f.b.messages)
	}
	if i := f.firstAward(); i == 0 {
		fmt.Fprintf(&b, "%d awards are equal\n", len(f.a.awards))
	} else {
		fmt.Fprintf(&b, "award %d is the first that differs\n  %s: %s\n  %s: %s\n", i, f.a.path, nth(f.a.awards, i), f.b.path, nth(f.b.awards, i))
	}
	return b.String()
}

func nth(all []string, i int) string {
	if i > len(all) {
		return fmt.Sprintf("(there are only %d)", len(all))
	}
	return all[i-1]
}
