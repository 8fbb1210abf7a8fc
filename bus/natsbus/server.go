package natsbus

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// A Config says how the embedded server is reached.
type Config struct {
	// Listen is a loopback address such as "127.0.0.1:4222", or ":0" at its
	// end for any free port. Empty: only this process reaches the server.
	Listen string
	// Store is a folder in which the server keeps streams and buckets; empty:
	// it keeps none, and there are no books.
	Store string
	// Sync has the server flush each entry of a stream to the disk before it
	// acknowledges it, so that none is lost when the machine loses power. Without
	// it none is lost when the server is killed.
	Sync bool
}

// A Server is an embedded nats-server, and a hub over it. Every party has a
// user of its own, whose password is drawn when it is first asked for and is
// written nowhere.
type Server struct {
	Hub
	nats *server.Server

	mu    sync.Mutex
	users map[string]user // by name, which is the party's token
}

type user struct {
	who      protocol.Party
	password string
}

// Serve starts a server. The caller closes it.
func Serve(cfg Config) (*Server, error) {
	opts := &server.Options{
		ServerName: "gridbid", DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: true,
		MaxPayload: protocol.MaxMessage, MaxPending: 16 * protocol.MaxMessage,
	}
	if cfg.Listen != "" {
		host, port, err := loopback(cfg.Listen)
		if err != nil {
			return nil, err
		}
		opts.DontListen, opts.Host, opts.Port = false, host, port
	}
	if cfg.Store != "" {
		opts.JetStream, opts.StoreDir, opts.SyncAlways = true, cfg.Store, cfg.Sync
	}
	s := &Server{users: make(map[string]user)}
	opts.CustomClientAuthentication = gate{s}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("natsbus: start the server: %w", err)
	}
	s.nats = srv
	if err := new(serverLog).begin(srv); err != nil {
		s.Close()
		return nil, fmt.Errorf("natsbus: %w", err)
	}
	s.Hub.login = func(who protocol.Party) ([]nats.Option, error) {
		name, password := s.credentials(who)
		return []nats.Option{nats.InProcessServer(srv), nats.UserInfo(name, password)}, nil
	}
	return s, nil
}

// loopback splits an address that only this machine reaches.
func loopback(listen string) (string, int, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("natsbus: listen on %q: %w", listen, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return "", 0, fmt.Errorf("natsbus: listen on %q: port: want 0..65535", listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("natsbus: listen on %q: want a loopback address; passwords would cross the network in clear", listen)
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	return host, n, nil
}

// URL returns where the server listens, or "" if only this process reaches it.
func (s *Server) URL() string {
	if s.nats.Addr() == nil {
		return ""
	}
	return s.nats.ClientURL()
}

// Credentials returns the user and the password by which another process on
// this machine joins as who. Hand them on in a file or pipe that others cannot
// read.
func (s *Server) Credentials(who protocol.Party) (name, password string, err error) {
	if err := bus.CheckParty(who); err != nil {
		return "", "", err
	}
	name, password = s.credentials(who)
	return name, password, nil
}

// PasswordsOf returns how parties in other processes on this machine prove to s
// who they are, for [Dial].
func PasswordsOf(s *Server) func(protocol.Party) ([]nats.Option, error) {
	return func(who protocol.Party) ([]nats.Option, error) {
		name, password, err := s.Credentials(who)
		return []nats.Option{nats.UserInfo(name, password)}, err
	}
}

// More returns another hub over the server, with limits, a tracer and counts of
// its own.
func (s *Server) More() *Hub { return &Hub{Log: s.Hub.Log, url: s.Hub.url, login: s.Hub.login} }

// TapCredentials is Credentials for a [Hub.Tap].
func (s *Server) TapCredentials() (name, password string) { return s.credentials(tap) }

func (s *Server) credentials(who protocol.Party) (name, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name = token(who)
	u, ok := s.users[name]
	if !ok {
		u = user{who, rand.Text()}
		s.users[name] = u
	}
	return name, u.password
}

// A gate admits users with their password, and holds them to their subjects.
type gate struct{ *Server }

// Check implements server.Authentication.
func (g gate) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	g.mu.Lock()
	u, ok := g.users[given.Username]
	g.mu.Unlock()
	if !ok || subtle.ConstantTimeCompare([]byte(given.Password), []byte(u.password)) != 1 {
		return false
	}
	c.RegisterUser(&server.User{Username: given.Username, Permissions: permissions(u.who)})
	return true
}

// Close stops the server. Ports that are still open fail.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
