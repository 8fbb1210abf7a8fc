//go:build !linux || !cgo

package nvml

import (
	"fmt"
	"runtime"
)

// A Library is the driver's library; this build has none.
type Library struct{}

// Open returns ErrNoLibrary.
func Open(string) (*Library, error) {
	return nil, fmt.Errorf("%w: GPUs are read on Linux, by a program that was built with cgo; this one is for %s", ErrNoLibrary, runtime.GOOS)
}

// Driver returns nothing.
func (*Library) Driver() string { return "" }

// Devices returns nothing.
func (*Library) Devices() ([]Device, error) { return nil, ErrNoLibrary }

// Close does nothing.
func (*Library) Close() error { return nil }
