package natsbus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server authenticates every client from beyond its machine, at whichever
// of its ports.
func TestNoListenerLetsStrangersIn(t *testing.T) {
	const users = "accounts { A { users: [{user: a, password: b}] } }\n"
	for text, want := range map[string]string{
		"listen: 127.0.0.1:4222\n":         "",
		"listen: 0.0.0.0:4222\n":           "without authentication",
		users + "listen: 0.0.0.0:4222\n":   "without tls",
		users + "listen: 127.0.0.1:4222\n": "",
		users + "no_auth_user: a\n":        "no_auth_user",
		users + "listen: 127.0.0.1:4222\nwebsocket { listen: \"127.0.0.1:80\", no_tls: true, no_auth_user: a }\n":            "no_auth_user",
		users + "listen: 127.0.0.1:4222\nwebsocket { listen: \"0.0.0.0:80\", no_tls: true }\n":                               "for websockets on \"0.0.0.0\" without tls",
		users + "listen: 127.0.0.1:4222\nmqtt { listen: \"0.0.0.0:1883\" }\n":                                                "for mqtt on \"0.0.0.0\" without tls",
		users + "listen: 127.0.0.1:4222\nleafnodes { listen: \"0.0.0.0:7422\" }\n":                                           "for leafnodes on \"0.0.0.0\" without tls",
		"listen: 127.0.0.1:4222\nleafnodes { listen: \"0.0.0.0:7422\" }\n":                                                   "for leafnodes on \"0.0.0.0\" without authentication",
		users + "listen: 127.0.0.1:4222\ncluster { listen: \"0.0.0.0:6222\" }\n":                                             "for its cluster on \"0.0.0.0\" without authentication",
		users + "listen: 127.0.0.1:4222\ngateway { name: g, listen: \"0.0.0.0:7222\" }\n":                                    "for gateways on \"0.0.0.0\" without authentication",
		users + "listen: 127.0.0.1:4222\nleafnodes { listen: \"127.0.0.1:7422\" }\ncluster { listen: \"127.0.0.1:6222\" }\n": "",
	} {
		file := filepath.Join(t.TempDir(), "nats.conf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readServerConfig(file)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
