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

// notes are what must be put back, in a file for who comes after a crash: the
// limits that devices had before theirs were changed, and whose clocks are held.
type notes struct {
	Limits map[string]protocol.Milliwatts `json:"limits_mw,omitempty"` // by UUID
	Clocks []string                       `json:"clocks,omitempty"`    // UUIDs
}

func (n *notes) limit(file, uuid string, limit protocol.Milliwatts) error {
	if _, ok := n.Limits[uuid]; ok || file == "" {
		return nil
	}
	if n.Limits == nil {
		n.Limits = make(map[string]protocol.Milliwatts)
	}
	n.Limits[uuid] = limit
	return n.write(file)
}

func (n *notes) strikeLimit(file, uuid string) error {
	if _, ok := n.Limits[uuid]; !ok || file == "" {
		return nil
	}
	delete(n.Limits, uuid)
	return n.write(file)
}

func (n *notes) clock(file, uuid string) error {
	if slices.Contains(n.Clocks, uuid) || file == "" {
		return nil
	}
	n.Clocks = append(n.Clocks, uuid)
	return n.write(file)
}

func (n *notes) strikeClock(file, uuid string) error {
	i := slices.Index(n.Clocks, uuid)
	if i < 0 || file == "" {
		return nil
	}
	n.Clocks = slices.Delete(n.Clocks, i, i+1)
	return n.write(file)
}

func (n *notes) empty() bool { return len(n.Limits)+len(n.Clocks) == 0 }

// write has a file hold the notes. Limits that are lowered must be on the disk before
// they are.
func (n *notes) write(file string) error {
	if n.empty() {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("nvml: %w", err)
		}
		return nil
	}
	text, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("nvml: %w", err)
	}
	if err := atomicfile.Write(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("nvml: %w", err)
	}
	return nil
}

// readNotes reads what stands in a file. One that is not there is empty.
func readNotes(file string) (n notes, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("nvml: %w", err)
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return notes{}, fmt.Errorf("nvml: %s is not what an agent wrote: %w: set the limits of the devices by hand (nvidia-smi -pl, -rgc) and delete it", file, err)
	}
	return n, nil
}

// restore puts back what is noted, and strikes it out. What is left are devices that
// are not here, or could not be set.
func (n *notes) restore(devices []Device, file string) error {
	if n.empty() {
		return nil
	}
	var errs []error
	for _, d := range devices {
		if limit, ok := n.Limits[d.UUID()]; ok {
			if err := d.SetLimit(limit); err != nil {
				errs = append(errs, err)
			} else {
				delete(n.Limits, d.UUID())
			}
		}
		if i := slices.Index(n.Clocks, d.UUID()); i >= 0 {
			if err := d.UnlockClocks(); err != nil {
				errs = append(errs, err)
			} else {
				n.Clocks = slices.Delete(n.Clocks, i, i+1)
			}
		}
	}
	return errors.Join(append(errs, n.write(file))...)
}
