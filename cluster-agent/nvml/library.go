//go:build linux && cgo

package nvml

import (
	"errors"
	"fmt"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// A Library is the loaded driver library.
type Library struct {
	lib  driver.Interface // functions that the library provides
	has  map[string]bool
	open bool
}

// OpenLibrary loads the library at a path; an empty path means libnvidia-ml.so.1 in the
// system's search path. Call Close at the end.
func OpenLibrary(path string) (*Library, error) {
	var options []driver.LibraryOption
	if path != "" {
		options = append(options, driver.WithLibraryPath(path))
	}
	l := &Library{lib: driver.New(options...), has: make(map[string]bool)}
	switch r := l.lib.Init(); r {
	case driver.SUCCESS:
	case driver.ERROR_LIBRARY_NOT_FOUND:
		return nil, ErrNoLibrary
	case driver.ERROR_DRIVER_NOT_LOADED:
		return nil, fmt.Errorf("%w: the library is installed, but its kernel driver is not loaded: load the nvidia module", ErrNoLibrary)
	default:
		return nil, fmt.Errorf("nvml: init: %w", errorOfReturn(r))
	}
	l.open = true
	// Older drivers lack functions, and a call of a missing one would end the process.
	for _, name := range deviceSymbols {
		l.has[name] = l.lib.Extensions().LookupSymbol(name) == nil
	}
	// Without UUID and name a device cannot be told from others.
	for _, name := range []string{"nvmlDeviceGetUUID", "nvmlDeviceGetName"} {
		if !l.has[name] {
			return nil, errors.Join(fmt.Errorf("nvml: the library has no function %s: it is too old or not NVIDIA's", name), l.Close())
		}
	}
	return l, nil
}

// deviceSymbols are the functions that this package calls.
var deviceSymbols = []string{
	"nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption",
	"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetTemperature", "nvmlDeviceGetClockInfo",
	"nvmlDeviceGetPowerManagementLimit", "nvmlDeviceGetPowerManagementLimitConstraints",
	"nvmlDeviceGetPowerManagementDefaultLimit", "nvmlDeviceSetPowerManagementLimit",
	"nvmlDeviceSetGpuLockedClocks", "nvmlDeviceResetGpuLockedClocks",
	"nvmlDeviceSetMemoryLockedClocks", "nvmlDeviceResetMemoryLockedClocks",
	"nvmlDeviceGetSupportedPerformanceStates", "nvmlDeviceGetMinMaxClockOfPState", "nvmlDeviceGetMemoryInfo_v2",
	"nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetAttributes_v2",
	"nvmlSystemGetDriverVersion",
}

// DriverVersion returns the driver's version, or "" if the library does not provide it.
func (l *Library) DriverVersion() string {
	if !l.has["nvmlSystemGetDriverVersion"] {
		return ""
	}
	v, _ := l.lib.SystemGetDriverVersion()
	return v
}

// ListDevices returns the reachable GPUs, by index. The error, ErrLost, names devices
// that have fallen off the bus; the returned ones can be used.
func (l *Library) ListDevices() (out []Device, err error) {
	n, r := l.lib.DeviceGetCount()
	if r != driver.SUCCESS {
		return nil, fmt.Errorf("nvml: count of devices: %w", errorOfReturn(r))
	}
	var lost []error
	for i := range n {
		d := &nvmlDevice{lib: l, index: i}
		if d.h, r = l.lib.DeviceGetHandleByIndex(i); r == driver.SUCCESS {
			if d.uuid, r = d.h.GetUUID(); r == driver.SUCCESS {
				d.model, r = d.h.GetName()
			}
		}
		if r != driver.SUCCESS {
			lost = append(lost, fmt.Errorf("nvml: device %d: %w", i, errorOfReturn(r)))
			continue
		}
		out = append(out, d)
	}
	return out, errors.Join(lost...)
}

// Close unloads the library. A second call does nothing.
func (l *Library) Close() error {
	if !l.open {
		return nil
	}
	l.open = false
	if r := l.lib.Shutdown(); r != driver.SUCCESS {
		return fmt.Errorf("nvml: shutdown: %w", errorOfReturn(r))
	}
	return nil
}

// errorOfReturn converts a return code to an error.
func errorOfReturn(r driver.Return) error {
	switch r {
	case driver.SUCCESS:
		return nil
	case driver.ERROR_NOT_SUPPORTED, driver.ERROR_FUNCTION_NOT_FOUND:
		return ErrNotSupported
	case driver.ERROR_NO_PERMISSION:
		return ErrNotPermitted
	case driver.ERROR_GPU_IS_LOST, driver.ERROR_RESET_REQUIRED:
		return ErrLost
	case driver.ERROR_INVALID_ARGUMENT:
		return ErrOutOfRange
	}
	return fmt.Errorf("nvml: return code %d", int(r))
}
