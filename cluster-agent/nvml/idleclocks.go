//go:build linux && cgo

package nvml

import (
	"fmt"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gridbid/gridbid/protocol"
)

// LockMemoryClock implements Device.
func (d *nvmlDevice) LockMemoryClock(mhz int) error {
	if mhz < 1 || mhz > maxClockMHz {
		return fmt.Errorf("nvml: device %d: memory clock of %d MHz: want 1 to %d: %w", d.index, mhz, maxClockMHz, ErrOutOfRange)
	}
	err := d.callIfSupported("nvmlDeviceSetMemoryLockedClocks", func() driver.Return { return d.h.SetMemoryLockedClocks(uint32(mhz), uint32(mhz)) })
	if err != nil {
		return fmt.Errorf("nvml: device %d: memory clock of %d MHz: %w", d.index, mhz, err)
	}
	return nil
}

// UnlockMemoryClock implements Device.
func (d *nvmlDevice) UnlockMemoryClock() error {
	if err := d.callIfSupported("nvmlDeviceResetMemoryLockedClocks", func() driver.Return { return d.h.ResetMemoryLockedClocks() }); err != nil {
		return fmt.Errorf("nvml: device %d: unlock memory clock: %w", d.index, err)
	}
	return nil
}

// LowestClocks implements Device. The binding returns only the first of the supported
// clocks, so the ranges of the performance states say which is the lowest.
func (d *nvmlDevice) LowestClocks() (out LowestClocks, err error) {
	var states []driver.Pstates
	err = d.callIfSupported("nvmlDeviceGetSupportedPerformanceStates", func() (r driver.Return) {
		states, r = d.h.GetSupportedPerformanceStates()
		return r
	})
	for _, c := range []struct {
		kind driver.ClockType
		mhz  *int
	}{{driver.CLOCK_SM, &out.SM}, {driver.CLOCK_MEM, &out.Memory}} {
		least, most := 0, 0
		for _, state := range states {
			if err != nil {
				break
			}
			err = d.callIfSupported("nvmlDeviceGetMinMaxClockOfPState", func() driver.Return {
				lo, hi, r := d.h.GetMinMaxClockOfPState(c.kind, state)
				if r == driver.SUCCESS && lo > 0 && (least == 0 || int(lo) < least) {
					least = int(lo)
				}
				most = max(most, int(hi))
				return r
			})
		}
		if least < most {
			*c.mhz = least
		}
	}
	if err != nil {
		return LowestClocks{}, fmt.Errorf("nvml: device %d: lowest clocks: %w", d.index, err)
	}
	return out, nil
}

// MemoryHeld implements Device.
func (d *nvmlDevice) MemoryHeld() (held protocol.MiB, err error) {
	err = d.callIfSupported("nvmlDeviceGetMemoryInfo_v2", func() driver.Return {
		m, r := d.h.GetMemoryInfo_v2()
		held = protocol.MiB(m.Used >> 20)
		return r
	})
	if err != nil {
		return 0, fmt.Errorf("nvml: device %d: memory that programs hold: %w", d.index, err)
	}
	return held, nil
}
