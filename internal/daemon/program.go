package daemon

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/protocol"
)

// Settings is the part of a configuration file that all daemons share.
type Settings struct {
	Listen   string              `yaml:"listen"`
	NATSFile string              `yaml:"nats_file"`
	NATS     *natsbus.AccessFile `yaml:"nats"`
	Traces   struct {
		Endpoint string  `yaml:"endpoint"`
		Ratio    float64 `yaml:"ratio"`
	} `yaml:"traces"`
	Log struct {
		Level  string `yaml:"level"`
		Format string `yaml:"format"`
	} `yaml:"log"`
}

// ResolvePaths resolves relative file names from dir, the folder of the configuration
// file.
func (s *Settings) ResolvePaths(dir string) {
	s.NATSFile = ResolveUnder(dir, s.NATSFile)
	if s.NATS != nil {
		s.NATS.Access = s.NATS.Access.ResolvePaths(dir)
	}
}

// natsAccess returns how to reach the NATS server; noServer completes the error if none is
// configured.
func (s *Settings) natsAccess(noServer string) (natsbus.AccessFile, error) {
	switch {
	case s.NATS != nil && s.NATSFile != "":
		return natsbus.AccessFile{}, errors.New("both nats and nats_file: keep one")
	case s.NATS != nil:
		return *s.NATS, s.NATS.Validate()
	case s.NATSFile == "":
		return natsbus.AccessFile{}, fmt.Errorf("no NATS server is configured: give --nats FILE, or nats in the configuration; %s", noServer)
	}
	return natsbus.ReadAccess(s.NATSFile)
}

// A Program describes a daemon that takes part in a federation; Run is its main
// function.
type Program struct {
	Name      string // as in errors and help
	EnvPrefix string // of the environment variables that set flags
	About     string // the first part of its help
	// ListenHelp says what --listen serves. DefaultListen is its default; "" serves
	// nothing unless an address is configured.
	ListenHelp, DefaultListen string
	NoServer                  string // what to do if no NATS server is configured
	// AddFlags adds flags of the program's own; nil: it has none.
	AddFlags func(*flag.FlagSet)
	// Load reads the configuration file; "" if none was given. Flags override the
	// settings that it returns.
	Load func(file string) (*Settings, error)
	// MayListen returns an error for an address that the program may not listen on; nil:
	// loopback addresses only.
	MayListen func(address string) error
	// Prepare checks the rest of the configuration and returns the service to run.
	// It must change nothing outside the process: --check calls it too.
	Prepare func(*Process) (Service, error)
}

// A Process is a program whose shared settings were checked.
type Process struct {
	Settings
	Access natsbus.AccessFile
	Log    *slog.Logger
}

// Run is the main function of a program. It returns the exit code: 0 done, 1 failed, 2
// a flag or the configuration is wrong. Errors and logs go to out.
func (p Program) Run(args []string, out io.Writer) int {
	fs := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	fs.SetOutput(out)
	var file, listen, nats, level, format string
	var check bool
	fs.StringVar(&file, "config", "", "configuration `FILE` in YAML")
	fs.BoolVar(&check, "check", false, "check the configuration, and exit")
	fs.StringVar(&listen, "listen", "", fmt.Sprintf("`ADDRESS` (HOST:PORT) of %s (default %s)", p.ListenHelp, cmp.Or(p.DefaultListen, "none")))
	fs.StringVar(&nats, "nats", "", "`FILE` that says how the NATS server is reached")
	fs.StringVar(&level, "log-level", "", "debug, info, warn or error (default info)")
	fs.StringVar(&format, "log-format", "", "text or json (default text)")
	if p.AddFlags != nil {
		p.AddFlags(fs)
	}
	return runMain(fs, p.EnvPrefix, p.About, args, &check, func() (Service, *slog.Logger, error) {
		s, err := p.Load(file)
		if err != nil {
			return nil, nil, err
		}
		s.Listen = cmp.Or(listen, s.Listen, p.DefaultListen)
		s.Log.Level, s.Log.Format = cmp.Or(level, s.Log.Level, "info"), cmp.Or(format, s.Log.Format, "text")
		if nats != "" {
			s.NATS, s.NATSFile = nil, nats
		}
		x, err := p.openProcess(*s, out)
		if err != nil {
			return nil, nil, err
		}
		serve, err := p.Prepare(x)
		return serve, x.Log, err
	})
}

// openProcess checks the shared settings and creates the logger.
func (p Program) openProcess(s Settings, out io.Writer) (x *Process, err error) {
	x = &Process{Settings: s}
	if x.Log, err = NewLogger(out, s.Log.Level, s.Log.Format); err != nil {
		return nil, err
	}
	if s.Listen != "" {
		mayListen := p.MayListen
		if mayListen == nil {
			mayListen = RequireLoopback
		}
		if err := mayListen(s.Listen); err != nil {
			return nil, err
		}
	}
	if _, err := telemetry.TracesEndpoint(s.Traces.Endpoint); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	x.Access, err = s.natsAccess(p.NoServer)
	return x, err
}

// DialBus returns the federation's bus on the configured NATS server.
func (x *Process) DialBus() (*natsbus.Bus, error) {
	natsBus, err := natsbus.Open(x.Access.Access)
	if err != nil {
		return nil, err
	}
	natsBus.Log = x.Log
	return natsBus, nil
}

// StartTelemetry exports metrics of a party and its bus, and traces if they are configured.
// The caller must close the result.
func (x *Process) StartTelemetry(ctx context.Context, party protocol.Party, natsBus *natsbus.Bus) (*telemetry.Telemetry, error) {
	t, err := telemetry.New(ctx, telemetry.Config{Who: party, Endpoint: x.Traces.Endpoint, Ratio: x.Traces.Ratio, Log: x.Log})
	if err == nil {
		t.WatchBus(natsBus)
	}
	return t, err
}

// ListenHTTP listens on the configured address.
func (x *Process) ListenHTTP() (net.Listener, error) {
	listener, err := net.Listen("tcp", x.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// ServeHTTP serves requests until the returned function is called. If the server
// fails, that is logged and the process continues: the market does not depend on its
// page.
func (x *Process) ServeHTTP(listener net.Listener, handler http.Handler) (end func()) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			x.Log.Error("the HTTP server failed: nothing answers at this address any more", "address", listener.Addr().String(), "err", err)
		}
	}()
	return func() { _ = server.Close() }
}
