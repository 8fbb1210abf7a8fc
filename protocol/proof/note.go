package proof

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nkeys"
	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/protocol"
)

// A Head is the size and the root of a log at an instant.
type Head struct {
	Size uint64
	Root protocol.Hash
}

// A Receipted says which place in the log a message has.
type Receipted struct {
	From   protocol.Party
	Seq    uint64
	Index  uint64
	Digest protocol.Hash // of the message
}

// maxNote bounds the bytes of a note that is read: with the most signatures that a head may have.
const maxNote = 16 << 10

// SignHead returns a signed head. The log is named by its key.
func SignHead(key note.Signer, h Head) (string, error) {
	return sign(key, fmt.Sprintf("%s\n%d\n%s\n", key.Name(), h.Size, h.Root))
}

// OpenHead reads a head that key must have signed.
func OpenHead(key note.Verifier, text string) (h Head, err error) {
	lines, err := open(key, text, 3)
	if err != nil {
		return h, err
	}
	if lines[0] != key.Name() {
		return h, fmt.Errorf("proof: a head of log %.60q, and not of %q", lines[0], key.Name())
	}
	h.Root = protocol.Hash(lines[2])
	if h.Size, err = parseCount(lines[1]); err != nil {
		return h, err
	}
	_, err = toHash(h.Root)
	return h, err
}

// receiptTitle tells receipts from heads: no log may be named so.
const receiptTitle = "gridbid receipt 1"

// SignReceipt returns a signed receipt.
func SignReceipt(key note.Signer, r Receipted) (string, error) {
	return sign(key, fmt.Sprintf("%s\n%s\n%s %d\n%d\n%s\n", receiptTitle, key.Name(), r.From, r.Seq, r.Index, r.Digest))
}

// OpenReceipt reads a receipt that key must have signed.
func OpenReceipt(key note.Verifier, text string) (r Receipted, err error) {
	lines, err := open(key, text, 5)
	if err != nil {
		return r, err
	}
	from, seq, _ := strings.Cut(lines[2], " ")
	if lines[0] != receiptTitle || lines[1] != key.Name() {
		return r, fmt.Errorf("proof: no receipt of log %q: it begins with %.60q", key.Name(), lines[0])
	}
	r.From, r.Digest = protocol.Party(from), protocol.Hash(lines[4])
	if r.Seq, err = parseCount(seq); err != nil {
		return r, err
	}
	if r.Index, err = parseCount(lines[3]); err != nil {
		return r, err
	}
	_, err = toHash(r.Digest)
	return r, err
}

// sign returns a text as a note signed by key.
func sign(key note.Signer, text string) (string, error) {
	data, err := note.Sign(&note.Note{Text: text}, key)
	if err != nil {
		return "", fmt.Errorf("proof: sign: %w", err)
	}
	return string(data), nil
}

// open returns the lines of a note that key signed; there must be n of them at least, as later
// writers may add some.
func open(key note.Verifier, text string, n int) ([]string, error) {
	if len(text) > maxNote {
		return nil, fmt.Errorf("proof: a note of %d bytes; the limit is %d", len(text), maxNote)
	}
	signed, err := note.Open([]byte(text), note.VerifierList(key))
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) < n+1 { // the last is empty
		return nil, fmt.Errorf("proof: a note of %d lines; want %d", len(lines)-1, n)
	}
	return lines, nil
}

// parseCount reads a number as it is written: without sign and leading zeros.
func parseCount(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("proof: %.40q is not a number", text)
	}
	return n, nil
}

// DigestOf returns the digest of a message as text.
func DigestOf(m protocol.Message) (protocol.Hash, error) {
	sum, err := m.Digest()
	return encodeHash(sum[:]), err
}

// CheckSignature returns an error unless one of the public keys (NATS user keys) signed m, and
// signed what m says: the digest that came with it must be that of its bytes.
func CheckSignature(keys []string, m protocol.Message) error {
	if m.Signature == nil {
		return fmt.Errorf("proof: %s %d of %s is not signed", m.KindName(), m.Seq, m.From)
	}
	return CheckSignedDigest(keys, m.Signature.Digest, m.Signature.Value[:])
}

// CheckSignedDigest returns an error unless one of the public keys signed a digest.
func CheckSignedDigest(keys []string, digest [sha256.Size]byte, value []byte) error {
	for _, k := range keys {
		pub, err := nkeys.FromPublicKey(k)
		if err != nil {
			return fmt.Errorf("proof: %.70q is not a public key: %w", k, err)
		}
		if pub.Verify(digest[:], value) == nil {
			return nil
		}
	}
	return fmt.Errorf("proof: none of the %d keys of the sender made the signature", len(keys))
}
