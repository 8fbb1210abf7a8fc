package natsbus

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/protocol"
)

// A ConfiguredServer is an embedded nats-server with a configuration file in the format of
// the program nats-server, and a Bus over it within this process. It requires the
// same keys of parties in this process as of all others.
type ConfiguredServer struct {
	Bus
	nats    *server.Server
	log     *serverLog
	release func() // of the store
	file    string
	read    time.Time // of the configuration, at the start

	reload sync.Mutex
	keys   map[string]string // keys and permissions that may connect, by account
}

// ServeConfigFile starts a server with a configuration file. Parties that connect to its Bus
// connect within this process with the key of as; the address in as is ignored.
// The caller closes it. The error says what to change in the configuration.
func ServeConfigFile(file string, as Access) (*ConfiguredServer, error) {
	read := time.Now()
	opts, err := readServerConfig(file)
	if err != nil {
		return nil, err
	}
	release, err := lockStore(opts)
	if err != nil {
		return nil, fmt.Errorf("natsbus: %s: %w", file, err)
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		release()
		return nil, fmt.Errorf("natsbus: %s: %w", file, err)
	}
	h := &ConfiguredServer{nats: srv, release: release, log: new(serverLog), file: file, read: read, keys: keysOf(opts)}
	h.login = func(protocol.Party) ([]nats.Option, error) { return h.inProcessOptions(as) }
	if err := h.log.startServer(srv); err != nil {
		h.Close()
		return nil, fmt.Errorf("natsbus: %s: %w", file, err)
	}
	return h, nil
}

// lockStore returns an error if another server runs with the same configuration, and
// otherwise locks its store until release is called. nats-server (2.15.2) opens
// its store before it checks its port: a second one started by mistake can lose
// all that the first has stored.
func lockStore(o *server.Options) (release func(), err error) {
	if !o.JetStream || o.StoreDir == "" {
		return func() {}, nil
	}
	if port := cmp.Or(o.Port, server.DEFAULT_PORT); port > 0 { // is the port in use, for example by the program nats-server?
		l, err := net.Listen("tcp", net.JoinHostPort(o.Host, strconv.Itoa(port)))
		if err != nil {
			return nil, err
		}
		_ = l.Close()
	}
	if err := os.MkdirAll(o.StoreDir, 0o750); err != nil {
		return nil, err
	}
	return lockDirectory(o.StoreDir)
}

// ValidateServerConfig returns an error that says what is wrong with a server's configuration file.
func ValidateServerConfig(file string) error {
	_, err := readServerConfig(file)
	return err
}

// readServerConfig reads a file, and refuses one that would admit unknown clients.
func readServerConfig(file string) (*server.Options, error) {
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		return nil, fmt.Errorf("natsbus: %w", err)
	}
	if err := checkNoAnonymousAccess(opts); err != nil {
		return nil, fmt.Errorf("natsbus: %s: %w", file, err)
	}
	// This process handles signals and writes the log.
	opts.NoSigs, opts.NoLog, opts.PidFile, opts.LogFile = true, true, "", ""
	return opts, nil
}

// inProcessOptions returns the options with which a party connects inside this process.
func (h *ConfiguredServer) inProcessOptions(as Access) ([]nats.Option, error) {
	// In this process neither address nor certificate counts: the key alone proves who connects.
	as.URL, as.CA, as.Cert, as.Key = "nats://127.0.0.1", "", "", ""
	options, err := as.ConnectOptions()
	return append(options, nats.InProcessServer(h.nats)), err
}

// ClientURL returns the address for clients.
func (h *ConfiguredServer) ClientURL() string { return h.nats.ClientURL() }

// LeafCount returns the number of connected servers of sites.
func (h *ConfiguredServer) LeafCount() int { return h.nats.NumLeafNodes() }

// Close stops the server. Connections that are still open fail.
func (h *ConfiguredServer) Close() {
	h.nats.Shutdown()
	h.nats.WaitForShutdown()
	h.release()
}
