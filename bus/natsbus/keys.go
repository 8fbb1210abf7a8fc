package natsbus

import (
	"fmt"

	"github.com/nats-io/nkeys"
)

// NewUserKey generates a user's key: the seed, which its holder keeps secret, and the
// public part, by which a server recognises it.
func NewUserKey() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", fmt.Errorf("natsbus: generate a key: %w", err)
	}
	if seed, err = pair.Seed(); err == nil {
		public, err = pair.PublicKey()
	}
	return seed, public, err
}

// IsPublicKey reports whether s is the public part of a user's key.
func IsPublicKey(s string) bool { return nkeys.IsValidPublicUserKey(s) }
