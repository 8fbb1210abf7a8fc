// Package loopback tells what comes from this machine, under its own name. A page
// elsewhere whose name was pointed here (DNS rebinding) comes from a browser on
// this machine, and is known by the host that it asks for.
package loopback

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ParseHost returns the name in a request's Host, without port and brackets and in
// lower case, and whether it can only mean this machine.
func ParseHost(hostport string) (name string, own bool) {
	name = hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(strings.TrimSuffix(name, "."), "[]"))
	ip, err := netip.ParseAddr(name)
	return name, err == nil && ip.IsLoopback() || name == "localhost"
}

// IsLoopbackAddr reports whether a request's RemoteAddr is of this machine.
func IsLoopbackAddr(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// IsLocalRequest reports whether a request comes from this machine, under its own name.
func IsLocalRequest(r *http.Request) bool {
	_, own := ParseHost(r.Host)
	return own && IsLoopbackAddr(r.RemoteAddr)
}

// AllowLocalOnly lets pass what this machine asks under its own name, of handlers that tell
// whoever asks.
func AllowLocalOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !IsLocalRequest(r) {
			http.Error(w, "only this machine is served, under its own name", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
