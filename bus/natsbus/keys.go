package natsbus

import (
	"fmt"
	"os"

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

// A signFunc signs the digest of a message.
type signFunc = func(digest []byte) ([]byte, error)

// readSigningKey reads the key of a user from a file with its seed, or with its credentials.
func readSigningKey(file string) (signFunc, error) {
	if err := CheckKeyFileMode(file); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("natsbus: key: %w", err)
	}
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return nil, fmt.Errorf("natsbus: key %s: %w", file, err)
	}
	return pair.Sign, nil
}
