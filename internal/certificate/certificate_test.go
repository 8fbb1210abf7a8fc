package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write writes a new certificate of a serial number, and its key.
func write(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"hub"}}
	public, err := x509.CreateCertificate(rand.Reader, is, is, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if file == "" {
			continue
		}
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		// File systems may count time in seconds.
		if err := os.Chtimes(file, time.Time{}, time.Unix(1e9+serial, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

// A renewed certificate is served without a restart; one whose key does not fit, or that is gone, leaves the
// old one in place until it can be read.
func TestARenewedCertificateIsServed(t *testing.T) {
	cert, key := filepath.Join(t.TempDir(), "api.pem"), filepath.Join(t.TempDir(), "api.key")
	if _, err := Config(cert, key, slog.Default()); err == nil || !strings.Contains(err.Error(), cert) {
		t.Errorf("without files: %v", err)
	}
	write(t, cert, key, 1)
	var logged bytes.Buffer
	serve, err := Config(cert, key, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", serve)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}()
		}
	}()
	served := func() int64 {
		t.Helper()
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	for _, step := range []struct {
		what   string
		change func()
		want   int64
	}{
		{"as it began", func() {}, 1},
		{"renewed", func() { write(t, cert, key, 2) }, 2},
		{"the certificate alone is replaced", func() { write(t, cert, "", 3) }, 2},
		{"and once more", func() {}, 2},
		{"the files are gone", func() { _ = os.Remove(cert) }, 2},
		{"renewed again", func() { write(t, cert, key, 4) }, 4},
	} {
		step.change()
		if got := served(); got != step.want {
			t.Errorf("%s: certificate %d is served; want %d", step.what, got, step.want)
		}
	}
	if text := logged.String(); strings.Count(text, "a renewed certificate") != 2 || strings.Count(text, "cannot be read") != 2 || strings.Contains(text, "PRIVATE") {
		t.Errorf("logged:\n%s", text)
	}
}
