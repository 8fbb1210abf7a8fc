package ports

import (
	"fmt"
	"net"
	"testing"
)

func TestFreePortsDifferAndCanBeListenedOn(t *testing.T) {
	free, err := Free(200)
	if err != nil || len(free) != 200 {
		t.Fatalf("%d ports: %v", len(free), err)
	}
	for _, port := range free {
		if port < first || port > last {
			t.Errorf("port %d", port)
		}
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)) // and is held, so that no other is the same
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}
