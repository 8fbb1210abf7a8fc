package leader_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/snapshot"
	"github.com/gridbid/gridbid/protocol"
)

// A counter is a scribe that counts what it is handed.
type counter struct {
	restored, begun int
	rules           market.Config // of the last life
}

func (c *counter) RecordRestored(protocol.Message) { c.restored++ }
func (c *counter) BeginIncarnation(_ protocol.Time, _ uint32, _ []protocol.Input, rules market.Config) error {
	c.begun, c.rules = c.begun+1, rules
	return nil
}
func (c *counter) RecordInput(protocol.Time, *protocol.Message) {}
func (c *counter) RecordSent(_, _ []protocol.Message)           {}
func (c *counter) RecordTime(protocol.Time)                     {}

// A term that fails after it has read the event log begins nothing. Run retries it as
// long as the repair of the log may take, and no copy of what it read is kept.
func TestFailedTermLeavesNothingBehind(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	b, err := eventlog.Open(t.Context(), &srv.Bus, protocol.Coordinator, eventlog.Config{Lease: held})
	if err != nil {
		t.Fatal(err)
	}
	term, err := b.BeginTerm(t.Context(), func(protocol.Message) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	oslo := protocol.Sender{Party: "agent/oslo"}
	write := func() {
		if err := term.AppendEvents(t.Context(), []protocol.Message{oslo.NewMessage(1, protocol.Coordinator, protocol.RegisterSite{Site: "oslo"})}); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if err := term.WriteSnapshot(t.Context(), snapshot.New(time.Hour)); err != nil {
		t.Fatal(err)
	}
	write()
	write()
	term.EndTerm()
	conn, err := srv.RawConn(protocol.Coordinator) // loses an entry that no summary covers
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Request("$JS.API.STREAM.PURGE.GRIDBID", []byte(`{"seq": 4}`), time.Minute); err != nil {
		t.Fatal(err)
	}
	b.Close()

	ctx, cancel := context.WithCancel(t.Context())
	log, scribe, done, over := make(lines, 1000), new(counter), make(chan error, 1), make(chan bool, 1000)
	go func() {
		done <- leader.RunWhenElected(ctx, leader.Config{
			Bus: &srv.Bus, Rule: func() auction.ClearingRule { return auction.New(auction.Config{}) }, Recorder: scribe,
			EventLog: eventlog.Config{Lease: 3 * time.Second}, API: api.New(), Log: slog.New(slog.NewTextHandler(log, nil)),
			OnRestore: func([]protocol.Message) { over <- true },
		})
	}()
	for line := ""; !strings.Contains(line, "are missing and no snapshot covers them"); {
		line = <-log
	}
	for range 3 {
		<-over
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if scribe.restored != 0 || scribe.begun != 0 {
		t.Errorf("%d events are restored for %d incarnations", scribe.restored, scribe.begun)
	}
}

// What fails a term fails the next, five times a second for as long as a server is
// away: that is logged once.
func TestRepeatedTermFailureIsLoggedOnce(t *testing.T) {
	hub, err := natsbus.Open(natsbus.Access{URL: "nats://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	log, done, over := make(lines, 1000), make(chan error, 1), make(chan bool)
	go func() {
		done <- leader.RunWhenElected(ctx, leader.Config{
			Bus: hub, Rule: func() auction.ClearingRule { return auction.New(auction.Config{}) }, API: api.New(), Log: slog.New(slog.NewTextHandler(log, nil)),
			OnRestore: func([]protocol.Message) { over <- true },
		})
	}()
	for range 5 {
		<-over
	}
	cancel()
	for ended := false; !ended; {
		select {
		case <-over: // of a term that has begun meanwhile
		case err := <-done:
			ended = true
			if err != nil {
				t.Error(err)
			}
		}
	}
	if n := len(log); n != 1 {
		t.Errorf("%d lines, first %s", n, <-log)
	}
}

// A coordinator that cannot reach its server answers requests with that reason, and not that
// another leads; and where another leads, that.
func TestAPITellsWhyItsCoordinatorDoesNotLead(t *testing.T) {
	front := api.New()
	run := func(hub *natsbus.Bus, stood func([]protocol.Message)) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- leader.RunWhenElected(ctx, leader.Config{
				Bus: hub, Rule: func() auction.ClearingRule { return auction.New(auction.Config{}) }, API: front, Log: slog.New(slog.DiscardHandler), OnRestore: stood,
			})
		}()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	away, err := natsbus.Open(natsbus.Access{URL: "nats://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan bool, 1000)
	end := run(away, func([]protocol.Message) { over <- true })
	for range 2 {
		<-over
	}
	for _, path := range []string{"/readyz", "/v1/jobs"} {
		if code, text := look(front, path); code != http.StatusServiceUnavailable || !strings.Contains(text, "connect as coordinator") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	end()

	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	start(t, &srv.Bus, held).leads(t)
	end = run(&srv.Bus, nil)
	defer end()
	for range 2400 { // two minutes, of a machine that is busy
		if code, text := look(front, "/readyz"); code == http.StatusOK && strings.Contains(text, "standing by") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("it does not stand by")
}

// look asks a desk.
func look(front *api.Server, path string) (code int, text string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:5000"
	w := httptest.NewRecorder()
	front.HTTPHandler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// A coordinator asks for bids that reach it: no longer than the server takes of a
// site, nor than it receives itself, unless its market is configured otherwise.
func TestMaxOfferBytesFollowsPayloadLimits(t *testing.T) {
	const headers = 4<<10 + protocol.SignatureSize // of a trace, and a signature
	for _, tc := range []struct {
		name           string
		limits         *natsbus.Limits
		payload, given int
		want           int
	}{
		{"what the server takes", nil, 0, 0, protocol.MaxMessage - headers},
		{"what it takes of a site", natsbus.DefaultSiteLimits(), natsbus.DefaultSitePayload, 0, 512<<10 - headers},
		{"what the coordinator receives", natsbus.DefaultSiteLimits(), 4 << 20, 0, 1<<20 - headers},
		{"what the market is configured for", natsbus.DefaultSiteLimits(), 0, 70_000, 70_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(srv.Close)
			srv.Limits = tc.limits
			ctx, cancel := context.WithCancel(t.Context())
			scribe, done, begun := new(counter), make(chan error, 1), make(chan bool, 1)
			d := api.New()
			go func() {
				done <- leader.RunWhenElected(ctx, leader.Config{
					Bus: &srv.Bus, Rule: func() auction.ClearingRule { return auction.New(auction.Config{}) }, Recorder: scribe, SitePayload: tc.payload,
					EventLog: eventlog.Config{Lease: held}, API: d, Log: slog.New(slog.DiscardHandler), Market: market.Config{MaxOfferBytes: tc.given},
					Judge: func(context.Context, bus.Conn, uint32) error { begun <- true; return nil },
				})
			}()
			<-begun
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if got := scribe.rules.MaxOfferBytes; got != tc.want {
				t.Errorf("offers of %d bytes are asked for; want %d", got, tc.want)
			}
		})
	}
}
