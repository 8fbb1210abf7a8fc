package proof

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/nats-io/nkeys"
	"golang.org/x/mod/sumdb/note"
)

// A cosigned head carries, beside the signature of its log, that of a site: the site says that it was shown
// this head, and that what it was shown before is a beginning of that log. The form is that of witnesses
// (c2sp.org/tlog-cosignature), the key that of the site on the bus.

// cosignatureType is the type byte of an Ed25519 cosignature with its time.
const cosignatureType = 4

// A cosigner makes and verifies the cosignatures of one key.
type cosigner struct {
	name string
	key  ed25519.PublicKey
	sign func([]byte) ([]byte, error) // nil: it verifies only
	at   time.Time
}

// newCosigner returns the cosigner of a public key, which begins with U.
func newCosigner(name, public string) (c cosigner, err error) {
	raw, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(public))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return c, fmt.Errorf("proof: %.70q is not a public key: %w", public, err)
	}
	return cosigner{name: name, key: raw}, nil
}

// Name implements note.Signer and note.Verifier.
func (c cosigner) Name() string { return c.name }

// KeyHash implements note.Signer and note.Verifier.
func (c cosigner) KeyHash() uint32 {
	sum := sha256.Sum256(append([]byte(c.name+"\n"+string(rune(cosignatureType))), c.key...))
	return binary.BigEndian.Uint32(sum[:4])
}

// cosignedText returns what a cosignature signs.
func cosignedText(at uint64, head []byte) []byte {
	return append(fmt.Appendf(nil, "cosignature/v1\ntime %d\n", at), head...)
}

// Sign implements note.Signer.
func (c cosigner) Sign(head []byte) ([]byte, error) {
	at := uint64(c.at.Unix())
	value, err := c.sign(cosignedText(at, head))
	return append(binary.BigEndian.AppendUint64(nil, at), value...), err
}

// Verify implements note.Verifier.
func (c cosigner) Verify(head, sig []byte) bool {
	return len(sig) == 8+ed25519.SignatureSize && ed25519.Verify(c.key, cosignedText(binary.BigEndian.Uint64(sig), head), sig[8:])
}

// CosignHead returns a head, which its log must have signed, with the cosignature of a site.
func CosignHead(log note.Verifier, head, site string, key PartyKey, at time.Time) (string, error) {
	if _, err := OpenHead(log, head); err != nil {
		return "", err
	}
	c, err := newCosigner(site, key.Public)
	if err != nil {
		return "", err
	}
	c.sign, c.at = key.Sign, at
	n, err := note.Open([]byte(head), note.VerifierList(log))
	if err != nil {
		return "", fmt.Errorf("proof: %w", err)
	}
	n.UnverifiedSigs = nil // of others
	data, err := note.Sign(n, c)
	if err != nil {
		return "", fmt.Errorf("proof: cosign: %w", err)
	}
	return string(data), nil
}

// OpenCosigned reads a head that its log and a site must have signed, the latter with one of the public keys.
func OpenCosigned(log note.Verifier, text, site string, keys []string) (Head, error) {
	h, err := OpenHead(log, text)
	if err != nil {
		return h, err
	}
	for _, k := range keys {
		c, err := newCosigner(site, k)
		if err != nil {
			return h, err
		}
		n, err := note.Open([]byte(text), note.VerifierList(c))
		if err == nil && len(n.Sigs) > 0 {
			return h, nil
		}
	}
	return h, fmt.Errorf("proof: site %.60q did not cosign the head with one of the %d keys given: ask it for its public key over a way that is not the hub's", site, len(keys))
}
