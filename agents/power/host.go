package power

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Host is a node without its GPUs.
type Host struct {
	Awake  protocol.Milliwatts // awake without work
	Asleep protocol.Milliwatts // what the parts that can wake the host draw
	Core   protocol.Milliwatts // additional for each busy processor core
	Linger time.Duration       // how long an empty node stays awake before it sleeps; 0: it never sleeps

	// WakeTime is how long a sleeping node takes until it can start a job. It draws its idle power
	// meanwhile.
	WakeTime time.Duration
}

// DefaultHost returns the assumed host for a number of GPUs: 300 W and 80 W for
// each GPU (its part of boards, fans and power supplies), 15 W asleep, 4 W for
// each busy core. It never sleeps. With eight idle A100s this is the draw of an
// idle server in Acme's Seren cluster (docs/signals-and-power.md).
func DefaultHost(gpus int) Host {
	return Host{
		Awake:  300_000 + 80_000*protocol.Milliwatts(gpus),
		Asleep: 15_000,
		Core:   4_000,
	}
}

// SleepingHost returns the DefaultHost of a node that sleeps after ten minutes without a job and
// wakes in 200 seconds (decision 0256).
func SleepingHost(gpus int) Host {
	h := DefaultHost(gpus)
	h.Linger, h.WakeTime = 10*time.Minute, 200*time.Second
	return h
}

// IdlePower returns the draw of an awake node without work: host and idle devices.
func (h Host) IdlePower(g GPU, gpus int) protocol.Milliwatts {
	return h.Awake + g.Idle*protocol.Milliwatts(gpus)
}

// JobPower returns the draw that a job adds to an awake node: its part of the devices,
// from idle to the draw of c, and its cores. It excludes the facility's
// overhead (PUE). gpu is in thousandths of a device (0 for a job without GPUs),
// cores in thousandths of a core.
func JobPower(g GPU, c Choice, h Host, gpu, cores protocol.Milli) protocol.Milliwatts {
	mw := int64(gpu)*int64(c.Draw-g.Idle) + int64(cores)*int64(h.Core)
	return protocol.Milliwatts((mw + 500) / 1000)
}
