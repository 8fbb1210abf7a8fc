package kubetest

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A BindingProxy stands between an agent and its API server. It forwards everything but bindings
// beyond a number, which it holds until the agent is gone: so an agent can be killed between two
// bindings.
type BindingProxy struct {
	forward http.Handler
	mu      sync.Mutex
	limited bool
	left    int           // bindings that it still forwards, if limited
	asked   int           // bindings that it forwards at present
	stuck   chan struct{} // closed when it holds a binding, and none is on its way; nil: it was closed
	waiting bool          // it holds a binding
}

// StartBindingProxy starts a proxy that uses the rights of a kubeconfig, and returns it with a
// kubeconfig that names it.
func (c *Cluster) StartBindingProxy(kubeconfig string) (p *BindingProxy, file string) {
	c.Helper()
	rights, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	c.FailOnError(err)
	server, err := url.Parse(rights.Host)
	c.FailOnError(err)
	forward := httputil.NewSingleHostReverseProxy(server)
	forward.FlushInterval = -1                    // watches
	forward.ErrorLog = log.New(io.Discard, "", 0) // of agents that were killed
	forward.Transport, err = rest.TransportFor(rights)
	c.FailOnError(err)
	p = &BindingProxy{forward: forward}
	at := httptest.NewServer(p)
	c.Cleanup(func() { at.CloseClientConnections(); at.Close() })
	file = filepath.Join(c.TempDir(), "kubeconfig")
	c.FailOnError(os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: agent
contexts: [{name: agent, context: {cluster: plane, user: agent}}]
clusters: [{name: plane, cluster: {server: %q}}]
users: [{name: agent, user: {}}]
`, at.URL), 0o600))
	return p, file
}

// Limit has the proxy forward n bindings more, and hold those after them. The channel is closed
// when it holds one and the API server has answered all before.
func (p *BindingProxy) Limit(n int) (stuck <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limited, p.left, p.waiting, p.stuck = true, n, false, make(chan struct{})
	return p.stuck
}

// ForwardAll has the proxy forward every binding from now on.
func (p *BindingProxy) ForwardAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limited = false
}

// ServeHTTP implements http.Handler.
func (p *BindingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/binding") {
		p.forward.ServeHTTP(w, r)
		return
	}
	if !p.mayPass() {
		_, _ = io.Copy(io.Discard, r.Body) // else nobody sees that the agent is gone
		<-r.Context().Done()
		return
	}
	defer p.passed()
	p.forward.ServeHTTP(w, r)
}

// mayPass reports whether a binding is to be forwarded, and counts it.
func (p *BindingProxy) mayPass() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limited && p.left == 0 {
		p.waiting = true
		p.tell()
		return false
	}
	p.left--
	p.asked++
	return true
}

// passed counts that a binding was answered.
func (p *BindingProxy) passed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked--
	p.tell()
}

// tell closes the channel that Limit returned, if it is time. The caller holds p.mu.
func (p *BindingProxy) tell() {
	if p.waiting && p.asked == 0 && p.stuck != nil {
		close(p.stuck)
		p.stuck = nil
	}
}
