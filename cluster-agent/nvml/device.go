//go:build linux && cgo

package nvml

import (
	"errors"
	"fmt"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gridbid/gridbid/protocol"
)

// nvmlDevice is a Device of the driver's library.
// Its handle is valid while lib is open.
type nvmlDevice struct {
	lib         *Library
	h           driver.Device
	index       int
	uuid, model string
}

func (d *nvmlDevice) Index() int    { return d.index }
func (d *nvmlDevice) UUID() string  { return d.uuid }
func (d *nvmlDevice) Model() string { return d.model }

// callIfSupported calls f if the loaded library has the named function; calling a missing symbol
// would end the process.
func (d *nvmlDevice) callIfSupported(name string, f func() driver.Return) error {
	if !d.lib.open {
		return fmt.Errorf("nvml: device %d: the library is closed", d.index)
	}
	if !d.lib.has[name] {
		return ErrNotSupported
	}
	return errorOfReturn(f())
}

// ReadSensors implements Device. Values that the device does not report are named in
// Missing; a lost device is an error.
func (d *nvmlDevice) ReadSensors() (out Reading, err error) {
	// Each value has its own function; older devices and drivers lack some of them.
	parts := []struct {
		what, name string
		read       func() driver.Return
	}{
		{"power", "nvmlDeviceGetPowerUsage", func() driver.Return {
			v, r := d.h.GetPowerUsage()
			out.Power = protocol.Milliwatts(v)
			return r
		}},
		{"energy", "nvmlDeviceGetTotalEnergyConsumption", func() driver.Return {
			v, r := d.h.GetTotalEnergyConsumption()
			out.Energy = protocol.Millijoules(v)
			return r
		}},
		{"utilisation", "nvmlDeviceGetUtilizationRates", func() driver.Return {
			v, r := d.h.GetUtilizationRates()
			out.Busy, out.MemoryBusy = 10*protocol.Milli(v.Gpu), 10*protocol.Milli(v.Memory)
			return r
		}},
		{"memory", "nvmlDeviceGetMemoryInfo", func() driver.Return {
			v, r := d.h.GetMemoryInfo()
			out.Used, out.Total = protocol.MiB(v.Used>>20), protocol.MiB(v.Total>>20)
			return r
		}},
		{"temperature", "nvmlDeviceGetTemperature", func() driver.Return {
			v, r := d.h.GetTemperature(driver.TEMPERATURE_GPU)
			out.Temperature = int(v)
			return r
		}},
		{"clock", "nvmlDeviceGetClockInfo", func() driver.Return {
			v, r := d.h.GetClockInfo(driver.CLOCK_SM)
			out.Clock = int(v)
			return r
		}},
		{"memory clock", "nvmlDeviceGetClockInfo", func() driver.Return {
			v, r := d.h.GetClockInfo(driver.CLOCK_MEM)
			out.MemoryClock = int(v)
			return r
		}},
		{"limit", "nvmlDeviceGetPowerManagementLimit", func() driver.Return {
			v, r := d.h.GetPowerManagementLimit()
			out.Limit = protocol.Milliwatts(v)
			return r
		}},
	}
	var last error
	for _, p := range parts {
		err := d.callIfSupported(p.name, p.read)
		// A lost device fails every call; do not report it as missing values.
		if errors.Is(err, ErrLost) {
			return Reading{}, fmt.Errorf("nvml: device %d: %w", d.index, err)
		}
		if err != nil {
			out.Missing, last = append(out.Missing, p.what), err
		}
	}
	// With nothing read there is no reading; the last error says why.
	if len(out.Missing) == len(parts) {
		return Reading{}, fmt.Errorf("nvml: device %d: %w", d.index, last)
	}
	return out, nil
}

// PowerLimits implements Device.
func (d *nvmlDevice) PowerLimits() (out Limits, err error) {
	parts := []struct {
		name string
		read func() driver.Return
	}{
		{"nvmlDeviceGetPowerManagementLimitConstraints", func() driver.Return {
			least, most, r := d.h.GetPowerManagementLimitConstraints()
			out.Least, out.Most = protocol.Milliwatts(least), protocol.Milliwatts(most)
			return r
		}},
		{"nvmlDeviceGetPowerManagementDefaultLimit", func() driver.Return {
			v, r := d.h.GetPowerManagementDefaultLimit()
			out.Default = protocol.Milliwatts(v)
			return r
		}},
		{"nvmlDeviceGetPowerManagementLimit", func() driver.Return {
			v, r := d.h.GetPowerManagementLimit()
			out.Now = protocol.Milliwatts(v)
			return r
		}},
	}
	for _, p := range parts {
		if err := d.callIfSupported(p.name, p.read); err != nil {
			return Limits{}, fmt.Errorf("nvml: device %d: power limits: %w", d.index, err)
		}
	}
	return out, nil
}

