//go:build !unix

package wal

import (
	"fmt"
	"os"
)

// lockFile opens a file. On this system it locks nothing.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	return f, nil
}
