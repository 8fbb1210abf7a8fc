package ports

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
)

func TestFreePortsDifferAndCanBeListenedOn(t *testing.T) {
	free, err := FreePorts(200)
	if err != nil || len(free) != 200 {
		t.Fatalf("%d ports: %v", len(free), err)
	}
	known, taken := make(map[int]bool), 0
	for _, port := range free {
		if port < firstPort || port > lastPort || known[port] {
			t.Errorf("port %d", port)
		}
		known[port] = true
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if errors.Is(err, syscall.EADDRINUSE) { // tests beside this one choose ports, too
			taken++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if taken > 20 {
		t.Errorf("%d of 200 ports are taken", taken)
	}
}
