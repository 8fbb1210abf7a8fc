package kubeenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// credentials are those of one control plane: a certificate authority, a server
// certificate, the key that signs service account tokens, and an administrator's
// token.
type credentials struct {
	ca, cert, key, accounts []byte // PEM
	token                   string
}

// newCredentials generates credentials that are valid for a month.
func newCredentials() (c credentials, err error) {
	c.token = rand.Text()
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	now := time.Now()
	parent := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "plane"}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 1, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if c.ca, err = createCertificate(parent, parent, authority, authority); err != nil {
		return c, err
	}
	server, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	child := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: parent.NotBefore, NotAfter: parent.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)}, DNSNames: []string{"localhost", "kubernetes.default.svc"},
	}
	if c.cert, err = createCertificate(child, parent, server, authority); err != nil {
		return c, err
	}
	der, err := x509.MarshalECPrivateKey(server)
	if err != nil {
		return c, err
	}
	c.key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	accounts, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return c, err
	}
	c.accounts = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(accounts)})
	return c, nil
}

// createCertificate signs a certificate and encodes it as PEM.
func createCertificate(c, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

// writeFiles writes the files that the API server and the controller manager read.
func (c credentials) writeFiles(dir string) error {
	for name, data := range map[string][]byte{
		"ca.crt": c.ca, "server.crt": c.cert, "server.key": c.key, "sa.key": c.accounts,
		"tokens.csv": []byte(c.token + ",admin,admin,system:masters\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// adminKubeconfig returns a kubeconfig file for the administrator.
func (c credentials) adminKubeconfig(url string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: plane
contexts: [{name: plane, context: {cluster: plane, user: admin}}]
clusters: [{name: plane, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: admin, user: {token: %q}}]
`, url, base64.StdEncoding.EncodeToString(c.ca), c.token)
}
