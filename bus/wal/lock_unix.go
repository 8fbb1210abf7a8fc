//go:build unix

package wal

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock holds a file as long as it is open and its process lives.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("journal: %s cannot be locked: keep its folder on a disk of this machine: %w", path, err)
		}
		return nil, fmt.Errorf("journal: %s is held by another process: give each its own folder, or stop that one", path)
	}
	return f, nil
}
