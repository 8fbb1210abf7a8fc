// Package daemon is what the binaries that run for months have in common: flags
// that the environment may set, logs, a folder's paths.
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
)

// A Service lives until its context ends.
type Service func(context.Context) error

// RunMain is the main of a binary: it reads flags and environment, prepares a service
// and, unless check is set by then, lets it live until SIGTERM or SIGINT. It
// returns the exit code: 0 done, 1 failed, 2 a flag or the configuration is wrong.
func RunMain(fs *flag.FlagSet, prefix, about string, args []string, check *bool, prepare func() (Service, *slog.Logger, error)) int {
	out, name := fs.Output(), fs.Name()
	fs.Usage = func() { WriteUsage(fs, prefix, about) }
	RelaxGarbageCollector()
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	err := SetFlagsFromEnvironment(fs, prefix)
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q; see --help", fs.Arg(0))
	}
	var serve Service
	var log *slog.Logger
	if err == nil {
		serve, log, err = prepare()
	}
	if err != nil {
		fmt.Fprintf(out, "%s: %s\n", name, strings.TrimPrefix(err.Error(), name+": "))
		return 2
	}
	if *check {
		fmt.Fprintf(out, "%s: the configuration is right\n", name)
		return 0
	}
	IgnoreBrokenPipe()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not end by the first
	if err := serve(ctx); err != nil {
		log.Error("ended", "err", err)
		return 1
	}
	log.Info("ended")
	return 0
}

// IgnoreBrokenPipe has a program live on when nobody reads any more what it says: whoever
// does may end before it, by the same ctrl-C. Programs that it starts do not.
func IgnoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// RelaxGarbageCollector has the garbage collector wait until the heap has grown to five
// times what is in use, unless GOGC says otherwise. A party uses some ten MiB; a
// round that meets a collection takes milliseconds longer.
func RelaxGarbageCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// SetFlagsFromEnvironment sets each flag of fs that the command line left alone from its
// variable: prefix, then the flag's name in capitals with underscores. A flag
// wins over a variable, and both over a configuration file.
func SetFlagsFromEnvironment(fs *flag.FlagSet, prefix string) error {
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var err error
	fs.VisitAll(func(f *flag.Flag) {
		name := EnvironmentVariable(prefix, f.Name)
		if v, ok := os.LookupEnv(name); ok && !given[f.Name] && err == nil {
			if bad := fs.Set(f.Name, v); bad != nil {
				err = fmt.Errorf("%s=%q: %w", name, v, bad)
			}
		}
	})
	return err
}

// EnvironmentVariable names the environment variable of a flag.
func EnvironmentVariable(prefix, name string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// WriteUsage writes a command's help: what it is, then its flags with their
// variables.
func WriteUsage(fs *flag.FlagSet, prefix, about string) {
	out := fs.Output()
	fmt.Fprintf(out, "%s\n\nFlags, and the environment variables that stand for them:\n", about)
	fs.VisitAll(func(f *flag.Flag) {
		kind, what := flag.UnquoteUsage(f)
		fmt.Fprintf(out, "  --%-22s %s\n  %-24s %s\n", strings.TrimSpace(f.Name+" "+kind), what, "", EnvironmentVariable(prefix, f.Name))
	})
}

// NewLogger returns a logger of a level (debug, info, warn, error) and a format
// (text, json) to out.
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

// ResolveUnder returns a path of a file that stands in dir.
func ResolveUnder(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// RequireLoopback refuses an address that others reach: who comes there is asked for
// nothing.
func RequireLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("listen %q: want a loopback address such as 127.0.0.1:7480; reach it from elsewhere through a tunnel", address)
	}
	return nil
}
