// Package nvml reads and sets the power of NVIDIA GPUs through the driver's own
// library.
//
// A machine without the library, without a GPU, or of a build without cgo, gets
// [ErrNoLibrary] from [Open] and goes on with the power model's figures. No other
// call is made then: a missing symbol would end the process. For the same reason
// every function is looked up when the library is opened, and one that an older
// driver lacks answers [ErrNotSupported].
//
// # Limits that are lowered come back
//
// [Caps] lowers power limits for jobs and shares a site's ceiling. Before a limit
// is lowered, the device's own is written to a file; it is struck out once that
// is back. [Guard] is another process that restores what stands in the file when
// the agent is gone or silent; an agent that starts restores what it finds. So
// a limit stays lowered without an agent for no longer than the guard's period,
// or, if both were killed, until the next start.
package nvml

import (
	"errors"

	"github.com/gridbid/gridbid/protocol"
)

// What a call may come to.
var (
	ErrNoLibrary    = errors.New("nvml: no NVIDIA driver library here")
	ErrNotSupported = errors.New("nvml: not supported by this device or driver")
	ErrNotPermitted = errors.New("nvml: not permitted: setting limits needs root, or CAP_SYS_ADMIN in a container")
	ErrLost         = errors.New("nvml: the device has fallen off the bus: reset or reboot the machine")
	ErrOutOfRange   = errors.New("nvml: outside of what the device allows")
)

// A Device is one GPU. Its methods may be called by one goroutine at a time.
type Device interface {
	Index() int
	UUID() string  // "GPU-…"
	Model() string // as the driver names it: "NVIDIA H100 80GB HBM3"

	// Read returns what the device does now. What it does not tell is left out
	// and named in Missing; an error means that nothing could be read.
	Read() (Reading, error)

	Limits() (Limits, error)
	// SetLimit sets the power limit. One outside of Limits is ErrOutOfRange.
	SetLimit(protocol.Milliwatts) error
	// LockClocks holds the processor's clock between two values in MHz, and
	// UnlockClocks lets it go. Decoding of language models draws little and never
	// reaches a power limit; only a clock slows it.
	LockClocks(least, most int) error
	UnlockClocks() error

	// Slices returns the MIG instances of the device; none where MIG is off.
	Slices() ([]Slice, error)
}

// A Reading is what a device does at an instant.
type Reading struct {
	Power       protocol.Milliwatts
	Energy      protocol.Millijoules // since the driver was loaded
	Busy        protocol.Milli       // part of the last sample in which a kernel ran
	MemoryBusy  protocol.Milli       // and in which device memory was read or written
	Used, Total protocol.MiB         // of device memory
	Temperature int                  // °C
	Clock       int                  // of the processors, MHz
	MemoryClock int                  // MHz
	Limit       protocol.Milliwatts
	Missing     []string // figures that the device does not tell
}

// Limits are the power limits of a device.
type Limits struct{ Least, Most, Default, Now protocol.Milliwatts }

// A Slice is a MIG instance: a part of a device with memory of its own.
type Slice struct {
	UUID   string
	Sevens int // of the device's seven parts of its processors
	Memory protocol.MiB
}
