//go:build linux && cgo

package gpuaccounting

import (
	"errors"
	"testing"

	"github.com/gridbid/gridbid/cluster-agent/nvml"
)

// expectClocks checks what the SM and memory clocks of a card are locked to.
func (b *bench) expectClocks(when string, card int, sm, memory uint32) {
	b.Helper()
	if g := b.w.GPU[card]; g.Locked != sm || g.MemoryLocked != memory {
		b.Errorf("%s: card %d is locked at %d and %d MHz; want %d and %d", when, card, g.Locked, g.MemoryLocked, sm, memory)
	}
}

func TestUnusedCardHasItsLowestClocksUntilAPodHoldsIt(t *testing.T) {
	b := newBench(t, 2, Config{IdleClocks: true})
	b.after(5)
	b.expectClocks("pods are not listed yet", 0, 0, 0)
	b.SetHoldersKnown(true)
	b.after(5)
	b.expectClocks("no pod", 0, 345, 405)
	a := holder("a", 1000, 0, "GPU-0")
	b.after(5, a)
	b.expectClocks("a pod holds it", 0, 0, 0)
	b.expectClocks("a pod holds the other", 1, 345, 405)
	if _, err := b.PowerCaps().ApplyLimits(b.at().Add(5e9).StdTime()); err != nil {
		t.Error(err)
	}
	b.expectClocks("limits are applied once more, for the site's ceiling", 1, 345, 405)
	b.w.GPU[1].Used = 500 << 20
	b.after(5, a)
	b.expectClocks("a program that no pod of ours runs", 1, 0, 0)
	b.w.GPU[1].Used = 4 << 20
	b.after(5)
	b.expectClocks("the pod ended", 0, 345, 405)
	b.SetHoldersKnown(false)
	b.after(5)
	b.expectClocks("a pod's cards are unknown", 0, 0, 0)
	b.SetHoldersKnown(true)
	b.w.GPU[0].MIG = 2
	b.after(5)
	b.expectClocks("MIG", 0, 0, 0)
	b.expectClocks("no MIG", 1, 345, 405)
	if err := b.RestorePowerLimits(); err != nil {
		t.Error(err)
	}
	b.expectClocks("the daemon ended", 1, 0, 0)
}

func TestWithoutTheOptionClocksAreLeftAlone(t *testing.T) {
	b := newBench(t, 1, Config{})
	b.SetHoldersKnown(true)
	b.after(5)
	b.expectClocks("no option", 0, 0, 0)
}

// Where clocks cannot be lowered, one error says so, and caps are set as before.
func TestCapsWorkWhereIdleClocksDoNot(t *testing.T) {
	for name, fault := range map[string]struct {
		set  func(*bench)
		want error
	}{
		"not supported": {func(b *bench) { b.w.GPU[0].LeastClock = 0 }, nvml.ErrNotSupported},
		"not permitted": {func(b *bench) { b.w.Forbidden = 1 }, nvml.ErrNotPermitted},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1, Config{IdleClocks: true})
			b.SetHoldersKnown(true)
			fault.set(b)
			if _, err := b.AccountAndApplyCaps(b.at(), nil); !errors.Is(err, fault.want) {
				t.Errorf("first call: %v", err)
			}
			b.after(5) // fails the test if the error comes twice
			b.w.Forbidden = 0
			b.after(5, holder("a", 1000, 300_000, "GPU-0"))
			if b.expectClocks("a job", 0, 0, 0); b.w.GPU[0].Limit != 300_000 {
				t.Errorf("limit %d", b.w.GPU[0].Limit)
			}
		})
	}
}
