package federation_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/gridbid/gridbid/bus/natsbus/federation"
)

// A leaf whose line breaks while it joins dials again. nats-server 2.15.2 does
// not if it then writes how it would compress: nobody closes that connection.
// That comes about when a server was stopped while it joined, since it compresses
// by how long a round trip took.
func TestALeafDialsAgainWhenItsLineBreaksAsItJoins(t *testing.T) {
	fed, err := federation.InitFederation(filepath.Join(t.TempDir(), "fed"), federation.Setup{Hosts: []string{"127.0.0.1"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fed.AddSite(federation.SiteSetup{Name: "oslo", LeafListen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "leaf.conf"))
	if err != nil {
		t.Fatal(err)
	}
	const off = "compression: off"
	if strings.Count(string(text), off) != 1 {
		t.Fatalf("leaf.conf does not say %q:\n%s", off, text)
	}
	const enough = 40
	if n := dials(t, string(text), enough, patience); n < enough {
		t.Errorf("gave up after %d dials", n)
	}
	// Whether the reset comes before the leaf writes is a matter of luck.
	if n := dials(t, strings.Replace(string(text), off, "", 1), enough, 5*time.Second); n == enough {
		t.Errorf("with compression it dials again too: nats-server is mended, leaf.conf and hub.conf need no %q", off)
	}
}

// dials starts a leaf by a configuration, with a hub that hangs up as soon as it
// has said who it is, and returns how often the hub was dialed: until that was
// enough times, or the leaf was silent for long.
func dials(t *testing.T, conf string, enough int, silent time.Duration) (n int) {
	hub, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	conf = regexp.MustCompile(`urls: .*`).ReplaceAllString(conf, `urls: ["nats-leaf://`+hub.Addr().String()+`"]`)
	conf = strings.Replace(conf, `reconnect: "1s"`, `reconnect: "20ms"`, 1)
	conf = regexp.MustCompile(`(?s)tls \{.*?\}`).ReplaceAllString(conf, "")
	file := filepath.Join(t.TempDir(), "leaf.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts.NoLog, opts.NoSigs = true, true
	leaf, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	leaf.Start()
	defer leaf.WaitForShutdown()
	defer leaf.Shutdown()
	for n < enough {
		_ = hub.(*net.TCPListener).SetDeadline(time.Now().Add(silent))
		conn, err := hub.Accept()
		if err != nil {
			return n
		}
		n++
		_ = conn.(*net.TCPConn).SetLinger(0) // hangs up by a reset
		time.Sleep(30 * time.Millisecond)    // the leaf waits for a word
		fmt.Fprintf(conn, "INFO {\"server_id\":\"hub\",\"version\":\"2.15.2\",\"nonce\":\"abcdefgh\",\"max_payload\":1048576,\"client_id\":7,\"leafnode_urls\":[\"127.0.0.1:7422\"],\"compression\":\"s2_best\"}\r\n")
		conn.Close()
	}
	return n
}
