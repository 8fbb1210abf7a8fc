package natsbus_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/bustest"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t testing.TB, listen string) *natsbus.Server {
	t.Helper()
	srv, err := natsbus.StartServer(natsbus.Config{Listen: listen})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func TestHubWithinTheProcess(t *testing.T) { bustest.TestBus(t, serve(t, "")) }

func TestHubOverLoopback(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	bustest.TestBus(t, natsbus.Dial(srv.ClientURL(), natsbus.PasswordsOf(srv)))
}

func join(t *testing.T, hub bus.Bus, who protocol.Party) bus.Conn {
	t.Helper()
	port, err := hub.Connect(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = port.Close() })
	return port
}

func heard(t *testing.T, port bus.Conn) protocol.Message {
	t.Helper()
	select {
	case m, ok := <-port.Messages():
		if !ok {
			t.Fatalf("port closed: %v", port.Close())
		}
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("heard nothing")
	}
	return protocol.Message{}
}

func failure(t *testing.T, port bus.Conn) error {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case _, ok := <-port.Messages():
			if !ok {
				return port.Close()
			}
		case <-late:
			t.Fatal("the port did not close")
		}
	}
}

var (
	oslo = protocol.AgentParty("oslo")
	lyon = protocol.AgentParty("lyon")
)

func word(from, to protocol.Party, seq uint64, job protocol.JobID) protocol.Message {
	return protocol.Message{Version: protocol.Current, At: 1, From: from, Seq: seq, To: to, Body: protocol.Started{Job: job}}
}

func encode(t *testing.T, m protocol.Message) []byte {
	t.Helper()
	data, err := protocol.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A burglar has lyon's password and a bare NATS client.
func burglar(t *testing.T, srv *natsbus.Server) (*nats.Conn, <-chan error) {
	t.Helper()
	name, password, err := srv.UserCredentials(lyon)
	if err != nil {
		t.Fatal(err)
	}
	denied := make(chan error, 10)
	conn, err := nats.Connect(srv.ClientURL(), nats.UserInfo(name, password), nats.NoReconnect(), nats.Timeout(30*time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn, denied
}

func TestASiteCannotSpeakAsAnotherNorReadItsMessages(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	coordinator := join(t, srv, protocol.Coordinator)
	agent := join(t, srv, oslo)
	for _, tc := range []struct {
		name string
		try  func(*nats.Conn) error
	}{
		{"publish in another's name", func(c *nats.Conn) error {
			return c.Publish("gridbid.v1.agent-oslo.coordinator.started", encode(t, word(oslo, protocol.Coordinator, 1, "forged")))
		}},
		{"publish outside of the language", func(c *nats.Conn) error { return c.Publish("elsewhere", nil) }},
		{"read what is said to another", func(c *nats.Conn) error { _, err := c.SubscribeSync("gridbid.v1.*.agent-oslo.*"); return err }},
		{"read everything", func(c *nats.Conn) error { _, err := c.SubscribeSync("gridbid.v1.>"); return err }},
		{"read anything", func(c *nats.Conn) error { _, err := c.SubscribeSync(">"); return err }},
		{"read the system", func(c *nats.Conn) error { _, err := c.SubscribeSync("$SYS.>"); return err }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, denied := burglar(t, srv)
			if err := tc.try(conn); err != nil {
				t.Fatal(err)
			}
			if err := conn.FlushTimeout(time.Minute); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-denied:
				if !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("the server says %v; want a permissions violation", err)
				}
			case <-time.After(time.Minute):
				t.Error("the server lets it pass")
			}
		})
	}
	if err := agent.Send(t.Context(), word(oslo, protocol.Coordinator, 1, "honest")); err != nil {
		t.Fatal(err)
	}
	if got := heard(t, coordinator).Body.(protocol.Started).Job; got != "honest" {
		t.Errorf("the coordinator heard %q; want the honest word alone", got)
	}
}

