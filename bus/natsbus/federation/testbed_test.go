package federation_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/internal/ports"
	"github.com/gridbid/gridbid/protocol"
)

var (
	now  = time.Now()
	oslo = protocol.AgentParty("oslo")

	vision = protocol.TenantParty("vision")
	lyon   = protocol.AgentParty("lyon")
)

// patience is far longer than anything takes on a machine that is busy with other
// things, and is waited for only by a test that fails.
const patience = 2 * time.Minute

// A stage is a federation of two sites and two tenants on this machine, with its hub running.
type stage struct {
	*testing.T
	dir string
	fed *federation.Federation
	hub *natsbus.ConfiguredServer
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, dir: filepath.Join(t.TempDir(), "fed")}
	ports, err := ports.FreePorts(3)
	s.must(err)
	fed, err := federation.InitFederation(s.dir, federation.Setup{Hosts: []string{"127.0.0.1"}, Listen: "127.0.0.1", Port: ports[0], LeafPort: ports[1], Route: ports[2]}, now)
	s.must(err)
	s.fed = fed
	for _, site := range []string{"oslo", "lyon"} {
		_, err := fed.AddSite(federation.SiteSetup{Name: site, LeafListen: net.JoinHostPort("127.0.0.1", "-1")})
		s.must(err)
	}
	for _, tenant := range []string{"vision", "speech"} {
		_, err := fed.AddTenant(federation.TenantSetup{Name: tenant})
		s.must(err)
	}
	s.hub, err = natsbus.ServeConfigFile(fed.HubConfigFile(0), s.access("coordinator"))
	s.must(err)
	t.Cleanup(s.hub.Close)
	return s
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// joins returns why a party may not join, or nil. A server may hang up before its
// reason is read: then it is asked again.
func (s *stage) joins(a natsbus.Access, who protocol.Party) error {
	s.Helper()
	hub, err := natsbus.Open(a)
	s.must(err)
	for range 10 {
		port, refused := hub.Connect(s.Context(), who)
		if refused == nil {
			return port.Close()
		}
		if err = refused; errors.Is(err, nats.ErrAuthorization) {
			break
		}
	}
	return err
}

// access is what a member's nats.yaml says.
func (s *stage) access(name string) natsbus.Access {
	dir := filepath.Join(s.dir, name)
	for _, below := range []string{"sites", "tenants"} {
		if _, err := os.Stat(filepath.Join(s.dir, below, name)); err == nil {
			dir = filepath.Join(s.dir, below, name)
		}
	}
	return natsbus.Access{URL: s.fed.HubURL(), CA: "ca.pem", Seed: name + ".nk"}.ResolvePaths(dir)
}

func (s *stage) join(hub bus.Bus, who protocol.Party) bus.Conn {
	s.Helper()
	port, err := hub.Connect(s.Context(), who)
	s.must(err)
	s.Cleanup(func() { _ = port.Close() })
	return port
}

// open returns the hub as a member sees it from another process.
func (s *stage) open(name string) *natsbus.Bus {
	s.Helper()
	hub, err := natsbus.Open(s.access(name))
	s.must(err)
	return hub
}

// leaf starts the server of a site.
func (s *stage) leaf(site string) *natsbus.ConfiguredServer {
	s.Helper()
	before := s.hub.LeafCount()
	leaf, err := natsbus.ServeConfigFile(filepath.Join(s.dir, "sites", site, "leaf.conf"), s.access(site))
	s.must(err)
	s.Cleanup(leaf.Close)
	s.until("the leaf is joined", func() bool { return s.hub.LeafCount() > before })
	return leaf
}

// until waits for what must come.
func (s *stage) until(what string, done func() bool) {
	s.Helper()
	for range 12_000 {
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.Fatalf("waited in vain until %s", what)
}

// raw connects as a member with a bare NATS client, which may try anything.
func (s *stage) raw(url, name string, more ...nats.Option) (*nats.Conn, <-chan error) {
	s.Helper()
	a := s.access(name)
	if url != "" {
		a.URL, a.CA = url, ""
	}
	options, err := a.ConnectOptions()
	s.must(err)
	denied := make(chan error, 64)
	options = append(options, nats.NoReconnect(), nats.Timeout(patience), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		select {
		case denied <- err:
		default:
		}
	}))
	conn, err := nats.Connect(a.URL, append(options, more...)...)
	s.must(err)
	s.Cleanup(conn.Close)
	return conn, denied
}

func word(from, to protocol.Party, seq uint64, job protocol.JobID) protocol.Message {
	return protocol.Message{Version: protocol.Current, At: 1, From: from, Seq: seq, To: to, Body: protocol.Started{Job: job}}
}

func (s *stage) say(port bus.Conn, ms ...protocol.Message) {
	s.Helper()
	s.must(port.Send(s.Context(), ms...))
}

// hears says what job the next message to a port is about.
func (s *stage) hears(port bus.Conn) protocol.JobID {
	s.Helper()
	select {
	case m, ok := <-port.Messages():
		if !ok {
			s.Fatalf("the port closed: %v", port.Close())
		}
		return m.Body.(protocol.Started).Job
	case <-time.After(patience):
		s.Fatal("heard nothing")
	}
	return ""
}

func encode(t testing.TB, m protocol.Message) []byte {
	data, err := protocol.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
