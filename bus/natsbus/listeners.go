package natsbus

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
)

// A listener is an address at which a server accepts connections.
type listener struct {
	whom, host   string
	open         bool
	asks, secure bool   // it authenticates clients; it uses TLS
	noAuth       string // user of clients without credentials
}

// serverListeners returns the addresses of a configuration at which messages pass.
func serverListeners(o *server.Options) []listener {
	asks := len(o.Users)+len(o.Nkeys) > 0 || o.Username != "" || o.Authorization != "" || len(o.TrustedOperators) > 0
	leaf, ws, mqtt, cluster, gateway := &o.LeafNode, &o.Websocket, &o.MQTT, &o.Cluster, &o.Gateway
	return []listener{
		{"", o.Host, true, asks, o.TLSConfig != nil, o.NoAuthUser},
		{" for leafnodes", leaf.Host, leaf.Port != 0, asks || leaf.Username != "" || leaf.Nkey != "" || len(leaf.Users) > 0, leaf.TLSConfig != nil, ""},
		{" for websockets", ws.Host, ws.Port != 0, asks || ws.Username != "" || ws.Token != "", ws.TLSConfig != nil, ws.NoAuthUser},
		{" for mqtt", mqtt.Host, mqtt.Port != 0, asks || mqtt.Username != "" || mqtt.Token != "", mqtt.TLSConfig != nil, mqtt.NoAuthUser},
		{" for its cluster", cluster.Host, cluster.Port != 0, cluster.Username != "" || requiresClientCert(cluster.TLSConfig), cluster.TLSConfig != nil, ""},
		{" for gateways", gateway.Host, gateway.Port != 0, gateway.Username != "" || requiresClientCert(gateway.TLSConfig), gateway.TLSConfig != nil, ""},
	}
}

// requiresClientCert reports whether clients must have a certificate.
func requiresClientCert(t *tls.Config) bool {
	return t != nil && t.ClientAuth == tls.RequireAndVerifyClientCert
}

// checkNoAnonymousAccess returns an error that says how a configuration would let unknown
// clients connect or read messages, or nil.
func checkNoAnonymousAccess(o *server.Options) error {
	for _, l := range serverListeners(o) {
		switch {
		case !l.open:
		case l.noAuth != "":
			return errors.New("no_auth_user admits clients without credentials; remove it")
		case onThisMachine(l.host):
		case !l.asks:
			return fmt.Errorf("the server listens%s on %q without authentication; name users", l.whom, l.host)
		case !l.secure:
			return fmt.Errorf("the server listens%s on %q without tls; bids would cross the network unencrypted", l.whom, l.host)
		}
	}
	return nil
}
