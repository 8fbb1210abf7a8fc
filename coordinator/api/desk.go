// Package api is the HTTP and JSON API of a live coordinator for operators and
// scripts: submit and cancel jobs, list their status, drain a site, change the
// policy. It opens no listener itself. A caller that serves its handler beyond this
// machine must authenticate clients first.
//
// A request becomes a message of the party "desk" to the market, so that the market
// has one kind of input. The API answers when the message's events are stored.
//
// Package coordinator/jobstatus, the neighbour, keeps the job status that it shows.
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

// A Desk is the API of one coordinator, over all its terms.
type Desk struct {
	errands chan bus.Errand

	mu      sync.Mutex
	board   *jobstatus.Board
	leading bool
	why     error // why it does not lead; nil when another coordinator leads
	mouth   protocol.Mouth
	waiting []Waiting // policy changes that wait for a second person, oldest first

	people map[string]string // name by hash of token; nil: names are not verified
}

// New returns the API of a coordinator that stands by.
func New() *Desk { return &Desk{errands: make(chan bus.Errand), board: new(jobstatus.Board)} }

// Errands returns the local requests that the coordinator's loop must run.
func (d *Desk) Errands() <-chan bus.Errand { return d.errands }

// Clear resets the job status, before the events of a term are restored.
func (d *Desk) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.board, d.leading, d.waiting = new(jobstatus.Board), false, nil
}

// Restore applies an event of an earlier term to the job status.
func (d *Desk) Restore(m protocol.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.board.Add(m)
}

// Lead starts a term: from now on the API accepts requests.
func (d *Desk) Lead(life uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leading, d.why, d.mouth = true, nil, protocol.Mouth{Who: protocol.Desk, Life: life}
}

// Stand records why this coordinator does not lead; nil means that another one does.
func (d *Desk) Stand(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.why = why
}

// Told updates the job status with the messages that the coordinator received and sent.
func (d *Desk) Told(heard, said []protocol.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.board.Told(heard, said)
}

// Leading reports whether this coordinator leads; otherwise it stands by.
func (d *Desk) Leading() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.leading
}

// look reads the job status under the lock.
func (d *Desk) look(read func(*jobstatus.Board)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	read(d.board)
}

// errAway is the answer of a coordinator that stands by.
var errAway = errors.New("this coordinator stands by; ask the one that leads")

// absent returns why this coordinator cannot answer, or nil if it leads.
func (d *Desk) absent() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.leading:
		return nil
	case d.why != nil:
		return fmt.Errorf("this coordinator does not lead and keeps trying: %w", d.why)
	}
	return errAway
}

// readable returns an error if b cannot be encoded, and so not stored in the event log.
func readable(b protocol.Body) error {
	m := protocol.Mouth{Who: protocol.Desk}
	_, err := protocol.Encode(m.Say(1, protocol.Coordinator, b))
	return err
}

// say sends a message to the market, and returns when its events are stored. body
// makes the message at the time at which the loop processes it.
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
