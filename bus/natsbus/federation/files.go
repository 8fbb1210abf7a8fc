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

// create writes a file that is not there yet, for its owner alone.
func create(file string, data []byte) error {
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

// replace writes a file of ours anew: readers see the old one or the new one.
func replace(file string, data []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := atomicfile.Write(file, data, 0o600); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return nil
}

func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return create(to, data)
}

// settle has the disk keep what was renamed in dir.
func settle(dir string) error {
	if err := atomicfile.Settle(dir); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return nil
}

// stageNext makes a folder beside dir, in which to prepare it.
func stageNext(dir string) (string, error) {
	if err := makeDir(filepath.Dir(dir)); err != nil {
		return "", err
	}
	stage, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return "", fmt.Errorf("federation: %w", err)
	}
	return stage, nil
}

// appear has a prepared folder take its place, which is empty or not there.
func appear(stage, dir string) error {
	if err := settle(stage); err != nil {
		return err
	}
	if err := os.Rename(stage, dir); err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	return settle(filepath.Dir(dir))
}

// Settle writes the rules again that follow from what is known, if a change before
// was cut short, as by a full disk.
func (f *Federation) Settle() error { return f.save(f.dir) }

// save writes what is known into a folder, and the rules that follow from it.
// Should only the first be written, [Federation.Settle] mends it.
func (f *Federation) save(dir string) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("federation: %w", err)
	}
	if _, err := parse(data); err != nil {
		return err
	}
	if err := replace(filepath.Join(dir, stateFile), append(data, '\n')); err != nil {
		return err
	}
	rules, err := f.rules()
	if err != nil {
		return err
	}
	for i := range f.Setup.Hosts {
		if err := replace(filepath.Join(dir, f.hub(i), accountsFile), rules); err != nil {
			return err
		}
	}
	return nil
}

// Lock keeps other commands from changing the federation of dir until release
// is called.
func Lock(dir string) (release func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("federation: %w", err)
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		d.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("federation: %s cannot be locked: keep it on a disk of this machine: %w", dir, err)
		}
		return nil, fmt.Errorf("federation: %s: another command is changing it; try again", dir)
	}
	return func() { d.Close() }, nil
}
