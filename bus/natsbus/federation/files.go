package federation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gridbid/gridbid/internal/atomicfile"
)

const (
	stateFile    = "federation.json"
	caFile       = "ca.pem"
	accountsFile = "accounts.conf"
)

// createFile writes a new file that only its owner may read. It fails if file exists.
func createFile(file string, data []byte) error {
	w, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	_, err = w.Write(data)
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return nil
}

// replaceFile atomically replaces a file that we generate, if its content changes:
// readers see the old content or the new.
func replaceFile(file string, data []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := atomicfile.ReplaceFile(file, data, 0o600); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return nil
}

// makeDir creates a directory, and those above it, that only its owner may read.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return nil
}

// copyFile copies a file with createFile: it fails if the copy exists.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return createFile(to, data)
}

// syncDir flushes the names in dir to the disk, so that a rename survives a crash.
func syncDir(dir string) error {
	if err := atomicfile.SyncFolder(dir); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return nil
}

// makeStagingDir makes a temporary folder beside dir, to prepare its content in.
func makeStagingDir(dir string) (string, error) {
	if err := makeDir(filepath.Dir(dir)); err != nil {
		return "", err
	}
	stage, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return "", fmt.Errorf("federation: %w", err)
	}
	return stage, nil
}

// moveIntoPlace renames a prepared folder to dir, which must be empty or missing.
func moveIntoPlace(stage, dir string) error {
	if err := syncDir(stage); err != nil {
		return err
	}
	if err := os.Rename(stage, dir); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return syncDir(filepath.Dir(dir))
}

// RewriteRules regenerates the rules from the stored state, in case an earlier change
// was interrupted between the two, as by a full disk.
func (f *Federation) RewriteRules() error { return f.saveState(f.dir) }

// saveState writes the state into a folder, and then the rules generated from it. If
// only the state was written, [Federation.RewriteRules] completes it.
func (f *Federation) saveState(dir string) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	if _, err := parseState(data); err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, stateFile), append(data, '\n')); err != nil {
		return err
	}
	rules, err := f.renderAccounts()
	if err != nil {
		return err
	}
	for i := range f.Setup.Hosts {
		if err := replaceFile(filepath.Join(dir, f.serverFolder(i), accountsFile), rules); err != nil {
			return err
		}
	}
	return nil
}

// LockFolder keeps other commands from changing the federation of dir until the caller
// calls release.
func LockFolder(dir string) (release func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("federation: %w", err)
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		d.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("federation: %s cannot be locked: keep it on a disk of this machine: %w", dir, err)
		}
		return nil, fmt.Errorf("federation: %s: another command is changing it; retry when it has finished", dir)
	}
	return func() { d.Close() }, nil
}
