// Package ports chooses ports for servers that are told where to listen before
// they start, and again when they are started anew: in tests and examples.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// Ports are chosen below those that systems give to whoever takes any (Linux
// from 32768 on, others higher): a connection that somebody makes in the meantime
// does not take one.
const (
	firstPort = 20_000
	lastPort  = 32_767
)

// FreePorts returns n different ports of the loopback address on which nobody listens.
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
		defer l.Close() // when all are chosen, so that they differ
		free = append(free, port)
	}
	return free, nil
}
