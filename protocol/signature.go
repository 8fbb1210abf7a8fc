package protocol

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// A Signature is a sender's Ed25519 signature of a message. It signs the digest and not the
// message, because a signature of 20 kB costs several times that of 32 bytes. Its key is the NATS
// key of the sender, whose public part the operator of the federation knows.
type Signature struct {
	Value  [64]byte
	Digest [sha256.Size]byte // of the signed message: see [Message.Digest]
}

// SignatureSize is the encoded size, in bytes, of the key "sg" with its value.
const SignatureSize = 3 + 2 + 64

// Digest returns the SHA-256 of m as its sender encoded it, without the signature. A signed message
// that was decoded keeps the digest of the bytes that came, which may have fields that this program
// does not know. The error is that of Encode.
func (m Message) Digest() (sum [sha256.Size]byte, err error) {
	if m.Signature != nil {
		return m.Signature.Digest, nil
	}
	s := encoderPool.Get().(*wire)
	defer encoderPool.Put(s)
	if err := s.encodeMessage(m); err != nil {
		return sum, err
	}
	sum = sha256.Sum256(s.data[1:])
	if len(s.data) > MaxMessage {
		s.data = nil // too large to keep in the pool
	}
	return sum, nil
}

// AppendSigned is AppendEncode with a signature by sign, which gets the digest. A nil sign, or an m
// that is signed already, makes it AppendEncode.
func AppendSigned(dst []byte, m Message, sign func(digest []byte) ([]byte, error)) ([]byte, error) {
	if sign == nil || m.Signature != nil {
		return AppendEncode(dst, m)
	}
	digest, err := m.Digest()
	if err != nil {
		return dst, err
	}
	value, err := sign(digest[:])
	if err == nil && len(value) != len(Signature{}.Value) {
		err = fmt.Errorf("a signature of %d bytes; want %d", len(value), len(Signature{}.Value))
	}
	if err != nil {
		return dst, fmt.Errorf("protocol: sign %s: %w", m.KindName(), err)
	}
	m.Signature = &Signature{Value: [64]byte(value), Digest: digest}
	return AppendEncode(dst, m)
}

// IsBinding reports whether m binds its sender, so that others rely on it: a sender with a key signs
// such messages. They are bids, what a site reports of its awards, and what a submitter orders.
func (m Message) IsBinding() bool {
	switch m.Body.(type) {
	case Submit, Cancel, RegisterSite, Bids, Accept, Decline, Preempted, UsageReport, SiteUsage, SubmitService, CapacityBid:
		return true
	}
	return false
}

// putSignature writes the signature of m, if it has one.
func (w *wire) putSignature(m Message) {
	if m.Signature == nil {
		return
	}
	w.putText("sg")
	w.data = append(w.data, 0xc4, byte(len(m.Signature.Value))) // raw bytes
	w.data = append(w.data, m.Signature.Value[:]...)
}

// readSignature reads the value of a signature.
func (w *wire) readSignature() *Signature {
	at := w.at
	b := w.readBytes(w.expectForm(formText, "a signature"))
	if len(b) != len(Signature{}.Value) {
		w.recordError(at, errors.New("a signature has 64 bytes"))
		return nil
	}
	return &Signature{Value: [64]byte(b)}
}

// digestWithout returns the digest of an encoded message whose keys begin at first and whose
// signature lies in [from, to).
func digestWithout(data []byte, first, from, to int) [sha256.Size]byte {
	return sha256.Sum256(slices.Concat(data[first:from], data[to:]))
}
