package natsbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Leaves stay when a file is read that says of them what it said before.
func TestKeysOfAFileAreTheSameEachTime(t *testing.T) {
	_, key, err := NewUserKey()
	if err != nil {
		t.Fatal(err)
	}
	read := func(subject string) map[string]string {
		file := filepath.Join(t.TempDir(), "nats.conf")
		text := "listen: 127.0.0.1:-1\naccounts { A { users: [{nkey: " + key + ", permissions: {publish: {allow: [\"" + subject + "\"]}}}] } }\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		opts, err := readServerConfig(file)
		if err != nil {
			t.Fatal(err)
		}
		return keysOf(opts)
	}
	if a, b := read("x"), read("x"); a["A"] != b["A"] || a["A"] == "" {
		t.Errorf("%q and %q", a, b)
	}
	if a, b := read("x"), read("y"); a["A"] == b["A"] {
		t.Errorf("other rights are the same: %q", a)
	}
}

// A pen is a log that hands on the message of each line.
type pen chan string

func (p pen) Enabled(context.Context, slog.Level) bool { return true }
func (p pen) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p pen) WithGroup(string) slog.Handler            { return p }
func (p pen) Handle(_ context.Context, r slog.Record) error {
	select {
	case p <- r.Message:
	default: // nobody waits for it any more
	}
	return nil
}

// wants waits for a line of the log.
func (p pen) wants(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-p:
		if got != want {
			t.Fatalf("the log says %q; want %q", got, want)
		}
	case <-time.After(serverTimeout):
		t.Fatalf("the log says nothing; want %q", want)
	}
}

const (
	wasRead = "natsbus: nats configuration reloaded"
	wasNot  = "natsbus: the nats configuration has changed and is invalid; the old one stays in force until it is corrected"
)

// An invalid file may be corrected in a place that Watch does not see, such as a
// file that it includes: Watch retries until it is valid, and logs the failure once.
func TestAConfigurationThatFailedIsReadWhenItCanBe(t *testing.T) {
	dir := t.TempDir()
	file, part := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "part.conf")
	write := func(file, text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(file+".next", []byte(text), 0o600), os.Rename(file+".next", file)); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "listen: 127.0.0.1:-1\n")
	h, err := ServeConfigFile(file, Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	write(file, "listen: 127.0.0.1:-1\nmax_connections: 77\n") // before it is watched
	later := time.Now().Add(time.Second)                       // times of files are coarse
	if err := os.Chtimes(file, later, later); err != nil {
		t.Fatal(err)
	}
	log, over := make(pen, 64), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(over)
		h.ReloadOnChange(ctx, time.Millisecond, slog.New(log), file)
	}()
	defer func() { stop(); <-over }()
	log.wants(t, wasRead)
	for i := range 3 {
		write(file, fmt.Sprintf("listen: 127.0.0.1:-1\nmax_connections: 7%d\ninclude part.conf\n", i))
		log.wants(t, wasNot)
		write(part, "max_payload: 1048576\n")
		log.wants(t, wasRead)
		if err := os.Remove(part); err != nil {
			t.Fatal(err)
		}
	}
}
