//go:build linux && cgo

package nvml

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// lockIdle locks both clocks of GPU-0 to its lowest ones.
func lockIdle(t *testing.T, c *PowerCaps, now time.Time) error {
	t.Helper()
	lowest, err := c.devices[0].dev.LowestClocks()
	if err != nil || lowest != (LowestClocks{SM: 345, Memory: 405}) {
		t.Fatalf("LowestClocks = %+v, %v", lowest, err)
	}
	_ = errors.Join(c.RequestClock("GPU-0", lowest.SM), c.RequestMemoryClock("GPU-0", lowest.Memory)) // reported by ApplyLimits
	_, err = c.ApplyLimits(now)
	return err
}

// Both clocks are restored by whoever comes first: the daemon itself, its guard, or the
// next daemon.
func TestLockedMemoryAndSMClocksAreRestored(t *testing.T) {
	for name, restore := range map[string]func(*PowerCaps, string, string) error{
		"daemon": func(c *PowerCaps, _, _ string) error { return c.RestoreAllDevices() },
		"guard":  func(_ *PowerCaps, library, file string) error { return restoreNotedLimits(library, file) },
		"next daemon": func(c *PowerCaps, _, file string) error {
			_, err := NewPowerCaps([]Device{c.devices[0].dev}, CapsConfig{NotesFile: file})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			library, w := standin(t, 1)
			file := filepath.Join(t.TempDir(), "limits.json")
			c := newCaps(t, open(t, library), CapsConfig{NotesFile: file})
			if err := lockIdle(t, c, noon); err != nil || w.GPU[0].Locked != 345 || w.GPU[0].MemoryLocked != 405 {
				t.Fatalf("%v; locked at %d and %d MHz", err, w.GPU[0].Locked, w.GPU[0].MemoryLocked)
			}
			if err := restore(c, library, file); err != nil || w.GPU[0].Locked != 0 || w.GPU[0].MemoryLocked != 0 {
				t.Errorf("%v; left at %d and %d MHz", err, w.GPU[0].Locked, w.GPU[0].MemoryLocked)
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the record stays: %v", err)
			}
		})
	}
}

// A lock that a job's cap needs touches no lock of the memory clock by another program.
func TestMemoryClockLockedByOthersIsLeftAlone(t *testing.T) {
	library, w := standin(t, 1)
	w.GPU[0].MemoryLocked = 1593
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: filepath.Join(t.TempDir(), "limits.json")})
	_ = c.RequestClock("GPU-0", 1200)
	if _, err := c.ApplyLimits(noon); err != nil {
		t.Fatal(err)
	}
	if err := c.RestoreAllDevices(); err != nil || w.GPU[0].Locked != 0 || w.GPU[0].MemoryLocked != 1593 {
		t.Errorf("%v; SM at %d, memory at %d MHz", err, w.GPU[0].Locked, w.GPU[0].MemoryLocked)
	}
}

// Without the right to lock clocks one error says so, and a lock that could not be removed
// is tried until it is gone.
func TestClockFaultIsReportedOnceAndUnlockIsRetried(t *testing.T) {
	library, w := standin(t, 1)
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: filepath.Join(t.TempDir(), "limits.json")})
	if err := lockIdle(t, c, noon); err != nil {
		t.Fatal(err)
	}
	w.Forbidden = 1
	_ = errors.Join(c.RequestClock("GPU-0", 0), c.RequestMemoryClock("GPU-0", 0))
	for i := range 3 {
		_, err := c.ApplyLimits(noon.Add(time.Duration(i+1) * time.Minute))
		if errors.Is(err, ErrNotPermitted) != (i == 0) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	w.Forbidden = 0
	if _, err := c.ApplyLimits(noon.Add(time.Hour)); err != nil || w.GPU[0].Locked != 0 || w.GPU[0].MemoryLocked != 0 {
		t.Errorf("%v; left at %d and %d MHz", err, w.GPU[0].Locked, w.GPU[0].MemoryLocked)
	}
}
