package llm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Key is a secret. It prints as stars. It comes from a file or the environment,
// never from a flag, which other users could see.
type Key string

// ReadKey returns the key in a file or, if file is "", the key given by the
// environment. It trims surrounding white space.
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
		return "", fmt.Errorf("llm: key file %s is empty: write the key into it, or configure no file", file)
	}
	return key, nil
}

// String returns what may be displayed of the key.
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

// removeKey replaces the key in s by stars.
func (k Key) removeKey(s string) string {
	if k == "" {
		return s
	}
	return strings.ReplaceAll(s, string(k), "***")
}
