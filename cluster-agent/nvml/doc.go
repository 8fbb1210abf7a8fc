// Package nvml reads and sets the power of NVIDIA GPUs through the driver's library
// NVML.
//
// On a machine without the library or a GPU, and in a build without cgo, [OpenLibrary]
// returns [ErrNoLibrary], and the agent continues with the power model's figures.
// Calling a function that the loaded library lacks would end the process, so every
// function is looked up when the library is opened; one that an older driver lacks
// returns [ErrNotSupported].
//
// # Changed limits are restored
//
// [PowerCaps] lowers power limits for jobs and keeps a common ceiling. Before it changes a
// limit, it records the device's own one in a file, and removes the record once that
// limit is back. It does the same for clocks that it locks. [RunGuard] runs in another process and restores the recorded limits
// when the agent has exited or sends no heartbeat; an agent that starts restores what
// it finds. So a limit stays changed without an agent no longer than the guard's
// period or, if both were killed, until the next start.
package nvml

import (
	"errors"

	"github.com/gridbid/gridbid/protocol"
)

// Errors of calls; test with errors.Is.
var (
	ErrNoLibrary    = errors.New("nvml: no NVIDIA driver library here")
	ErrNotSupported = errors.New("nvml: not supported by this device or driver")
	ErrNotPermitted = errors.New("nvml: not permitted: setting limits needs root, or CAP_SYS_ADMIN in a container")
	ErrLost         = errors.New("nvml: the device has fallen off the bus: reset the device or reboot the machine")
	ErrOutOfRange   = errors.New("nvml: outside the device's limits")
)

// A Device is one GPU. Its methods are not safe for concurrent use.
type Device interface {
	Index() int
	UUID() string  // "GPU-…"
	Model() string // the driver's product name: "NVIDIA H100 80GB HBM3"

	// ReadSensors returns the device's current state. Values that the device does not report
	// are named in Missing; an error means that nothing could be read.
	ReadSensors() (Reading, error)

	PowerLimits() (Limits, error)
	// SetPowerLimit sets the power limit, or returns ErrOutOfRange.
	SetPowerLimit(protocol.Milliwatts) error
	// LockClocks locks the SM clock to a range in MHz, UnlockClocks removes the lock.
	// Decoding of language models draws little power and never reaches a power limit;
	// only a lower clock saves energy there.
	LockClocks(least, most int) error
	UnlockClocks() error
	// LockMemoryClock locks the clock of the device's memory, in MHz, UnlockMemoryClock
	// removes the lock.
	LockMemoryClock(mhz int) error
	UnlockMemoryClock() error
	// LowestClocks returns the lowest clocks of all performance states.
	LowestClocks() (LowestClocks, error)
	// MemoryHeld returns the device memory that programs hold, without what the driver
	// reserves for itself.
	MemoryHeld() (protocol.MiB, error)

	// MIGInstances returns the MIG instances of the device; none if MIG is disabled.
	MIGInstances() ([]MIGInstance, error)
}

// A Reading is the state of a device at an instant.
type Reading struct {
	Power       protocol.Milliwatts
	Energy      protocol.Millijoules // since the driver was loaded
	Busy        protocol.Milli       // share of the last sample period with a running kernel
	MemoryBusy  protocol.Milli       // share of it with reads or writes of device memory
	Used, Total protocol.MiB         // of device memory
	Temperature int                  // °C
	Clock       int                  // of the SMs, MHz
	MemoryClock int                  // MHz
	Limit       protocol.Milliwatts
	Missing     []string // names of values that the device does not report
}

// Limits are the power limits of a device.
type Limits struct{ Least, Most, Default, Now protocol.Milliwatts }

// LowestClocks are the lowest clocks of a device in MHz; 0: the device has only one.
type LowestClocks struct{ SM, Memory int }

// A MIGInstance is a MIG instance: a part of a device with its own memory.
type MIGInstance struct {
	UUID   string
	Sevens int // compute slices, of the device's seven
	Memory protocol.MiB
}
