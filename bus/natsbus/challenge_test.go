package natsbus

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// A server that asks at login for the signature of something else than a challenge gets none: with the same key a
// party signs what binds it.
func TestOnlyChallengesAreSignedAtLogin(t *testing.T) {
	seed, _, err := NewUserKey()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "oslo.nk")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	for challenge, signed := range map[string]bool{
		"PXoWU7zWAMt75FY": true, "": false, strings.Repeat("a", 31): true, strings.Repeat("a", 32): false,
		"cosignature/v1": false, `a\nb`: false, `\u0001\u0002`: false,
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan string, 1)
		go func() {
			defer close(asked)
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "INFO {\"server_id\":\"x\",\"version\":\"2.15.2\",\"proto\":1,\"headers\":true,\"max_payload\":1048576,\"auth_required\":true,\"nonce\":\"%s\"}\r\n", challenge)
			line, _ := bufio.NewReader(conn).ReadString('\n')
			asked <- line
		}()
		options, err := Access{URL: "nats://" + listener.Addr().String(), Seed: file}.ConnectOptions()
		if err != nil {
			t.Fatal(err)
		}
		if conn, err := nats.Connect("nats://"+listener.Addr().String(), append(options, nats.NoReconnect())...); err == nil {
			conn.Close()
		}
		_ = listener.Close()
		if got := strings.Contains(<-asked, `"sig":"`); got != signed {
			t.Errorf("challenge %q is signed: %t; want %t", challenge, got, signed)
		}
	}
}
