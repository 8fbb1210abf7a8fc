package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/gridbid/gridbid/protocol"
)

// An Entry is what a leaf of the log is made of.
type Entry struct {
	Index      uint64
	At         protocol.Time // heard or said, by the coordinator's clock
	Kind       string        // of the message; "tick" without one
	From       protocol.Party
	Seq, Round uint64 // Round is the one that was opened last
	Commitment protocol.Hash
	Signature  string // of From in base64; "-": none
}

// NewEntry returns the entry of a message, or of a tick of the clock if m is nil. The error says that
// the message cannot be encoded.
func NewEntry(index uint64, at protocol.Time, round uint64, salt protocol.Hash, m *protocol.Message) (Entry, error) {
	e := Entry{Index: index, At: at, Kind: "tick", From: "-", Round: round, Signature: "-"}
	var digest [sha256.Size]byte
	if m != nil {
		var err error
		if digest, err = m.Digest(); err != nil {
			return e, fmt.Errorf("proof: entry %d: %w", index, err)
		}
		e.Kind, e.From, e.Seq = m.KindName(), m.From, m.Seq
		if m.Signature != nil {
			e.Signature = base64.StdEncoding.EncodeToString(m.Signature.Value[:])
		}
	}
	e.Commitment = Commit(salt, digest)
	return e, nil
}

// Leaf returns the hash of e in the tree.
func (e Entry) Leaf() protocol.Hash {
	line := fmt.Appendf(make([]byte, 0, 256), "gridbid entry 1\n%d %d %s %s %d %d %s %s\n", e.Index, int64(e.At), e.Kind, e.From, e.Seq, e.Round, e.Commitment, e.Signature)
	return fromHash(tlog.RecordHash(line))
}

// Commit returns the commitment to a digest.
func Commit(salt protocol.Hash, digest [sha256.Size]byte) protocol.Hash {
	sum := sha256.Sum256(append([]byte(salt), digest[:]...))
	return encodeHash(sum[:])
}

// A SaltKey is the secret from which the salts of a log come. Each day has a key of its own, so that
// the salts of one day can be opened, and no others.
type SaltKey []byte

const day = 24 * 60 * 60 * 1000 // in milliseconds

// SaltOf returns the salt of an entry.
func (k SaltKey) SaltOf(index uint64, at protocol.Time) protocol.Hash {
	of := hmac.New(sha256.New, k)
	of.Write(fmt.Appendf(nil, "gridbid salts of day %d", int64(at)/day))
	one := hmac.New(sha256.New, of.Sum(nil))
	one.Write(binary.BigEndian.AppendUint64(nil, index))
	return encodeHash(one.Sum(nil))
}

// encodeHash returns a hash as text.
func encodeHash(sum []byte) protocol.Hash {
	return protocol.Hash(base64.StdEncoding.EncodeToString(sum))
}

func fromHash(h tlog.Hash) protocol.Hash { return encodeHash(h[:]) }

func fromHashes(all []tlog.Hash) (out []protocol.Hash) {
	for _, h := range all {
		out = append(out, fromHash(h))
	}
	return out
}

// toHashes reads hashes that others sent.
func toHashes(all []protocol.Hash) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(all))
	for i, h := range all {
		var err error
		if out[i], err = toHash(h); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func toHash(h protocol.Hash) (out tlog.Hash, err error) {
	data, err := base64.StdEncoding.Strict().DecodeString(string(h))
	if err != nil || len(data) != len(out) {
		return out, fmt.Errorf("proof: %.60q is no hash: want 32 bytes in base64", string(h))
	}
	return tlog.Hash(data), nil
}
