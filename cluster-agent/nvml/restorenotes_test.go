//go:build linux && cgo

package nvml

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A guard took its agent for dead while a card was off the bus, and could put back only
// the other. The agent lives on, and lowers that one again: the next one must know.
func TestWhatAGuardPutBackInPartIsNotedAgain(t *testing.T) {
	library, w := standin(t, 2)
	file := filepath.Join(t.TempDir(), "limits.json")
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: file})
	lower := func(now time.Time) {
		t.Helper()
		_ = errors.Join(c.RequestLimit("GPU-0", 300_000), c.RequestLimit("GPU-1", 300_000), c.RequestClock("GPU-0", 1200)) // said by Apply
		if _, err := c.ApplyLimits(now); err != nil || w.GPU[0].Limit != 300_000 || w.GPU[0].Locked != 1200 {
			t.Fatalf("Apply = %v; limit %d, clock %d", err, w.GPU[0].Limit, w.GPU[0].Locked)
		}
	}
	lower(noon)
	w.GPU[1].Lost = 1
	if err := restoreNotedLimits(library, file); err == nil || w.GPU[0].Limit != 700_000 || w.GPU[0].Locked != 0 {
		t.Fatalf("the guard: %v; limit %d, clock %d", err, w.GPU[0].Limit, w.GPU[0].Locked)
	}
	_ = c.RereadLimits() // GPU-1 is named
	lower(noon.Add(time.Minute))
	w.GPU[1].Lost = 0
	if err := os.WriteFile(file, []byte(`{"limits_mw":{"GPU-1":700000}}`), 0o600); err != nil { // by a guard that was late
		t.Fatal(err)
	}
	if err := c.RereadLimits(); err != nil {
		t.Error(err)
	}
	if c = newCaps(t, open(t, library), CapsConfig{NotesFile: file}); w.GPU[0].Limit != 700_000 || c.deviceLimitRange(c.devices[0]).Most != 700_000 {
		t.Errorf("the next agent leaves the limit at %d mW", w.GPU[0].Limit)
	}
}

// What was not set is not to be put back: the operator sets another limit meanwhile,
// and the next agent, which has the rights, keeps it.
func TestALimitThatCouldNotBeSetIsNotNoted(t *testing.T) {
	library, w := standin(t, 1)
	file := filepath.Join(t.TempDir(), "limits.json")
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: file})
	w.Forbidden = 1
	_ = c.RequestLimit("GPU-0", 300_000)
	if _, err := c.ApplyLimits(noon); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("Apply = %v", err)
	}
	w.Forbidden, w.GPU[0].Limit = 0, 500_000
	if newCaps(t, open(t, library), CapsConfig{NotesFile: file}); w.GPU[0].Limit != 500_000 {
		t.Errorf("the next agent set the limit to %d mW", w.GPU[0].Limit)
	}
}

// A clock that is held, and could not be changed, is let go by who comes after.
func TestAClockThatCouldNotBeChangedIsStillNoted(t *testing.T) {
	library, w := standin(t, 1)
	file := filepath.Join(t.TempDir(), "limits.json")
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: file})
	for i, mhz := range []int{1500, 1200} {
		w.Forbidden = uint32(i)
		_ = c.RequestClock("GPU-0", mhz)
		if _, err := c.ApplyLimits(noon.Add(time.Duration(i) * time.Minute)); (err == nil) != (i == 0) {
			t.Errorf("%d MHz: %v", mhz, err)
		}
	}
	w.Forbidden = 0
	if newCaps(t, open(t, library), CapsConfig{NotesFile: file}); w.GPU[0].Locked != 0 {
		t.Errorf("the clock stays at %d MHz", w.GPU[0].Locked)
	}
}

// A guard that acted has ended. Its agent, which lives on, has another.
func TestAGuardThatIsGoneIsReplaced(t *testing.T) {
	library, w := standin(t, 1)
	file := filepath.Join(t.TempDir(), "limits.json")
	t.Setenv("NVML_LIBRARY", library)
	t.Setenv("NVML_FILE", file)
	g, err := StartGuard(played)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 2000 { // it may not be gone yet
		if err = g.SendHeartbeat(); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err == nil {
		t.Error("nobody says that the guard is gone")
	}
	w.GPU[0].Limit = 300_000
	if err := os.WriteFile(file, []byte(`{"limits_mw":{"GPU-0":700000}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.SendHeartbeat(), g.StopGuard()); err != nil || w.GPU[0].Limit != 700_000 {
		t.Errorf("%v; the limit is left at %d mW", err, w.GPU[0].Limit)
	}
}
