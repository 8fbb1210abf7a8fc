// Package atomicfile writes files anew: whoever reads one has all of the old or all of
// the new, also after the machine stopped in between, and also when several
// programs write it at once.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ReplaceFile puts data in the place of a file, for whom that was before; one that was not
// there has the given mode. When it returns nil, data is on the disk. A crash may
// leave a file of another name, which ends in ".next".
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

// copyOwnerAndMode gives w the owner and the mode of a file, or a mode where there is none.
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

// SyncFolder has the disk keep which files there are in a folder, and under which names.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
