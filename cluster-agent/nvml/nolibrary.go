//go:build !linux || !cgo

package nvml

import (
	"fmt"
	"runtime"
)

// A Library is the driver's library, which this build does not support.
type Library struct{}

// OpenLibrary returns ErrNoLibrary.
func OpenLibrary(string) (*Library, error) {
	return nil, fmt.Errorf("%w: this program was built for %s or without cgo: use a Linux build with cgo", ErrNoLibrary, runtime.GOOS)
}

// DriverVersion returns "".
func (*Library) DriverVersion() string { return "" }

// ListDevices returns ErrNoLibrary.
func (*Library) ListDevices() ([]Device, error) { return nil, ErrNoLibrary }

// Close does nothing.
func (*Library) Close() error { return nil }
