package gpuaccounting

import (
	"errors"
	"fmt"

	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/protocol"
)

// maxIdleMemory is how much memory of a device may be in use while it counts as unused.
// A program that computes holds some hundred MiB; monitoring and display servers hold
// less than this.
const maxIdleMemory protocol.MiB = 64

// idleDevices are the devices that nothing uses.
type idleDevices struct {
	holdersKnown bool                         // whether it is known which devices each pod holds
	clocks       map[string]nvml.LowestClocks // of unused devices, by UUID
	faults       map[string]error             // why a device's clocks are left alone; not retried
}

// SetHoldersKnown says whether the next AccountAndApplyCaps gets all holders of devices.
// While it does not, because pods have not been listed yet or a pod's devices are
// unknown, no device counts as unused. At first it does not.
func (c *GPUs) SetHoldersKnown(known bool) { c.idle.holdersKnown = known }

// findIdleDevices finds the devices that no pod holds and on which no program holds
// memory, as one of another scheduler's pods would. A device with MIG instances is left
// alone: its holders hold instances. An error names each device that cannot be told to
// be unused, once.
func (c *GPUs) findIdleDevices() error {
	c.idle.clocks = make(map[string]nvml.LowestClocks)
	if !c.cfg.IdleClocks || !c.idle.holdersKnown {
		return nil
	}
	var errs []error
	for _, d := range c.devices {
		uuid := d.UUID()
		if c.idle.faults[uuid] != nil || len(c.podsOnDevice(uuid)) > 0 {
			continue
		}
		held, err := d.MemoryHeld()
		parts, migErr := d.MIGInstances()
		lowest, clockErr := d.LowestClocks()
		switch err = errors.Join(err, migErr, clockErr); {
		case errors.Is(err, nvml.ErrLost): // RereadLimits names it; it may be reset
		case err != nil:
			err = fmt.Errorf("gpuaccounting: card %s keeps its clocks while no job holds it: %w", uuid, err)
			if c.idle.faults == nil {
				c.idle.faults = make(map[string]error)
			}
			errs, c.idle.faults[uuid] = append(errs, err), err
		case held <= maxIdleMemory && len(parts) == 0:
			c.idle.clocks[uuid] = lowest
		}
	}
	return errors.Join(errs...)
}
