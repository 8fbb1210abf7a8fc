package natsbus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/protocol"
)

// An Access says where a server is and by what a party proves who it is: the
// part of a binary's configuration that is about NATS. What `gridbid
// federation` writes is an Access.
type Access struct {
	// URL is tls://host:port, or several servers of one cluster with commas
	// between. Without TLS, as in nats://127.0.0.1:4222, only a server on this
	// machine may be named.
	URL   string `yaml:"url" json:"url"`
	CA    string `yaml:"ca,omitempty" json:"ca,omitempty"`       // file, PEM; "" trusts what the system trusts
	Cert  string `yaml:"cert,omitempty" json:"cert,omitempty"`   // file, PEM; for a server that wants one of its clients
	Key   string `yaml:"key,omitempty" json:"key,omitempty"`     // file, PEM; of Cert
	Seed  string `yaml:"seed,omitempty" json:"seed,omitempty"`   // file with the seed of an nkey
	Creds string `yaml:"creds,omitempty" json:"creds,omitempty"` // file, instead of Seed where a NATS operator signs users
}

// Under returns a with its relative file names taken from dir, as is fit for
// what was read from a file there.
func (a Access) Under(dir string) Access {
	for _, name := range []*string{&a.CA, &a.Cert, &a.Key, &a.Seed, &a.Creds} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(dir, *name)
		}
	}
	return a
}

// Check says what is wrong with a, or nil. It reads the files that a names.
func (a Access) Check() error {
	_, err := a.Options()
	return err
}

// Options returns how nats.go is to connect by a. It refuses to carry anything
// in clear beyond this machine, and keys that others may read.
func (a Access) Options() ([]nats.Option, error) {
	secure, err := a.secure()
	if err != nil {
		return nil, err
	}
	var options []nats.Option
	if secure {
		t, err := a.tls()
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(t))
	}
	switch {
	case a.Seed != "" && a.Creds != "":
		return nil, errors.New("natsbus: access: seed and creds are both given; keep one")
	case a.Seed != "":
		if err := private(a.Seed); err != nil {
			return nil, err
		}
		login, err := nats.NkeyOptionFromSeed(a.Seed)
		if err != nil {
			return nil, fmt.Errorf("natsbus: access: seed %s: %w", a.Seed, err)
		}
		options = append(options, login)
	case a.Creds != "":
		if err := private(a.Creds); err != nil {
			return nil, err
		}
		options = append(options, nats.UserCredentials(a.Creds))
	}
	return options, nil
}

// secure reports whether TLS is to be spoken.
func (a Access) secure() (bool, error) {
	if a.URL == "" {
		return false, errors.New("natsbus: access: url is missing; want tls://host:port")
	}
	secure := a.CA != "" || a.Cert != ""
	for one := range strings.SplitSeq(a.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			return false, fmt.Errorf("natsbus: access: url %q: want tls://host:port", one)
		}
		switch u.Scheme {
		case "tls", "wss":
			secure = true
		case "nats", "ws":
			if !secure && !onThisMachine(u.Hostname()) {
				return false, fmt.Errorf("natsbus: access: url %q: bids would cross the network in clear; use tls://%s", one, u.Host)
			}
		default:
			return false, fmt.Errorf("natsbus: access: url %q: want the scheme tls, or nats on this machine", one)
		}
	}
	return secure, nil
}

func onThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (a Access) tls() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS13}
	if a.CA != "" {
		data, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, fmt.Errorf("natsbus: access: ca: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("natsbus: access: ca %s holds no certificate in PEM", a.CA)
		}
	}
	if (a.Cert == "") != (a.Key == "") {
		return nil, errors.New("natsbus: access: cert and key go together; one is missing")
	}
	if a.Cert != "" {
		if err := private(a.Key); err != nil {
			return nil, err
		}
		pair, err := tls.LoadX509KeyPair(a.Cert, a.Key)
		if err != nil {
			return nil, fmt.Errorf("natsbus: access: cert %s: %w", a.Cert, err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// private says why a key is not kept from others, or nil.
func private(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("natsbus: access: %w", err)
	}
	if mode := info.Mode().Perm(); !kept(mode, ours(info)) {
		return fmt.Errorf("natsbus: access: %s is open to others (%#o); run chmod 600 on it, or mount its Secret with defaultMode 0440", file, mode)
	}
	return nil
}

// kept reports whether a file with a key is its owner's alone. One that is not ours we
// can read through our group alone, as pods do what is mounted for them.
func kept(mode fs.FileMode, ours bool) bool {
	if ours {
		return mode&0o077 == 0
	}
	return mode&0o037 == 0
}

// Open returns a hub over the server that a names. Every party that joins it
// speaks by the same key, so the server must let that key speak for them all:
// a site's key speaks for its agent, hands and feed. Files are read at each join: they
// may hold another key by then.
func Open(a Access) (*Hub, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	return Dial(a.URL, func(protocol.Party) ([]nats.Option, error) { return a.Options() }), nil
}
