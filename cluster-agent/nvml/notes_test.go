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
	c := newCaps(t, open(t, library), CapsConfig{File: file})
	lower := func(now time.Time) {
		t.Helper()
		_ = errors.Join(c.Want("GPU-0", 300_000), c.Want("GPU-1", 300_000), c.WantClock("GPU-0", 1200)) // said by Apply
		if _, err := c.Apply(now); err != nil || w.GPU[0].Limit != 300_000 || w.GPU[0].Locked != 1200 {
			t.Fatalf("Apply = %v; limit %d, clock %d", err, w.GPU[0].Limit, w.GPU[0].Locked)
		}
	}
	lower(noon)
	w.GPU[1].Lost = 1
	if err := putBack(library, file); err == nil || w.GPU[0].Limit != 700_000 || w.GPU[0].Locked != 0 {
		t.Fatalf("the guard: %v; limit %d, clock %d", err, w.GPU[0].Limit, w.GPU[0].Locked)
	}
	_ = c.Refresh() // GPU-1 is named
	lower(noon.Add(time.Minute))
	w.GPU[1].Lost = 0
	if err := os.WriteFile(file, []byte(`{"limits_mw":{"GPU-1":700000}}`), 0o600); err != nil { // by a guard that was late
		t.Fatal(err)
	}
	if err := c.Refresh(); err != nil {
		t.Error(err)
	}
	if c = newCaps(t, open(t, library), CapsConfig{File: file}); w.GPU[0].Limit != 700_000 || c.asks(c.devices[0]).Most != 700_000 {
		t.Errorf("the next agent leaves the limit at %d mW", w.GPU[0].Limit)
	}
}
