//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAClockIsHeldNotedAndLetGo(t *testing.T) {
	library, w := standin(t, 2)
	file := filepath.Join(t.TempDir(), "limits.json")
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: file})
	if err := c.RequestClock("GPU-1", 1200); err != nil {
		t.Fatal(err)
	}
	if again, err := c.ApplyLimits(noon); err != nil || !again.IsZero() || w.GPU[1].Locked != 1200 || w.GPU[0].Locked != 0 {
		t.Fatalf("Apply = %v, %v; clocks held at %d and %d", again, err, w.GPU[0].Locked, w.GPU[1].Locked)
	}
	_ = c.RequestClock("GPU-1", 0)
	if again, err := c.ApplyLimits(noon.Add(time.Millisecond)); err != nil || again != noon.Add(time.Second) || w.GPU[1].Locked != 1200 {
		t.Errorf("within a second: %v, %v, %d MHz", again, err, w.GPU[1].Locked)
	}
	if err := c.RestoreAllDevices(); err != nil || w.GPU[1].Locked != 0 {
		t.Errorf("Restore = %v, held at %d", err, w.GPU[1].Locked)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note stays: %v", err)
	}
	w.Forbidden = 1
	_ = c.RequestClock("GPU-0", 900)
	if _, err := c.ApplyLimits(noon.Add(time.Hour)); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("Apply without rights = %v", err)
	}
	if err := c.RequestClock("GPU-0", 900); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("WantClock after that = %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a clock that was not held is noted: %v", err)
	}
}

// An agent in one container is killed with all its processes; its guard in
// another one puts limits and clocks back within a period, and lets the next
// agent work.
func TestAWatchmanPutsBackWhatASilentAgentLeft(t *testing.T) {
	for period := 300 * time.Millisecond; !guarded(t, period); period *= 4 {
		if period > 10*time.Second {
			t.Fatal("this machine lets no agent beat in time")
		}
	}
}

// guarded reports whether the agent could beat in time. One that a busy machine does
// not let is taken for silent, and rightly.
func guarded(t *testing.T, period time.Duration) bool {
	library, w := standin(t, 2)
	dir := t.TempDir()
	file, beats := filepath.Join(dir, "limits.json"), filepath.Join(dir, "beats")
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: file})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- RunHeartbeatGuard(ctx, beats, period, library, file, func(err error) { t.Error(err) })
	}()
	beat := func() {
		if err := TouchHeartbeat(beats); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 { // twice: an agent that comes again is guarded again
		beat()
		_, _ = c.RequestLimit("GPU-0", 250_000), c.RequestClock("GPU-1", 1100)
		if err := c.RereadLimits(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ApplyLimits(noon.Add(time.Duration(2*i) * time.Hour)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 6 { // alive for longer than a period
			beat()
			time.Sleep(period / 4)
		}
		slow := time.Since(began) > 2*period
		if w.GPU[0].Limit != 250_000 || w.GPU[1].Locked != 1100 {
			if slow {
				cancel()
				<-done
				return false
			}
			t.Fatalf("put back under a living agent: %d mW, %d MHz", w.GPU[0].Limit, w.GPU[1].Locked)
		}
		beat()
		dead := time.Now()
		for w.GPU[0].Limit != 700_000 || w.GPU[1].Locked != 0 {
			time.Sleep(time.Millisecond)
			if time.Since(dead) > time.Minute { // a busy machine may be late; it must not be never
				t.Fatal("a silent agent's limits stay")
			}
		}
		if st, err := os.Stat(beats + GuardSuffix); err != nil || time.Since(st.ModTime()) > time.Minute {
			t.Errorf("the guard has no heartbeat of its own: %v", err)
		}
		t.Logf("put back %v after the last beat; the period is %v", time.Since(dead).Round(time.Millisecond), period)
		_, _ = c.RequestLimit("GPU-0", 0), c.RequestClock("GPU-1", 0)
		_ = c.RereadLimits()
		_, _ = c.ApplyLimits(noon.Add(time.Duration(2*i+1) * time.Hour))
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return true
}

func TestWhatOthersSetIsSeen(t *testing.T) {
	library, w := standin(t, 2)
	file := filepath.Join(t.TempDir(), "limits.json")
	c := newCaps(t, open(t, library), CapsConfig{NotesFile: file})
	_ = c.RequestLimit("GPU-0", 300_000)
	if _, err := c.ApplyLimits(noon); err != nil || c.TotalPowerLimit() != 1_000_000 {
		t.Fatalf("Apply = %v; limits sum to %d", err, c.TotalPowerLimit())
	}
	w.GPU[0].Limit = 700_000 // a guard, or an operator
	if err := c.RereadLimits(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ApplyLimits(noon.Add(time.Minute)); err != nil || w.GPU[0].Limit != 300_000 {
		t.Errorf("Apply = %v, limit %d; want what the job was awarded", err, w.GPU[0].Limit)
	}
	w.GPU[1].Lost = 1
	if err := c.RereadLimits(); !errors.Is(err, ErrLost) {
		t.Errorf("Refresh with a card off the bus = %v", err)
	}
	if err := c.RereadLimits(); err != nil {
		t.Errorf("it is said twice: %v", err)
	}
	if got := c.notes.Limits; len(got) != 1 || got["GPU-0"] == 0 {
		t.Errorf("noted as lowered: %v; want GPU-0", got)
	}
}