func TestWhatDiffersFromItsSubjectOrCannotBeReadIsCounted(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	coordinator := join(t, srv, protocol.Coordinator)
	conn, _ := burglar(t, srv)
	own := "gridbid.v1.agent-lyon.coordinator."
	honest := encode(t, word(lyon, protocol.Coordinator, 1, "honest"))
	for _, p := range []struct {
		subject string
		data    []byte
	}{
		{own + "started", encode(t, word(oslo, protocol.Coordinator, 1, "another speaker"))},
		{own + "started", encode(t, word(lyon, oslo, 1, "another listener"))},
		{own + "award", honest},
		{own + "started", []byte("noise")},
		{own + "started", nil},
		{own + "started", []byte(strings.Replace(string(honest), "\xa7started", "\xa7migrate", 1))},
		{own + "started", honest},
	} {
		if err := conn.Publish(p.subject, p.data); err != nil {
			t.Fatal(err)
		}
	}
	if got := heard(t, coordinator).Body.(protocol.Started).Job; got != "honest" {
		t.Errorf("heard %q; want the honest word alone", got)
	}
	want := natsbus.DeliveryCounts{Delivered: 1, Forged: 3, Unreadable: 2, UnknownKind: 1}
	if got := srv.DeliveryCounts(); got != want {
		t.Errorf("DeliveryCounts() = %+v; want %+v", got, want)
	}
}

// A name that only stands in subjects as a site's own does is no party's: who bore
// it would be no site for the market, and nobody could answer him.
func TestASiteSpeaksUnderNoNameThatOnlyLooksLikeItsOwn(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	coordinator := join(t, srv, protocol.Coordinator)
	conn, _ := burglar(t, srv)
	const own = "gridbid.v1.agent-lyon.coordinator.started"
	for _, data := range [][]byte{
		encode(t, word("agent-lyon", protocol.Coordinator, 1, "of no site")),
		encode(t, word(lyon, protocol.Coordinator, 1, "honest")),
	} {
		if err := conn.Publish(own, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Publish("gridbid.v1.agent-lyon.all.started", encode(t, word(lyon, "all", 2, "to a party called all"))); err != nil {
		t.Fatal(err)
	}
	if err := conn.Publish(own, encode(t, word(lyon, protocol.Coordinator, 3, "the last"))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []protocol.JobID{"honest", "the last"} {
		if m := heard(t, coordinator); m.From != lyon || m.Body.(protocol.Started).Job != want {
			t.Errorf("heard %q of %q; want %q of the site alone", m.Body.(protocol.Started).Job, m.From, want)
		}
	}
	if got := srv.DeliveryCounts(); got.Forged != 2 || got.Delivered != 2 {
		t.Errorf("DeliveryCounts() = %+v; want 2 forged", got)
	}
}

// What no client would send: headers that cannot be read. Their message is heard,
// and its listener's port lives.
func TestHeadersThatCannotBeReadEndNobodysPort(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	coordinator := join(t, srv, protocol.Coordinator)
	name, password, err := srv.UserCredentials(lyon)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.ClientURL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT {\"user\":%q,\"pass\":%q,\"headers\":true,\"verbose\":false}\r\n", name, password)
	const head = "these are none\r\n"
	for seq := range uint64(200) {
		data := encode(t, word(lyon, protocol.Coordinator, seq+1, "x"))
		fmt.Fprintf(conn, "HPUB gridbid.v1.agent-lyon.coordinator.started %d %d\r\n%s%s\r\n", len(head), len(head)+len(data), head, data)
		if got := heard(t, coordinator).Seq; got != seq+1 {
			t.Fatalf("heard message %d; want %d", got, seq+1)
		}
	}
	if err := coordinator.Close(); err != nil {
		t.Errorf("the port failed: %v", err)
	}
}

func TestNobodyJoinsWithoutThePassword(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	_, password, err := srv.UserCredentials(oslo)
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]nats.Option{
		"nothing":            nil,
		"another's password": {nats.UserInfo("agent-lyon", password)},
		"an empty password":  {nats.UserInfo("agent-oslo", "")},
		"an unknown user":    {nats.UserInfo("agent-rome", password)},
	} {
		hub := natsbus.Dial(srv.ClientURL(), func(protocol.Party) ([]nats.Option, error) { return options, nil })
		if _, err := hub.Connect(t.Context(), oslo); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("Join with %s: %v; want %v", name, err, nats.ErrAuthorization)
		}
	}
	_, first, _ := srv.UserCredentials(oslo)
	_, second, _ := serve(t, "").UserCredentials(oslo)
	if first != password || second == password {
		t.Error("a password changes within a server's life, or outlives it")
	}
}

// tapOf opens a tap of a server, which closes when the test ends.
func tapOf(t *testing.T, srv *natsbus.Server) bus.Conn {
	t.Helper()
	tap, err := natsbus.Dial(srv.ClientURL(), func(protocol.Party) ([]nats.Option, error) {
		return []nats.Option{nats.UserInfo(srv.TapCredentials())}, nil
	}).OpenTap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tap.Close() })
	return tap
}

