// Package ports chooses TCP ports for servers of tests and examples that must know
// their port before they start, and keep it over restarts.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// Ports are chosen below the range of ephemeral ports (from 32768 on Linux, higher
// elsewhere), so that no outgoing connection takes one before the server starts.
const (
	firstPort = 20_000
	lastPort  = 32_767
)

// FreePorts returns n different ports of 127.0.0.1 on which no process listens.
func FreePorts(n int) (free []int, err error) {
	for tries := 0; len(free) < n; tries++ {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if errors.Is(err, syscall.EADDRINUSE) && tries < 100*n {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("ports: %w", err)
		}
		defer l.Close() // only when all are chosen, so that they differ
		free = append(free, port)
	}
	return free, nil
}
