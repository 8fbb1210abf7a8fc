package federation

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Validity of certificates. `gridbid federation rotate --server` renews the
// servers'; 397 days is the limit of browsers for a server certificate.
const (
	authorityYears = 10
	serverDays     = 397
)

// clockSkewMargin is subtracted from the begin of validity, for clocks that are behind ours.
const clockSkewMargin = 10 * time.Minute

// writeAuthority writes the certificate authority of the hub. It has no intermediate
// authorities and signs only the hub's servers.
func (f *Federation) writeAuthority(dir string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("federation: draw a key: %w", err)
	}
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: "gridbid federation of " + f.Setup.Hosts[0]}, NotBefore: now.Add(-clockSkewMargin), NotAfter: now.AddDate(authorityYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return signCertificate(c, c, key, key, filepath.Join(dir, caFile), filepath.Join(dir, "ca.key"))
}

// writeServerCert writes a certificate for a server, signed by the authority in from.
func (f *Federation) writeServerCert(from, cert, key string, host string, now time.Time) error {
	pair, err := readAuthority(from)
	if err != nil {
		return err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("federation: draw a key: %w", err)
	}
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: host}, NotBefore: now.Add(-clockSkewMargin), NotAfter: now.AddDate(0, 0, serverDays),
		KeyUsage: x509.KeyUsageDigitalSignature,
		// In a cluster, servers also connect to each other as clients.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	return signCertificate(c, pair.cert, own, pair.key, cert, key)
}

// A signer is a certificate authority with its private key.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// readAuthority reads the authority's certificate and key from a directory.
func readAuthority(dir string) (signer, error) {
	read := func(name string) ([]byte, error) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("federation: the authority for certificates: %w", err)
		}
		b, _ := pem.Decode(data)
		if b == nil {
			return nil, fmt.Errorf("federation: the authority for certificates: %s is not PEM", name)
		}
		return b.Bytes, nil
	}
	public, err := read(caFile)
	if err != nil {
		return signer{}, err
	}
	private, err := read("ca.key")
	if err != nil {
		return signer{}, err
	}
	cert, err := x509.ParseCertificate(public)
	if err != nil {
		return signer{}, fmt.Errorf("federation: %s: %w", caFile, err)
	}
	key, err := x509.ParseECPrivateKey(private)
	if err != nil {
		return signer{}, fmt.Errorf("federation: ca.key: %w", err)
	}
	return signer{cert, key}, nil
}

// signCertificate signs c with the key by of parent, under a random serial number, and writes
// the certificate and its own private key. Existing files are kept: it fails on them.
func signCertificate(c, parent *x509.Certificate, own, by *ecdsa.PrivateKey, certFile, keyFile string) error {
	// 120 random bits keep serial numbers unique without a record of those issued.
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return fmt.Errorf("federation: draw a number: %w", err)
	}
	c.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &own.PublicKey, by)
	if err != nil {
		return fmt.Errorf("federation: sign a certificate: %w", err)
	}
	private, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	// The key first: a certificate without its key is of no use.
	if err := createFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})); err != nil {
		return err
	}
	return createFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