// SetPowerLimit implements Device.
func (d *nvmlDevice) SetPowerLimit(limit protocol.Milliwatts) error {
	l, err := d.PowerLimits()
	if err != nil {
		return err
	}
	if limit < l.Least || limit > l.Most {
		return fmt.Errorf("nvml: device %d: limit %.1f W: want %.1f to %.1f W: %w", d.index, inWatts(limit), inWatts(l.Least), inWatts(l.Most), ErrOutOfRange)
	}
	err = d.callIfSupported("nvmlDeviceSetPowerManagementLimit", func() driver.Return { return d.h.SetPowerManagementLimit(uint32(limit)) })
	if err != nil {
		return fmt.Errorf("nvml: device %d: set limit %.1f W: %w", d.index, inWatts(limit), err)
	}
	return nil
}

// LockClocks implements Device.
func (d *nvmlDevice) LockClocks(least, most int) error {
	if least < 1 || most < least || most > maxClockMHz {
		return fmt.Errorf("nvml: device %d: clocks of %d to %d MHz: want 1 to %d, the lower first: %w", d.index, least, most, maxClockMHz, ErrOutOfRange)
	}
	err := d.callIfSupported("nvmlDeviceSetGpuLockedClocks", func() driver.Return { return d.h.SetGpuLockedClocks(uint32(least), uint32(most)) })
	if err != nil {
		return fmt.Errorf("nvml: device %d: clocks of %d to %d MHz: %w", d.index, least, most, err)
	}
	return nil
}

// UnlockClocks implements Device.
func (d *nvmlDevice) UnlockClocks() error {
	if err := d.callIfSupported("nvmlDeviceResetGpuLockedClocks", func() driver.Return { return d.h.ResetGpuLockedClocks() }); err != nil {
		return fmt.Errorf("nvml: device %d: unlock clocks: %w", d.index, err)
	}
	return nil
}

// MIGInstances implements Device. A device without MIG, or with MIG disabled, has no slices.
func (d *nvmlDevice) MIGInstances() (out []MIGInstance, err error) {
	on, n := 0, 0
	err = d.callIfSupported("nvmlDeviceGetMigMode", func() (r driver.Return) { on, _, r = d.h.GetMigMode(); return r })
	if errors.Is(err, ErrNotSupported) || err == nil && on == 0 {
		return nil, nil // without MIG, or with MIG disabled
	}
	if err == nil {
		err = d.callIfSupported("nvmlDeviceGetMaxMigDeviceCount", func() (r driver.Return) { n, r = d.h.GetMaxMigDeviceCount(); return r })
	}
	for i := range n {
		if err != nil {
			break
		}
		var part driver.Device
		var gone bool
		err = d.callIfSupported("nvmlDeviceGetMigDeviceHandleByIndex", func() (r driver.Return) {
			part, r = d.h.GetMigDeviceHandleByIndex(i)
			if gone = r == driver.ERROR_NOT_FOUND; gone {
				return driver.SUCCESS
			}
			// Indices of MIG instances may have gaps.
			return r
		})
		if err != nil || gone {
			continue
		}
		var s MIGInstance
		err = d.callIfSupported("nvmlDeviceGetUUID", func() (r driver.Return) { s.UUID, r = part.GetUUID(); return r })
		if err == nil {
			err = d.callIfSupported("nvmlDeviceGetAttributes_v2", func() driver.Return {
				a, r := part.GetAttributes()
				s.Sevens, s.Memory = int(a.GpuInstanceSliceCount), protocol.MiB(a.MemorySizeMB)
				return r
			})
		}
		out = append(out, s)
	}
	if err != nil {
		return nil, fmt.Errorf("nvml: device %d: MIG: %w", d.index, err)
	}
	return out, nil
}
