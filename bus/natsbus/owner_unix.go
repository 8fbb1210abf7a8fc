//go:build unix

package natsbus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// isOwnedByProcess reports whether the user of this process owns a file.
func isOwnedByProcess(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(of.Uid) == os.Geteuid()
}

// lockDirectory locks a folder against other processes that use it, until release is called
// or the process ends. Where the file system has no locks it locks nothing.
func lockDirectory(dir string) (release func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("another server has its store in %s; stop it, or set another store_dir", dir), d.Close())
	}
	return func() { _ = d.Close() }, nil
}
