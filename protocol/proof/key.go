package proof

import (
	"fmt"

	"github.com/nats-io/nkeys"
)

// A PartyKey is the NATS key of a user, with which a party signs.
type PartyKey struct {
	Public string
	Sign   func(digest []byte) ([]byte, error)
}

// ReadPartyKey reads the seed of a key, or credentials with one, as NATS writes them.
func ReadPartyKey(text []byte) (k PartyKey, err error) {
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return k, fmt.Errorf("proof: want the seed of a NATS user, which begins with SU, or credentials with one: %w", err)
	}
	k.Public, err = pair.PublicKey()
	k.Sign = pair.Sign
	return k, err
}

// IsPublicKey reports whether s is the public part of a user's key.
func IsPublicKey(s string) bool { return nkeys.IsValidPublicUserKey(s) }
