// Package atomicfile replaces files atomically: a reader sees either the whole old
// content or the whole new content, also after a crash in between, and also when
// several programs write the file at the same time.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ReplaceFile replaces the content of a file and keeps the file's owner and mode; a
// new file gets the given mode. When it returns nil, the data is on disk. A crash may
// leave a temporary file beside it, whose name ends in ".next".
func ReplaceFile(file string, data []byte, mode fs.FileMode) error {
	next, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.next")
	if err != nil {
		return err
	}
	_, err = next.Write(data)
	if err == nil {
		err = copyOwnerAndMode(next, file, mode)
	}
	if err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return SyncFolder(filepath.Dir(file))
}

// copyOwnerAndMode gives w the owner and mode of an existing file, or mode if there is
// none.
func copyOwnerAndMode(w *os.File, file string, mode fs.FileMode) error {
	was, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return w.Chmod(mode)
	}
	if err != nil {
		return err
	}
	if of, ok := was.Sys().(*syscall.Stat_t); ok {
		err = w.Chown(int(of.Uid), int(of.Gid))
	}
	return errors.Join(err, w.Chmod(was.Mode().Perm()))
}

// SyncFolder flushes a folder to disk: without it, a rename may be lost in a crash.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
