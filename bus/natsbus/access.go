package natsbus

import (
	"bytes"
	"cmp"
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

// An Access holds the address of a server and the credentials of a party: the
// NATS part of a binary's configuration. `gridbid federation` writes it.
type Access struct {
	// URL is tls://host:port, or several servers of one cluster separated by
	// commas. Without TLS, as in nats://127.0.0.1:4222, it must be a server on
	// this machine.
	URL   string `yaml:"url" json:"url"`
	CA    string `yaml:"ca,omitempty" json:"ca,omitempty"`       // PEM file of the certificate authority; "": the system's
	Cert  string `yaml:"cert,omitempty" json:"cert,omitempty"`   // PEM file; for a server that requires client certificates
	Key   string `yaml:"key,omitempty" json:"key,omitempty"`     // PEM file; the key of Cert
	Seed  string `yaml:"seed,omitempty" json:"seed,omitempty"`   // file with the seed of an nkey
	Creds string `yaml:"creds,omitempty" json:"creds,omitempty"` // file, instead of Seed where a NATS operator signs users
}

// ResolvePaths returns a with its relative file names resolved from dir, for an Access
// that was read from a file there.
func (a Access) ResolvePaths(dir string) Access {
	for _, name := range []*string{&a.CA, &a.Cert, &a.Key, &a.Seed, &a.Creds} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(dir, *name)
		}
	}
	return a
}

// Validate reads the files that a names, and returns an error that says what is wrong.
func (a Access) Validate() error {
	_, err := a.ConnectOptions()
	return err
}

// ConnectOptions returns the options with which nats.go connects. It refuses unencrypted
// connections beyond this machine, and key files that other users can read.
func (a Access) ConnectOptions() ([]nats.Option, error) {
	secure, err := a.usesTLS()
	if err != nil {
		return nil, err
	}
	var options []nats.Option
	if secure {
		t, err := a.tlsConfig()
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(t))
	}
	switch {
	case a.Seed != "" && a.Creds != "":
		return nil, errors.New("natsbus: access: seed and creds are both given; keep one")
	case a.Seed != "":
		if err := CheckKeyFileMode(a.Seed); err != nil {
			return nil, err
		}
		login, err := nats.NkeyOptionFromSeed(a.Seed)
		if err != nil {
			return nil, fmt.Errorf("natsbus: access: seed %s: %w", a.Seed, err)
		}
		options = append(options, login, signChallengesOnly)
	case a.Creds != "":
		if err := CheckKeyFileMode(a.Creds); err != nil {
			return nil, err
		}
		options = append(options, nats.UserCredentials(a.Creds), signChallengesOnly)
	}
	return options, nil
}

// signChallengesOnly has a client sign what a server asks it to sign at login only if that is a challenge of
// nats-server: up to 31 characters of base64url. With the same key a party signs digests of messages (32 bytes)
// and heads of the log, and a lying server could otherwise ask for such a signature. It follows the option that
// sets the key.
func signChallengesOnly(o *nats.Options) error {
	sign := o.SignatureCB
	o.SignatureCB = func(challenge []byte) ([]byte, error) {
		if len(challenge) > 31 || bytes.ContainsFunc(challenge, func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
		}) {
			return nil, fmt.Errorf("natsbus: access: the server asks to sign %.80q, which is no challenge of nats-server: it may want a forged signature; check url and ca", challenge)
		}
		return sign(challenge)
	}
	return nil
}

// usesTLS reports whether the connection uses TLS.
func (a Access) usesTLS() (bool, error) {
	if a.URL == "" {
		return false, errors.New("natsbus: access: url is missing; want tls://host:port")
	}
	// A certificate or authority demands TLS whatever the scheme says.
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
				return false, fmt.Errorf("natsbus: access: url %q: bids would cross the network unencrypted; use tls://%s", one, u.Host)
			}
		default:
			return false, fmt.Errorf("natsbus: access: url %q: want the scheme tls, or nats on this machine", one)
		}
	}
	return secure, nil
}

// onThisMachine reports whether a host is this machine by name or loopback address. Other names
// are not looked up.
func onThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// tlsConfig returns the TLS settings: the given authority in place of the system's, and the
// client's certificate if there is one. It refuses versions before 1.3.
func (a Access) tlsConfig() (*tls.Config, error) {
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
		if err := CheckKeyFileMode(a.Key); err != nil {
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

// CheckKeyFileMode returns an error if other users can read a key file.
func CheckKeyFileMode(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("natsbus: access: %w", err)
	}
	if mode := info.Mode().Perm(); !isOwnerOnly(mode, isOwnedByProcess(info)) {
		return fmt.Errorf("natsbus: access: other users can read %s (%#o); run chmod 600 on it, or mount its Secret with defaultMode 0440", file, mode)
	}
	return nil
}

// isOwnerOnly reports whether the mode of a key file keeps it secret. A file of another
// owner may be readable by its group: so a pod reads a mounted Secret.
func isOwnerOnly(mode fs.FileMode, ours bool) bool {
	if ours {
		return mode&0o077 == 0
	}
	return mode&0o037 == 0
}

// Open returns a Bus over the server that a names. All parties that connect to it use
// the same key, so the server must let that key send as each of them: a site's
// key sends as its agent, executor and signal source. The files are read at each
// Connect, so that a rotated key takes effect. With the same key a party signs what it says to the
// coordinator that binds it: see [protocol.Message.IsBinding].
func Open(a Access) (*Bus, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	h := Dial(a.URL, func(protocol.Party) ([]nats.Option, error) { return a.ConnectOptions() })
	if file := cmp.Or(a.Seed, a.Creds); file != "" {
		h.key = func() (signFunc, error) { return readSigningKey(file) }
	}
	return h, nil
}
