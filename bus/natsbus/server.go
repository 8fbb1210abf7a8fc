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

// A Config configures the embedded server.
type Config struct {
	// Listen is a loopback address such as "127.0.0.1:4222"; port 0 is any free
	// one. Empty: the server is reachable within this process only.
	Listen string
	// Store is the folder for streams and buckets. Empty: the server has none,
	// so there can be no event log.
	Store string
	// Sync makes the server flush each entry of a stream to the disk before it
	// acknowledges it, so that a loss of power loses no entry. Without it, no
	// entry is lost when the server's process is killed.
	Sync bool
}

// A Server is an embedded nats-server, and a Bus over it. Each party has its own
// user, whose password is generated at its first use and never stored.
type Server struct {
	Bus
	nats *server.Server

	mu    sync.Mutex
	users map[string]serverUser // by name, which is the party's token
}

// A serverUser is a party's user of the embedded server.
type serverUser struct {
	who      protocol.Party
	password string
}

// StartServer starts a server. The caller closes it.
func StartServer(cfg Config) (*Server, error) {
	// The program owns signals and logs; a party may lag by 16 of the largest messages before the
	// server drops its connection.
	opts := &server.Options{
		ServerName: "gridbid", DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: true,
		MaxPayload: protocol.MaxMessage, MaxPending: 16 * protocol.MaxMessage,
	}
	if cfg.Listen != "" {
		host, port, err := parseLoopback(cfg.Listen)
		if err != nil {
			return nil, err
		}
		opts.DontListen, opts.Host, opts.Port = false, host, port
	}
	if cfg.Store != "" {
		opts.JetStream, opts.StoreDir, opts.SyncAlways = true, cfg.Store, cfg.Sync
	}
	s := &Server{users: make(map[string]serverUser)}
	opts.CustomClientAuthentication = passwordAuth{s}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("natsbus: start the server: %w", err)
	}
	s.nats = srv
	if err := new(serverLog).startServer(srv); err != nil {
		s.Close()
		return nil, fmt.Errorf("natsbus: %w", err)
	}
	s.Bus.login = func(who protocol.Party) ([]nats.Option, error) {
		name, password := s.drawCredentials(who)
		return []nats.Option{nats.InProcessServer(srv), nats.UserInfo(name, password)}, nil
	}
	return s, nil
}

// parseLoopback splits an address that is reachable from this machine only.
func parseLoopback(listen string) (string, int, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("natsbus: listen on %q: %w", listen, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return "", 0, fmt.Errorf("natsbus: listen on %q: port: want 0..65535", listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("natsbus: listen on %q: want a loopback address; passwords would cross the network unencrypted", listen)
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	return host, n, nil
}

// ClientURL returns the server's address, or "" if it is reachable within this process only.
func (s *Server) ClientURL() string {
	if s.nats.Addr() == nil {
		return ""
	}
	return s.nats.ClientURL()
}

// UserCredentials returns the user and the password with which another process on
// this machine connects as who. Pass them in a file or pipe that other users cannot
// read.
func (s *Server) UserCredentials(who protocol.Party) (name, password string, err error) {
	if err := bus.ValidateParty(who); err != nil {
		return "", "", err
	}
	name, password = s.drawCredentials(who)
	return name, password, nil
}

// A Login is a user and password of UserCredentials, as another process gets it.
type Login struct{ Name, Password string }

// DialAs returns a Bus over an embedded server of another process on this machine, for the parties of
// some logins.
func DialAs(url string, logins map[protocol.Party]Login) *Bus {
	return Dial(url, func(who protocol.Party) ([]nats.Option, error) {
		return []nats.Option{nats.UserInfo(logins[who].Name, logins[who].Password)}, nil
	})
}

// PasswordsOf returns the login of parties in other processes on this machine, for
// [Dial].
func PasswordsOf(s *Server) func(protocol.Party) ([]nats.Option, error) {
	return func(who protocol.Party) ([]nats.Option, error) {
		name, password, err := s.UserCredentials(who)
		return []nats.Option{nats.UserInfo(name, password)}, err
	}
}

// NewBus returns another Bus over the server, with its own limits, tracer and
// counts.
func (s *Server) NewBus() *Bus { return &Bus{Log: s.Bus.Log, url: s.Bus.url, login: s.Bus.login} }

// TapCredentials returns the credentials for a [Bus.OpenTap].
func (s *Server) TapCredentials() (name, password string) { return s.drawCredentials(tap) }

// drawCredentials returns the user of a party, with a random password at its first use.
func (s *Server) drawCredentials(who protocol.Party) (name, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name = subjectToken(who)
	u, ok := s.users[name]
	if !ok {
		u = serverUser{who, rand.Text()}
		s.users[name] = u
	}
	return name, u.password
}

// A passwordAuth authenticates users, and limits them to their subjects.
type passwordAuth struct{ *Server }

// Check implements server.Authentication.
func (g passwordAuth) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	g.mu.Lock()
	u, ok := g.users[given.Username]
	g.mu.Unlock()
	// Compare in constant time: the time must not tell how much of a password was right.
	if !ok || subtle.ConstantTimeCompare([]byte(given.Password), []byte(u.password)) != 1 {
		return false
	}
	c.RegisterUser(&server.User{Username: given.Username, Permissions: serverPermissions(u.who)})
	return true
}

// Close stops the server. Connections that are still open fail.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
