package wal

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

const (
	magic    = "gridbid journal 1\n"
	linkSize = 8
)

// A chain is a running hash of all frames so far.
type chain struct {
	sum  [sha256.Size]byte
	hash hash.Hash
}

func newChain() chain {
	return chain{sum: sha256.Sum256([]byte(magic)), hash: sha256.New()}
}

// addFrame hashes a frame into the chain, and returns the link that follows it in the file.
func (c *chain) addFrame(length, body []byte) []byte {
	c.hash.Reset()
	c.hash.Write(c.sum[:])
	c.hash.Write(length)
	c.hash.Write(body)
	c.hash.Sum(c.sum[:0])
	return c.sum[:linkSize]
}

func (c *chain) String() string { return hex.EncodeToString(c.sum[:]) }
