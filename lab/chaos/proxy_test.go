package chaos

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A proxy is a line between two servers that can be cut.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	lines map[net.Conn]bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: to, lines: make(map[net.Conn]bool)}
	t.Cleanup(func() { _ = l.Close(); p.set(true) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.carry(c)
		}
	}()
	return p
}

func (p *proxy) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer far.Close()
	p.mu.Lock()
	if p.cut {
		p.mu.Unlock()
		return
	}
	p.lines[near], p.lines[far] = true, true
	p.mu.Unlock()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(way[1], way[0])
			done <- struct{}{}
		}()
	}
	<-done
	p.mu.Lock()
	delete(p.lines, near)
	delete(p.lines, far)
	p.mu.Unlock()
}

// set cuts the line, or joins it.
func (p *proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	if cut {
		for c := range p.lines {
			_ = c.Close()
		}
	}
}
