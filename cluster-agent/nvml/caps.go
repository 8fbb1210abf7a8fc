package nvml

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A CapsConfig says how power limits are controlled.
type CapsConfig struct {
	Ceiling           protocol.Milliwatts // of all devices of this machine together; 0: none
	MinChangeInterval time.Duration       // minimum time between two changes of one device; default 1 s
	NotesFile         string              // where changed limits are recorded, for recovery after a crash; "": nowhere
	AllowRaise        bool                // whether a limit may exceed the device's own one, up to its default
}

// PowerCaps controls the power limits of a machine's devices: it sets the caps awarded to
// their jobs, keeps the sum below a common ceiling, and locks clocks where a job's
// cap requires that. Create it with [NewPowerCaps] and call RestoreAllDevices at the end. It is not
// safe for concurrent use.
type PowerCaps struct {
	cfg           CapsConfig
	sharedCeiling protocol.Milliwatts // share of a ceiling of several machines; 0: none
	devices       []*cappedDevice
	notes         restoreNotes
}

// A cappedDevice is a device whose limit PowerCaps controls.
type cappedDevice struct {
	dev           Device
	limits        Limits
	originalLimit protocol.Milliwatts // set by the operator; jobs get at most that, unless AllowRaise
	want          protocol.Milliwatts // cap of its job; 0: no cap
	changed       time.Time
	blocked       error // why its limit cannot be set; not retried until RereadLimits clears it
	unread        bool  // blocked by a failed read; RereadLimits clears it after a successful one

	sm, memory lockedClock
}

// NewPowerCaps reads the devices' limits and restores those that a previous agent left
// changed. The limit found then is the device's own, chosen by its operator; if the
// record of the previous agent is missing or unreadable, it is the driver's default.
// Devices whose limits cannot be read are not controlled; the error names them, and
// the returned PowerCaps controls the others.
func NewPowerCaps(devices []Device, cfg CapsConfig) (*PowerCaps, error) {
	if cfg.MinChangeInterval == 0 {
		cfg.MinChangeInterval = time.Second
	}
	c := &PowerCaps{cfg: cfg}
	var errs []error
	notesRead := false // whether the record of a previous agent could be read
	if cfg.NotesFile != "" {
		var err error
		c.notes, err = readRestoreNotes(cfg.NotesFile)
		notesRead = err == nil
		errs = append(errs, err, c.notes.restoreDevices(devices, cfg.NotesFile))
	}
	// A limit without a note is the operator's own, if the notes could be read; else the driver's
	// default is the best guess.
	for _, d := range devices {
		l, err := d.PowerLimits()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		own, noted := c.notes.Limits[d.UUID()]
		switch {
		case notesRead && !noted:
			own = l.Now
		case !noted:
			own = l.Default
		}
		c.devices = append(c.devices, &cappedDevice{dev: d, limits: l, originalLimit: max(own, l.Least), sm: lockedClock{domain: smClock}, memory: lockedClock{domain: memoryClock}})
	}
	return c, errors.Join(errs...)
}

// RequestLimit records the cap of a device's job, or 0 for none; the next ApplyLimits sets it. A
// cap outside the device's limits is clamped: a higher limit than awarded only makes
// the job faster. Unless AllowRaise is set, no limit exceeds the device's own.
func (c *PowerCaps) RequestLimit(uuid string, limit protocol.Milliwatts) error {
	d, err := c.deviceByUUID(uuid)
	if err != nil {
		return err
	}
	d.want = limit
	return d.blocked
}

// deviceByUUID returns a controlled device.
func (c *PowerCaps) deviceByUUID(uuid string) (*cappedDevice, error) {
	for _, d := range c.devices {
		if d.dev.UUID() == uuid {
			return d, nil
		}
	}
	return nil, fmt.Errorf("nvml: no controlled device has the UUID %q", uuid)
}

// SetSharedCeiling sets this machine's share of a ceiling that several machines share; 0 means
// that there is none. The next ApplyLimits keeps both this and the machine's own ceiling.
func (c *PowerCaps) SetSharedCeiling(part protocol.Milliwatts) { c.sharedCeiling = part }

