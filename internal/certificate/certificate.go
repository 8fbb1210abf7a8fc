// Package certificate serves TLS by a certificate of files, which it reads again when they have
// changed: a renewed certificate needs no restart. It does not know what is served. The hub's
// nats-server reads its own (bus/natsbus).
package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// A pair is the certificate of two files.
type pair struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	read    string // versions of the files that now has
	now     *tls.Certificate
	refused string // versions of files that could not be read, and were logged
}

// Config returns how a server serves TLS 1.3 by the certificate of a file and its key. Each handshake looks
// whether they have changed. Files that cannot be read leave the certificate as it was, and log says so.
func Config(cert, key string, log *slog.Logger) (*tls.Config, error) {
	p := &pair{cert: cert, key: key, log: log, read: versions(cert, key)}
	first, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	p.now = &first
	return &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: p.current}, nil
}

// current returns the certificate as the files have it.
func (p *pair) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	files := versions(p.cert, p.key) // before they are read, so that a later change is seen
	if files == p.read {
		return p.now, nil
	}
	next, err := tls.LoadX509KeyPair(p.cert, p.key)
	switch {
	case err == nil:
		p.now, p.read = &next, files
		p.log.Info("a renewed certificate is served", "file", p.cert, "ends", next.Leaf.NotAfter)
	case files != p.refused: // perhaps one of both is still to be replaced
		p.refused = files
		p.log.Error("a changed certificate cannot be read; the old one is served until it can", "file", p.cert, "err", err)
	}
	return p.now, nil
}

// versions returns a text that differs when one of the files was changed.
func versions(files ...string) (text string) {
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			text += fmt.Sprint(info.ModTime().UnixNano(), info.Size(), " ")
		}
		text += "; "
	}
	return text
}
