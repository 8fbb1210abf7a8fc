// Package daemon is what the long-running binaries have in common: flags with
// environment variables, logging, signals, paths, the connection to NATS and the HTTP
// server.
package daemon

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/gridbid/gridbid/internal/plainerror"
)

// A Service runs until its context ends.
type Service func(context.Context) error

// runMain is the main function of a binary: it reads flags and environment, prepares a
// service and, unless check is set by then, runs it until SIGTERM or SIGINT. It
// returns the exit code: 0 done, 1 failed, 2 a flag or the configuration is wrong.
func runMain(fs *flag.FlagSet, prefix, about string, args []string, check *bool, prepare func() (Service, *slog.Logger, error)) int {
	out, name := fs.Output(), fs.Name()
	fs.Usage = func() { writeUsage(fs, prefix, about) }
	RelaxGarbageCollector()
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	err := setFlagsFromEnvironment(fs, prefix)
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q; see --help", fs.Arg(0))
	}
	var serve Service
	var log *slog.Logger
	if err == nil {
		serve, log, err = prepare()
	}
	if err != nil {
		fmt.Fprintf(out, "%s: %s\n", name, strings.TrimPrefix(plainerror.Text(err), name+": "))
		return 2
	}
	if *check {
		fmt.Fprintf(out, "%s: the configuration is right\n", name)
		return 0
	}
	IgnoreBrokenPipe()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills a service that does not end at the first
	if err := serve(ctx); err != nil {
		log.Error("ended", "err", err)
		return 1
	}
	log.Info("ended")
	return 0
}

// IgnoreBrokenPipe keeps a program alive when the reader of its output is gone, which
// may end earlier by the same ctrl-C. Child processes do not inherit this.
func IgnoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// RelaxGarbageCollector lets the heap grow to five times the live data before a
// collection, unless GOGC is set. A party uses some ten MiB, so memory is no concern,
// while a collection during a round makes the round some milliseconds longer.
func RelaxGarbageCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// setFlagsFromEnvironment sets each flag that the command line did not set from its
// environment variable: prefix, then the flag's name in capitals with underscores. A
// flag takes precedence over a variable, and both over the configuration file.
func setFlagsFromEnvironment(fs *flag.FlagSet, prefix string) error {
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var err error
	fs.VisitAll(func(f *flag.Flag) {
		name := environmentVariable(prefix, f.Name)
		if v, ok := os.LookupEnv(name); ok && !given[f.Name] && err == nil {
			if bad := fs.Set(f.Name, v); bad != nil {
				err = fmt.Errorf("%s=%q: %w", name, v, bad)
			}
		}
	})
	return err
}

// environmentVariable returns the name of a flag's environment variable.
func environmentVariable(prefix, name string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// writeUsage writes a command's help: about, then its flags with their variables.
func writeUsage(fs *flag.FlagSet, prefix, about string) {
	out := fs.Output()
	fmt.Fprintf(out, "%s\n\nFlags, and the environment variables that stand for them:\n", about)
	fs.VisitAll(func(f *flag.Flag) {
		kind, what := flag.UnquoteUsage(f)
		fmt.Fprintf(out, "  --%-22s %s\n  %-24s %s\n", strings.TrimSpace(f.Name+" "+kind), what, "", environmentVariable(prefix, f.Name))
	})
}

// NewLogger returns a logger of a level (debug, info, warn, error) and a format (text,
// json) that writes to out.
func NewLogger(out io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q: want debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, opts)), nil
	}
	return nil, fmt.Errorf("log format %q: want text or json", format)
}

// ResolveUnder returns a path relative to dir; absolute paths and "" stay as they are.
func ResolveUnder(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// IsLoopback reports whether only this machine reaches an address (HOST:PORT).
func IsLoopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("listen %q: %w", address, err)
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// RequireLoopback refuses addresses that other machines can reach, for HTTP servers that do not
// authenticate readers.
func RequireLoopback(address string) error {
	local, err := IsLoopback(address)
	if err == nil && !local {
		return fmt.Errorf("listen %q: want a loopback address such as 127.0.0.1:7480; reach it from elsewhere through a tunnel", address)
	}
	return err
}
