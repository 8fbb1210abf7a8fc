package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/notary"
)

// proofConfig is the section on the log that others can verify.
type proofConfig struct {
	Key string `yaml:"key"` // file; "": no log
}

// openNotary reads the key of the log; nil if the coordinator keeps none. The secret of the salts comes
// from the key, so that a federation has one secret to keep.
func (c proofConfig) openNotary() (*notary.Config, error) {
	if c.Key == "" {
		return nil, nil
	}
	if err := natsbus.CheckKeyFileMode(c.Key); err != nil {
		return nil, fmt.Errorf("proof: key: %w", err)
	}
	text, err := os.ReadFile(c.Key)
	if err != nil {
		return nil, fmt.Errorf("proof: key: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	key, err := note.NewSigner(secret)
	if err != nil {
		return nil, fmt.Errorf("proof: key %s: %w: want what `gridbid verify new-key` writes; it begins with PRIVATE+KEY", c.Key, err)
	}
	salts := sha256.Sum256([]byte("gridbid salts of " + secret))
	return &notary.Config{Key: key, Salts: salts[:]}, nil
}