// effectiveCeiling returns the lower of the two ceilings; 0: there is none.
func (c *PowerCaps) effectiveCeiling() protocol.Milliwatts {
	if c.sharedCeiling == 0 || c.cfg.Ceiling == 0 {
		return max(c.sharedCeiling, c.cfg.Ceiling)
	}
	return min(c.sharedCeiling, c.cfg.Ceiling)
}

// Len returns the number of controlled devices.
func (c *PowerCaps) Len() int { return len(c.devices) }

// TotalPowerLimit returns the sum of the limits that are set now.
func (c *PowerCaps) TotalPowerLimit() (sum protocol.Milliwatts) {
	for _, d := range c.devices {
		sum += d.limits.Now
	}
	return sum
}

// PowerRange returns the lowest possible sum of all limits, and the sum that they would
// have without a ceiling of several machines.
func (c *PowerCaps) PowerRange() (w power.PowerDemand) {
	for _, d := range c.devices {
		x := c.deviceLimitRange(d)
		w.Least, w.Most = w.Least+x.Least, w.Most+x.Most
	}
	if c.cfg.Ceiling > 0 {
		w.Most = max(w.Least, min(w.Most, c.cfg.Ceiling))
	}
	return w
}

// RereadLimits reads the devices' limits anew, because others set limits too, and a guard
// that took this agent for dead restores them. The next ApplyLimits sets what is wanted. On
// a device with no change of ours, a changed limit becomes the device's own. A device
// that cannot be read is reported once and is controlled again after a successful
// read: it may have been reset.
func (c *PowerCaps) RereadLimits() error {
	var errs []error
	for _, d := range c.devices {
		l, err := d.dev.PowerLimits()
		if err != nil {
			if d.blocked == nil {
				d.blocked = err
				errs = append(errs, err)
			}
			d.unread = true
			continue
		}
		// A limit that changed where none of ours is set was set by the operator.
		if _, ours := c.notes.Limits[d.dev.UUID()]; !ours && d.limits.Now == d.originalLimit && c.cfg.NotesFile != "" {
			d.originalLimit = max(l.Now, l.Least)
		}
		d.limits = l
		// The device answers after a failure and may have been reset: forget its faults, and set its
		// clock anew.
		if d.unread {
			d.unread, d.blocked = false, nil
			for _, k := range d.clocks() {
				k.fault = nil
				if k.mhz != 0 {
					k.mhz = -1
				}
			}
		}
	}
	return errors.Join(append(errs, c.reconcileWithNotes())...)
}

// reconcileWithNotes reloads the record, from which a guard removes what it restored. A limit
// that is still changed is recorded again: otherwise a later agent would take it for
// the operator's.
func (c *PowerCaps) reconcileWithNotes() error {
	if c.cfg.NotesFile == "" || c.notes.isEmpty() {
		return nil
	}
	now, err := readRestoreNotes(c.cfg.NotesFile)
	before, errs := c.notes, []error{err}
	c.notes = now
	for _, d := range c.devices {
		uuid := d.dev.UUID()
		if _, ours := before.Limits[uuid]; ours && d.limits.Now != d.originalLimit {
			errs = append(errs, c.notes.noteLimit(c.cfg.NotesFile, uuid, d.originalLimit))
		}
		for _, k := range d.clocks() {
			if !slices.Contains(now.Clocks, k.domain.noteKey(d.dev)) {
				k.mhz = 0
			}
		}
	}
	return errors.Join(errs...)
}

// ApplyLimits sets changed limits and returns when to call it again; a device's limit
// changes at most once in MinChangeInterval. Lower limits are set before higher ones, so the
// ceiling holds at every instant. A device that cannot be set is reported once and
// not retried until [PowerCaps.RereadLimits] clears the fault. The time is zero if no change is
// pending.
func (c *PowerCaps) ApplyLimits(now time.Time) (again time.Time, err error) {
	targets, err := c.targetLimits()
	errs := []error{err}
	short := false // a reduction is still pending
	// First all reductions; then increases, but only if no reduction is pending.
	for _, up := range []bool{false, true} {
		for i, d := range c.devices {
			target := targets[i]
			if d.blocked != nil || target == d.limits.Now || (target > d.limits.Now) != up || up && short {
				// Waiting changes are tried when the first of them is due.
				continue
			}
			if due, waits := c.changeDue(d.changed, now); waits {
				short = short || !up
				if again.IsZero() || due.Before(again) {
					again = due
				}
				continue
			}
			if err := c.setLimit(d, target, now); err != nil {
				errs, d.blocked = append(errs, err), err
				short = short || !up
			}
		}
	}
	// A reduction that failed now is tried after the interval.
	if short && again.IsZero() {
		again = now.Add(c.cfg.MinChangeInterval)
	}
	later, err := c.applyClocks(now)
	if again.IsZero() || !later.IsZero() && later.Before(again) {
		again = later
	}
	return again, errors.Join(append(errs, err)...)
}

