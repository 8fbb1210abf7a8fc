package natsbus

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An operator hears that the disk is full, and what a site is refused; one that is refused each of its words fills no
// log, however long they are.
func TestWhatAServerSaysOfItsStoreIsLogged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := ServeConfigFile(file, Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var log strings.Builder
	over, end := context.WithCancel(t.Context())
	end()
	h.ReloadOnChange(over, time.Hour, slog.New(slog.NewTextHandler(&log, nil)), file)
	for i := range 100 {
		h.nats.Errorf("127.0.0.1:5000 - cid:7 - Publish Violation - Subject %q", fmt.Sprint(i, strings.Repeat("x", 5000)))
		h.nats.Errorf("JetStream failed to store message %d: no space left on device", i)
	}
	n, refused := strings.Count(log.String(), "no space left"), strings.Count(log.String(), "Publish Violation")
	if n != 7 || refused < 20 || refused > 90 || log.Len() > (n+refused)*600 { // 20 at once, and one a second
		t.Errorf("%d lines of the store, %d of what is refused, %d bytes:\n%s", n, refused, log.Len(), log.String())
	}
}

// Starting a server on a folder of another user, or at a port in use, is an error that says
// so, and names no other cause.
func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	dir := t.TempDir()
	file, store := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "store")
	if err := os.WriteFile(store, nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for text, want := range map[string]string{
		"listen: 127.0.0.1:-1\njetstream { store_dir: \"" + store + "\" }\n": "not a directory",
		"listen: \"" + taken.Addr().String() + "\"\n":                        "address already in use",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := ServeConfigFile(file, Access{}); err == nil || !strings.Contains(err.Error(), want) {
			if err == nil {
				h.Close()
			}
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	if s, err := StartServer(Config{Store: store}); err == nil || !strings.Contains(err.Error(), "Can't start JetStream") {
		if err == nil {
			s.Close()
		}
		t.Errorf("an embedded one: %v", err)
	}
}

// A server that is started twice by mistake could lose all that the first keeps. The
// second leaves it alone, whichever the first is.
func TestASecondServerDoesNotOpenTheStoreOfTheFirst(t *testing.T) {
	dir := t.TempDir()
	file, store := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "store")
	other, err := net.Listen("tcp", "127.0.0.1:0") // another program has the port, and so the store
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	host := func(listen string) (*ConfiguredServer, error) {
		t.Helper()
		text := "listen: \"" + listen + "\"\njetstream { store_dir: \"" + store + "\" }\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ServeConfigFile(file, Access{})
	}
	if h, err := host(other.Addr().String()); err == nil {
		h.Close()
		t.Error("two servers at one port")
	}
	if _, err := os.Stat(store); err == nil {
		t.Error("it opened the store before it looked at its port")
	}
	first, err := host("127.0.0.1:-1")
	if err != nil {
		t.Fatal(err)
	}
	if h, err := host("127.0.0.1:-1"); err == nil {
		h.Close()
		t.Error("two servers on one store")
	}
	first.Close()
	again, err := host("127.0.0.1:-1")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
