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

// A Hosted is an embedded nats-server that is set up by a configuration file,
// the same that the program nats-server reads, and a hub over it within this
// process. It asks the same keys of this process as of any other.
type Hosted struct {
	Hub
	nats    *server.Server
	says    *serverLog
	release func() // of the store
	file    string
	read    time.Time // when the file was, at first

	reload sync.Mutex
	keys   map[string]string // of who may join, by account
}

// Host starts a server by a configuration file. Parties that join its hub do so
// within this process, by the key that as names; the address in as does not
// matter. The caller closes it.
func Host(file string, as Access) (*Hosted, error) {
	read := time.Now()
	opts, err := configuration(file)
	if err != nil {
		return nil, err
	}
	release, err := alone(opts)
	if err != nil {
		return nil, fmt.Errorf("natsbus: %s: %w", file, err)
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		release()
		return nil, fmt.Errorf("natsbus: %s: %w", file, err)
	}
	h := &Hosted{nats: srv, release: release, says: new(serverLog), file: file, read: read, keys: keysOf(opts)}
	h.login = func(protocol.Party) ([]nats.Option, error) { return h.within(as) }
	if err := h.says.begin(srv); err != nil {
		h.Close()
		return nil, fmt.Errorf("natsbus: %s: %w", file, err)
	}
	return h, nil
}

// alone says that another server runs by a configuration, or returns how to let go of
// its store. nats-server (2.15.2) looks after its port when it has opened its store: one
// that is started twice by mistake can lose all that the first keeps there.
func alone(o *server.Options) (release func(), err error) {
	if !o.JetStream || o.StoreDir == "" {
		return func() {}, nil
	}
	if port := cmp.Or(o.Port, server.DEFAULT_PORT); port > 0 { // another program serves by the same file
		l, err := net.Listen("tcp", net.JoinHostPort(o.Host, strconv.Itoa(port)))
		if err != nil {
			return nil, err
		}
		_ = l.Close()
	}
	if err := os.MkdirAll(o.StoreDir, 0o750); err != nil {
		return nil, err
	}
	return lock(o.StoreDir)
}

// CheckHost says what is wrong with a configuration file of a server, or nil.
func CheckHost(file string) error {
	_, err := configuration(file)
	return err
}

// configuration reads a file, and refuses what would let strangers in.
func configuration(file string) (*server.Options, error) {
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		return nil, fmt.Errorf("natsbus: %w", err)
	}
	if err := strangers(opts); err != nil {
		return nil, fmt.Errorf("natsbus: %s: %w", file, err)
	}
	// Signals and the log belong to the process that we live in.
	opts.NoSigs, opts.NoLog, opts.PidFile, opts.LogFile = true, true, "", ""
	return opts, nil
}

// within returns how a party connects inside of this process.
func (h *Hosted) within(as Access) ([]nats.Option, error) {
	as.URL, as.CA, as.Cert, as.Key = "nats://127.0.0.1", "", "", ""
	options, err := as.Options()
	return append(options, nats.InProcessServer(h.nats)), err
}

// URL returns where the server takes clients.
func (h *Hosted) URL() string { return h.nats.ClientURL() }

// Leaves returns how many servers of sites are joined to this one.
func (h *Hosted) Leaves() int { return h.nats.NumLeafNodes() }

// Close stops the server. Ports that are still open fail.
func (h *Hosted) Close() {
	h.nats.Shutdown()
	h.nats.WaitForShutdown()
	h.release()
}
