//go:build unix

package natsbus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a file belongs to who this process runs as.
func ours(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(of.Uid) == os.Geteuid()
}

// lock keeps others of ours from a folder until release is called or the process ends.
// Where the file system knows no such lock it keeps nobody out.
func lock(dir string) (release func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("another server keeps its store in %s", dir), d.Close())
	}
	return func() { _ = d.Close() }, nil
}
