//go:build !linux || !cgo

package nvml

import (
	"fmt"
	"runtime"
)

// A Library is the driver's library, which this build does not support.
type Library struct{}

// Open returns ErrNoLibrary.
func Open(string) (*Library, error) {
	return nil, fmt.Errorf("%w: this program was built for %s or without cgo: use a Linux build with cgo", ErrNoLibrary, runtime.GOOS)
}

// Driver returns "".
func (*Library) Driver() string { return "" }

// Devices returns ErrNoLibrary.
func (*Library) Devices() ([]Device, error) { return nil, ErrNoLibrary }

// Close does nothing.
func (*Library) Close() error { return nil }