// changeDue returns when a device may be changed again, and whether that is in the future.
// If the wall clock was set back, the change is not delayed.
func (c *PowerCaps) changeDue(changed, now time.Time) (time.Time, bool) {
	due := changed.Add(c.cfg.MinChangeInterval)
	return due, !changed.IsZero() && !now.Before(changed) && now.Before(due)
}

// targetLimits returns the limit to set for each device. The error says that even the
// lowest limits exceed the ceiling; the lowest limits are returned then.
func (c *PowerCaps) targetLimits() ([]protocol.Milliwatts, error) {
	// Each device's range; power.ShareCeiling divides the ceiling among them.
	wants := make([]power.PowerDemand, len(c.devices))
	ceiling, most := c.effectiveCeiling(), protocol.Milliwatts(0)
	for i, d := range c.devices {
		wants[i] = c.deviceLimitRange(d)
		most += wants[i].Most
	}
	if ceiling == 0 {
		ceiling = most
	}
	limits, ok := power.ShareCeiling(ceiling, wants)
	if !ok {
		return limits, fmt.Errorf("nvml: the lowest limits of all devices together are above the ceiling of %.0f W: raise the ceiling or remove devices", float64(ceiling)/1000)
	}
	return limits, nil
}

// deviceLimitRange returns the range within which a device's limit may be.
func (c *PowerCaps) deviceLimitRange(d *cappedDevice) power.PowerDemand {
	if d.blocked != nil { // its limit cannot change, so the others share the rest
		return power.PowerDemand{Least: d.limits.Now, Most: d.limits.Now}
	}
	// At most the operator's limit, unless AllowRaise permits the driver's default.
	most := d.originalLimit
	if d.want > 0 && c.cfg.AllowRaise {
		most = min(d.want, max(d.originalLimit, d.limits.Default))
	} else if d.want > 0 {
		most = min(d.want, d.originalLimit)
	}
	return power.PowerDemand{Least: d.limits.Least, Most: max(most, d.limits.Least)}
}

// setLimit changes one limit. A change is recorded before it is set, and the record is
// removed after the device's own limit is back, so that a crash in between is
// repaired.
func (c *PowerCaps) setLimit(d *cappedDevice, limit protocol.Milliwatts, now time.Time) error {
	if limit != d.originalLimit {
		if err := c.notes.noteLimit(c.cfg.NotesFile, d.dev.UUID(), d.originalLimit); err != nil {
			return err
		}
	}
	if err := d.dev.SetPowerLimit(limit); err != nil {
		if d.limits.Now == d.originalLimit { // nothing of ours is set, and a later agent must not undo changes of others
			err = errors.Join(err, c.notes.removeLimitNote(c.cfg.NotesFile, d.dev.UUID()))
		}
		return err
	}
	d.limits.Now, d.changed = limit, now
	if limit == d.originalLimit {
		return c.notes.removeLimitNote(c.cfg.NotesFile, d.dev.UUID())
	}
	return nil
}

// RestoreAllDevices sets every device back to its own limit and unlocks its clocks.
func (c *PowerCaps) RestoreAllDevices() error {
	var errs []error
	for _, d := range c.devices {
		for _, k := range d.clocks() {
			if k.mhz != 0 {
				errs = append(errs, c.setClock(d, k, 0))
			}
		}
		if d.limits.Now != d.originalLimit && d.blocked == nil {
			errs = append(errs, c.setLimit(d, d.originalLimit, d.changed))
		}
	}
	return errors.Join(errs...)
}
