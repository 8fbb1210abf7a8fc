package main

import (
	"context"
	"io"
)

// A cancellableReader reads from in until ctx ends. A read from a terminal cannot be
// interrupted otherwise: its goroutine is left behind, which is no leak, as the process is
// about to exit.
type cancellableReader struct {
	ctx context.Context
	in  io.Reader
}

// Read is one read of in. After ctx ends it returns the error of ctx at once.
func (u cancellableReader) Read(to []byte) (int, error) {
	type got struct {
		n   int
		err error
	}
	buf, read := make([]byte, len(to)), make(chan got, 1)
	go func() {
		n, err := u.in.Read(buf)
		read <- got{n, err}
	}()
	select {
	case g := <-read:
		return copy(to, buf[:g.n]), g.err
	case <-u.ctx.Done():
		return 0, u.ctx.Err()
	}
}
