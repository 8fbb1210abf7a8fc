package nvml

import (
	"errors"
	"time"
)

// A clockDomain is one of a device's clocks that can be locked on its own.
type clockDomain int

const (
	smClock clockDomain = iota
	memoryClock
)

// noteKey returns the name of a device's clock in the record: the UUID for the SM clock,
// as records had it before memory clocks were locked.
func (domain clockDomain) noteKey(d Device) string {
	if domain == memoryClock {
		return d.UUID() + "/memory"
	}
	return d.UUID()
}

// setLock locks the clock of a device, or unlocks it with 0.
func (domain clockDomain) setLock(d Device, mhz int) error {
	switch {
	case domain == memoryClock && mhz == 0:
		return d.UnlockMemoryClock()
	case domain == memoryClock:
		return d.LockMemoryClock(mhz)
	case mhz == 0:
		return d.UnlockClocks()
	}
	return d.LockClocks(mhz, mhz)
}

// A lockedClock is the state of one clock that PowerCaps locks.
type lockedClock struct {
	domain    clockDomain
	mhz, want int // 0: not locked; mhz -1: unknown
	changed   time.Time
	fault     error // why it cannot be set; only an unlock is retried
}

// clocks returns the clocks of a device.
func (d *cappedDevice) clocks() [2]*lockedClock { return [2]*lockedClock{&d.sm, &d.memory} }

// RequestClock records the SM clock in MHz to which a device is to be locked, or 0 for
// none; the next ApplyLimits locks it.
func (c *PowerCaps) RequestClock(uuid string, mhz int) error {
	d, err := c.deviceByUUID(uuid)
	if err != nil {
		return err
	}
	d.sm.want = mhz
	return d.sm.fault
}

// RequestMemoryClock does the same for the clock of the device's memory.
func (c *PowerCaps) RequestMemoryClock(uuid string, mhz int) error {
	d, err := c.deviceByUUID(uuid)
	if err != nil {
		return err
	}
	d.memory.want = mhz
	return d.memory.fault
}

// applyClocks locks and unlocks clocks, each at most once in MinChangeInterval. A clock
// that cannot be locked is reported once and left alone. A lock that cannot be removed
// is reported once and tried at each call: it slows whoever uses the device.
func (c *PowerCaps) applyClocks(now time.Time) (again time.Time, err error) {
	var errs []error
	for _, d := range c.devices {
		for _, k := range d.clocks() {
			if k.mhz == k.want || k.fault != nil && k.want != 0 {
				continue
			}
			if due, waits := c.changeDue(k.changed, now); waits {
				if again.IsZero() || due.Before(again) {
					again = due
				}
				continue
			}
			if err := c.setClock(d, k, k.want); err != nil {
				if k.fault == nil {
					errs, k.fault = append(errs, err), err
				}
				continue
			}
			k.changed = now
		}
	}
	return again, errors.Join(errs...)
}

// setClock locks a clock of a device, or unlocks it with 0. A lock is recorded before it
// is set, and the record is removed after the unlock, so that a crash in between is
// repaired.
func (c *PowerCaps) setClock(d *cappedDevice, k *lockedClock, mhz int) error {
	key := k.domain.noteKey(d.dev)
	if mhz == 0 {
		if err := k.domain.setLock(d.dev, 0); err != nil {
			return err
		}
		k.mhz = 0
		return c.notes.removeClockNote(c.cfg.NotesFile, key)
	}
	if err := c.notes.noteClock(c.cfg.NotesFile, key); err != nil {
		return err
	}
	if err := k.domain.setLock(d.dev, mhz); err != nil {
		if k.mhz == 0 { // the clock is not locked
			err = errors.Join(err, c.notes.removeClockNote(c.cfg.NotesFile, key))
		}
		return err
	}
	k.mhz = mhz
	return nil
}
