package main

import (
	"context"
	"io"
)

// An cancellableReader reads from in until ctx ends. Nothing else ends a read that waits for
// somebody at a terminal; it is left to itself, as the program ends.
type cancellableReader struct {
	ctx context.Context
	in  io.Reader
}

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
