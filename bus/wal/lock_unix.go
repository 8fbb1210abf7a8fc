//go:build unix

package wal

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile locks a file until it is closed or its process ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("wal: %s cannot be locked: keep its folder on a disk of this machine: %w", path, err)
		}
		return nil, fmt.Errorf("wal: %s is locked by another process: give each process its own folder, or stop that one", path)
	}
	return f, nil
}
