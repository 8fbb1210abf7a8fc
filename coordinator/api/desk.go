// Package api is where people and scripts ask a live coordinator: submit a job,
// see how things stand, cancel, drain. It speaks HTTP and JSON. It listens
// nowhere by itself; whoever mounts its handler beyond this machine has to ask
// for credentials first.
//
// What is asked for is said to the market as a message of the party "desk", like
// anything else that it hears, and is answered when that is on the books.
package api

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/protocol"
)

// A Desk serves one coordinator through all its terms.
type Desk struct {
	errands chan bus.Errand

	mu      sync.Mutex
	board   *jobstatus.Board
	leading bool
	why     error // what keeps it from leading, where no other coordinator is known to lead
	mouth   protocol.Mouth
	waiting []Waiting // for a second person, oldest first

	people map[string]string // name by the hash of a token; nil: nobody is known, and names are believed
}

// New returns a desk of a coordinator that stands by.
func New() *Desk { return &Desk{errands: make(chan bus.Errand), board: new(jobstatus.Board)} }

// Errands is what the coordinator's loop is to run.
func (d *Desk) Errands() <-chan bus.Errand { return d.errands }

// Clear begins a board anew, before a term's facts are restored.
func (d *Desk) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.board, d.leading, d.waiting = new(jobstatus.Board), false, nil
}

// Restore takes in a fact of an earlier term.
func (d *Desk) Restore(m protocol.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.board.Add(m)
}

// Lead opens the desk for a term.
func (d *Desk) Lead(life uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leading, d.why, d.mouth = true, nil, protocol.Mouth{Who: protocol.Desk, Life: life}
}

// Stand notes why this coordinator does not lead: something fails, or, where why is
// nil, another leads.
func (d *Desk) Stand(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.why = why
}

// Told is shown what the coordinator heard and said.
func (d *Desk) Told(heard, said []protocol.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.board.Told(heard, said)
}

// Leading reports whether this coordinator leads, or only stands by.
func (d *Desk) Leading() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.leading
}

// look reads the board.
func (d *Desk) look(read func(*jobstatus.Board)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	read(d.board)
}

// errAway says that there is nobody to ask here.
var errAway = errors.New("this coordinator stands by; ask the one that leads")

// absent says why there is nobody to ask here, or nil.
func (d *Desk) absent() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.leading:
		return nil
	case d.why != nil:
		return fmt.Errorf("this coordinator does not lead, and tries again: %w", d.why)
	}
	return errAway
}

// readable says why nobody could read b on the books, or nil.
func readable(b protocol.Body) error {
	m := protocol.Mouth{Who: protocol.Desk}
	_, err := protocol.Encode(m.Say(1, protocol.Coordinator, b))
	return err
}

// say tells the market something, and returns when it is on the books. What is
// said may depend on the time.
func (d *Desk) say(ctx context.Context, body func(now protocol.Time) protocol.Body) error {
	if err := d.absent(); err != nil {
		return err
	}
	done := make(chan error, 1)
	e := bus.Errand{
		Hear: func(now protocol.Time) protocol.Message {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.mouth.Say(now, protocol.Coordinator, body(now))
		},
		Done: func(err error) { done <- err },
	}
	select {
	case d.errands <- e:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
