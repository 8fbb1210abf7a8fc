package chaos

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A proxy is a TCP connection between two servers that can be cut.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	lines map[net.Conn]bool
}

// newProxy starts a proxy to an address; it ends with the test.
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

// carry copies bytes both ways until one side closes or the proxy is cut.
func (p *proxy) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.cut {
		p.mu.Unlock()
		return
	}
	p.lines[client], p.lines[server] = true, true
	p.mu.Unlock()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(way[1], way[0])
			done <- struct{}{}
		}()
	}
	<-done
	p.mu.Lock()
	delete(p.lines, client)
	delete(p.lines, server)
	p.mu.Unlock()
}

// set cuts all connections and refuses new ones, or accepts them once more.
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
