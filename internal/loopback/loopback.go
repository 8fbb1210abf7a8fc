// Package loopback recognizes HTTP requests that come from this machine and address it
// by a name of its own. The second condition protects against DNS rebinding: a page
// from elsewhere, whose name was pointed at 127.0.0.1, makes a browser on this machine
// send requests that come from loopback, but with that page's name in the Host header.
package loopback

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ParseHost returns the name in a request's Host header, in lower case and without
// port and brackets, and whether it can only mean this machine.
func ParseHost(hostport string) (name string, own bool) {
	name = hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(strings.TrimSuffix(name, "."), "[]"))
	ip, err := netip.ParseAddr(name)
	return name, err == nil && ip.IsLoopback() || name == "localhost"
}

// IsLoopbackAddr reports whether a request's RemoteAddr is a loopback address.
func IsLoopbackAddr(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// IsLocalRequest reports whether a request comes from this machine and addresses it by
// localhost or a loopback address.
func IsLocalRequest(r *http.Request) bool {
	_, own := ParseHost(r.Host)
	return own && IsLoopbackAddr(r.RemoteAddr)
}

// AllowLocalOnly wraps a handler without authentication: it answers 403 to requests
// that are not local in the sense of IsLocalRequest.
func AllowLocalOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !IsLocalRequest(r) {
			http.Error(w, "only this machine is served, under its own name", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
