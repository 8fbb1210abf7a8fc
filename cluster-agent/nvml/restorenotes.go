package nvml

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/protocol"
)

// restoreNotes are the record of changes that must be undone after a crash: the previous
// limits of devices with a changed limit, and the devices with locked clocks. They
// are kept in a file.
type restoreNotes struct {
	Limits map[string]protocol.Milliwatts `json:"limits_mw,omitempty"` // by UUID; the device's own limit
	Clocks []string                       `json:"clocks,omitempty"`    // keys of locked clocks: see clockDomain.noteKey
}

// noteLimit records a device's own limit before it is changed; an existing record stays.
func (n *restoreNotes) noteLimit(file, uuid string, limit protocol.Milliwatts) error {
	if _, ok := n.Limits[uuid]; ok || file == "" {
		return nil
	}
	if n.Limits == nil {
		n.Limits = make(map[string]protocol.Milliwatts)
	}
	n.Limits[uuid] = limit
	return n.writeNotes(file)
}

// removeLimitNote removes the record of a restored limit.
func (n *restoreNotes) removeLimitNote(file, uuid string) error {
	if _, ok := n.Limits[uuid]; !ok || file == "" {
		return nil
	}
	delete(n.Limits, uuid)
	return n.writeNotes(file)
}

// noteClock records that a clock of a device is about to be locked.
func (n *restoreNotes) noteClock(file, key string) error {
	if slices.Contains(n.Clocks, key) || file == "" {
		return nil
	}
	n.Clocks = append(n.Clocks, key)
	return n.writeNotes(file)
}

// removeClockNote removes the record of an unlocked clock.
func (n *restoreNotes) removeClockNote(file, key string) error {
	i := slices.Index(n.Clocks, key)
	if i < 0 || file == "" {
		return nil
	}
	n.Clocks = slices.Delete(n.Clocks, i, i+1)
	return n.writeNotes(file)
}

// isEmpty reports whether nothing needs to be undone.
func (n *restoreNotes) isEmpty() bool { return len(n.Limits)+len(n.Clocks) == 0 }

// writeNotes writes the record durably, or removes an empty one. It must be on disk before
// a limit is changed.
func (n *restoreNotes) writeNotes(file string) error {
	if n.isEmpty() {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("nvml: %w", err)
		}
		return nil
	}
	text, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("nvml: %w", err)
	}
	if err := atomicfile.ReplaceFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("nvml: %w", err)
	}
	return nil
}

// readRestoreNotes reads a record; a missing file is an empty record.
func readRestoreNotes(file string) (n restoreNotes, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("nvml: %w", err)
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return restoreNotes{}, fmt.Errorf("nvml: %s is not a valid record of limits: %w: set the limits of the devices by hand (nvidia-smi -pl, -rgc) and delete it", file, err)
	}
	return n, nil
}

// restoreDevices undoes the recorded changes and removes them from the record. What remains
// are devices that are missing or could not be set.
func (n *restoreNotes) restoreDevices(devices []Device, file string) error {
	if n.isEmpty() {
		return nil
	}
	var errs []error
	for _, d := range devices {
		if limit, ok := n.Limits[d.UUID()]; ok {
			if err := d.SetPowerLimit(limit); err != nil {
				errs = append(errs, err)
			} else {
				delete(n.Limits, d.UUID())
			}
		}
		for _, domain := range []clockDomain{smClock, memoryClock} {
			if i := slices.Index(n.Clocks, domain.noteKey(d)); i >= 0 {
				if err := domain.setLock(d, 0); err != nil {
					errs = append(errs, err)
				} else {
					n.Clocks = slices.Delete(n.Clocks, i, i+1)
				}
			}
		}
	}
	return errors.Join(append(errs, n.writeNotes(file))...)
}
