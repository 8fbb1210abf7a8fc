package llm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Key is a secret. It prints as stars, and comes from a file or from the
// environment, never from a flag.
type Key string

// ReadKey returns the key that a file holds, or, where no file is named, the one that
// the environment gave. Blanks and line ends around it are no part of it.
func ReadKey(file, given string) (Key, error) {
	if file == "" {
		return Key(strings.TrimSpace(given)), nil
	}
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return "", err
	}
	key := Key(strings.TrimSpace(string(text)))
	if key == "" {
		return "", fmt.Errorf("%s is empty: write the key into it, or name no file", file)
	}
	return key, nil
}

// String returns what may be seen of the key.
func (k Key) String() string {
	if k == "" {
		return ""
	}
	return "***"
}

// GoString is String, so that no format shows the key.
func (k Key) GoString() string { return k.String() }

// MarshalText is String, so that no encoder shows the key.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// scrub returns s without the key.
func (k Key) scrub(s string) string {
	if k == "" {
		return s
	}
	return strings.ReplaceAll(s, string(k), "***")
}
