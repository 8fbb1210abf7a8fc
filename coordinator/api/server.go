// Package api is the HTTP and JSON API of a live coordinator for operators and
// scripts: submit and cancel jobs, list their status, drain a site, change the
// policy. It opens no listener itself. Who may do what says package coordinator/rights;
// whose jobs a request is about is decided here. Without credentials only this machine is
// served.
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
	"log/slog"
	"sync"

	"golang.org/x/time/rate"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/liveness"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/protocol"
)

// A Server is the API of one coordinator, over all its terms.
type Server struct {
	requests chan bus.LocalRequest

	mu         sync.Mutex
	status     *jobstatus.View
	leading    bool
	notLeading error // why it does not lead; nil when another coordinator leads
	sender     protocol.Sender
	pending    []PendingChange // policy changes that wait for a second person, oldest first

	clock   bus.Clock         // of the term
	monitor *liveness.Monitor // of the term's sites

	openQuotes    map[uint64]*openQuote // by number
	evaluateQuote EvaluateQuote         // of the running term
	listQuotas    ListQuotas            // of the running term

	openLogs    map[uint64]*openLog                              // by number
	logLimits   map[string]*rate.Limiter                         // of sites and tenants
	sendToSites func(context.Context, ...protocol.Message) error // of the running term

	guard *rights.Guard
}

// New returns the API of a coordinator that stands by.
func New() *Server {
	d := &Server{requests: make(chan bus.LocalRequest), openQuotes: make(map[uint64]*openQuote), openLogs: make(map[uint64]*openLog), guard: rights.NewGuard(nil, slog.Default())}
	d.ResetStatus()
	return d
}

// LocalRequests returns the local requests that the coordinator's loop must run.
func (d *Server) LocalRequests() <-chan bus.LocalRequest { return d.requests }

// ResetStatus resets the job status, before the events of a term are restored.
func (d *Server) ResetStatus() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status, d.leading, d.pending = new(jobstatus.View), false, nil
	d.monitor = liveness.New(d.clock.Simulated(usualHeartbeat))
}

// Restore applies an event of an earlier term to the job status.
func (d *Server) Restore(m protocol.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.AddMessage(m)
	d.monitor.Restore(m)
}

// SetClock sets the clock of the coordinator; without it the computer's own counts. Call it before
// the events of a term are restored.
func (d *Server) SetClock(c bus.Clock) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clock = c
}

// StartLeading starts a term: from now on the API accepts requests.
func (d *Server) StartLeading(life uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leading, d.notLeading, d.sender = true, nil, protocol.Sender{Party: protocol.OperatorAPI, Incarnation: life}
}

// StandBy records why this coordinator does not lead; nil means that another one does.
func (d *Server) StandBy(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notLeading = why
}

// ObserveMessages updates the job status with the messages that the coordinator received and sent.
func (d *Server) ObserveMessages(heard, said []protocol.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.AddStep(heard, said)
	d.collectQuotes(heard)
}

// IsLeading reports whether this coordinator leads; otherwise it stands by.
func (d *Server) IsLeading() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.leading
}

// readStatus reads the job status under the lock.
func (d *Server) readStatus(read func(*jobstatus.View)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	read(d.status)
}

// errStandby is the answer of a coordinator that stands by.
var errStandby = errors.New("this coordinator stands by; ask the one that leads")

// notLeadingReason returns why this coordinator cannot answer, or nil if it leads.
func (d *Server) notLeadingReason() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.leading:
		return nil
	case d.notLeading != nil:
		return fmt.Errorf("this coordinator does not lead and keeps trying: %w", d.notLeading)
	}
	return errStandby
}

// checkEncodable returns an error if b cannot be encoded, and so not stored in the event log.
func checkEncodable(b protocol.Body) error {
	m := protocol.Sender{Party: protocol.OperatorAPI}
	_, err := protocol.Encode(m.NewMessage(1, protocol.Coordinator, b))
	return err
}

// submitMessage sends a message to the market, and returns when its events are stored. body
// makes the message at the time at which the loop processes it.
func (d *Server) submitMessage(ctx context.Context, body func(now protocol.Time) protocol.Body) error {
	return d.runOnLoop(ctx, bus.LocalRequest{Deliver: func(now protocol.Time) protocol.Message {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.sender.NewMessage(now, protocol.Coordinator, body(now))
	}})
}

// runOnLoop has the coordinator's loop serve a request, and returns when its outcome is stored.
func (d *Server) runOnLoop(ctx context.Context, e bus.LocalRequest) error {
	if err := d.notLeadingReason(); err != nil {
		return err
	}
	done := make(chan error, 1)
	e.Done = func(err error) { done <- err }
	select {
	case d.requests <- e:
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
