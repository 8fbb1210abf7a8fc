//go:build !linux || !cgo

package nvml

import "fmt"

// A Library is the driver's library; this build has none.
type Library struct{}

// Open returns ErrNoLibrary.
func Open(string) (*Library, error) {
	return nil, fmt.Errorf("%w: this program was built without cgo", ErrNoLibrary)
}

// Driver returns nothing.
func (*Library) Driver() string { return "" }

// Devices returns nothing.
func (*Library) Devices() ([]Device, error) { return nil, ErrNoLibrary }

// Close does nothing.
func (*Library) Close() error { return nil }