func TestATapHearsEverythingAndSaysNothing(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	tap := tapOf(t, srv)
	a := join(t, srv, oslo)
	if err := a.Send(t.Context(), word(oslo, lyon, 1, "to lyon"), word(oslo, "", 2, "to all")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []protocol.JobID{"to lyon", "to all"} {
		if got := heard(t, tap).Body.(protocol.Started).Job; got != want {
			t.Errorf("the tap heard %q; want %q", got, want)
		}
	}
	if err := tap.Send(t.Context(), word("TAP", oslo, 1, "x")); err == nil {
		t.Error("the tap spoke")
	}
}

func TestAPortThatCannotKeepUpFails(t *testing.T) {
	srv := serve(t, "")
	srv.MaxPending = 50
	a, b := join(t, srv, oslo), join(t, srv, lyon)
	for seq := range uint64(1000) {
		if err := a.Send(t.Context(), word(oslo, lyon, seq+1, "x")); err != nil {
			t.Fatal(err)
		}
	}
	for srv.DeliveryCounts().Slow == 0 { // nobody reads, so it must come
		time.Sleep(time.Millisecond)
	}
	if err := failure(t, b); !errors.Is(err, nats.ErrSlowConsumer) {
		t.Errorf("the port ended with %v; want %v", err, nats.ErrSlowConsumer)
	}
	if got := srv.DeliveryCounts().Slow; got != 1 {
		t.Errorf("DeliveryCounts().Slow = %d; want 1", got)
	}
}

func TestAPortFailsWithItsServer(t *testing.T) {
	srv := serve(t, "")
	a := join(t, srv, oslo)
	srv.Close()
	if err := failure(t, a); err == nil {
		t.Error("Close of a port without a server = nil; want why it failed")
	}
	if err := a.Send(t.Context(), word(oslo, lyon, 1, "x")); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Say = %v; want %v", err, bus.ErrClosed)
	}
	if _, err := srv.Connect(t.Context(), lyon); err == nil {
		t.Error("Join to a closed server worked")
	}
}

func TestOnlyLoopbackIsServed(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":4222", "192.168.0.1:0", "example.com:0", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000"} {
		if srv, err := natsbus.StartServer(natsbus.Config{Listen: listen}); err == nil {
			t.Errorf("Serve on %q worked", listen)
			srv.Close()
		}
	}
	first := serve(t, "localhost:0")
	if !strings.HasPrefix(first.ClientURL(), "nats://") {
		t.Errorf("URL() = %q", first.ClientURL())
	}
	if url := serve(t, "").ClientURL(); url != "" {
		t.Errorf("URL() of a server within the process = %q; want none", url)
	}
}
