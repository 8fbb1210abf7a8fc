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
	Ceiling protocol.Milliwatts // of all devices of this machine together; 0: none
	Every   time.Duration       // minimum time between two changes of one device; default 1 s
	File    string              // where changed limits are recorded, for recovery after a crash; "": nowhere
	Raise   bool                // whether a limit may exceed the device's own one, up to its default
}

// Caps controls the power limits of a machine's devices: it sets the caps awarded to their jobs, keeps the sum
// below a common ceiling, and locks clocks where a job's cap requires that. Create it with [NewCaps] and call
// Restore at the end. It is not safe for concurrent use.
type Caps struct {
	cfg     CapsConfig
	part    protocol.Milliwatts // share of a ceiling of several machines; 0: none
	devices []*capped
	notes   notes
}

// A capped device is one whose limit Caps controls.
type capped struct {
	dev     Device
	limits  Limits
	own     protocol.Milliwatts // set by the operator; jobs get at most that, unless Raise
	want    protocol.Milliwatts // cap of its job; 0: no cap
	changed time.Time
	blocked error // why its limit cannot be set; not retried until Refresh clears it
	unread  bool  // blocked by a failed read; Refresh clears it after a successful one

	clock, wantClock int // MHz; 0: not locked; -1: unknown
	clocked          time.Time
	unclocked        error // why its clock cannot be locked; not retried
}

// NewCaps reads the devices' limits and restores those that a previous agent left changed. The limit found then is
// the device's own, chosen by its operator; if the record of the previous agent is missing or unreadable, it is the
// driver's default. Devices whose limits cannot be read are not controlled; the error names them, and the returned
// Caps controls the others.
func NewCaps(devices []Device, cfg CapsConfig) (*Caps, error) {
	if cfg.Every == 0 {
		cfg.Every = time.Second
	}
	c := &Caps{cfg: cfg}
	var errs []error
	told := false // whether the record of a previous agent could be read
	if cfg.File != "" {
		var err error
		c.notes, err = readNotes(cfg.File)
		told = err == nil
		errs = append(errs, err, c.notes.restore(devices, cfg.File))
	}
	for _, d := range devices {
		l, err := d.Limits()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		own, noted := c.notes.Limits[d.UUID()]
		switch {
		case told && !noted:
			own = l.Now
		case !noted:
			own = l.Default
		}
		c.devices = append(c.devices, &capped{dev: d, limits: l, own: max(own, l.Least)})
	}
	return c, errors.Join(errs...)
}

// Want records the cap of a device's job, or 0 for none; the next Apply sets it. A cap outside the device's limits
// is clamped: a higher limit than awarded only makes the job faster. Unless Raise is set, no limit exceeds the
// device's own.
func (c *Caps) Want(uuid string, limit protocol.Milliwatts) error {
	d, err := c.device(uuid)
	if err != nil {
		return err
	}
	d.want = limit
	return d.blocked
}

// WantClock records the clock in MHz to which a device is to be locked, or 0 for none; the next Apply locks it.
func (c *Caps) WantClock(uuid string, mhz int) error {
	d, err := c.device(uuid)
	if err != nil {
		return err
	}
	d.wantClock = mhz
	return d.unclocked
}

func (c *Caps) device(uuid string) (*capped, error) {
	for _, d := range c.devices {
		if d.dev.UUID() == uuid {
			return d, nil
		}
	}
	return nil, fmt.Errorf("nvml: no controlled device has the UUID %q", uuid)
}

// SetPart sets this machine's share of a ceiling that several machines share; 0 means that there is none. The next
// Apply keeps both this and the machine's own ceiling.
func (c *Caps) SetPart(part protocol.Milliwatts) { c.part = part }

// ceiling returns the lower of the two ceilings; 0: there is none.
func (c *Caps) ceiling() protocol.Milliwatts {
	if c.part == 0 || c.cfg.Ceiling == 0 {
		return max(c.part, c.cfg.Ceiling)
	}
	return min(c.part, c.cfg.Ceiling)
}

// Len returns the number of controlled devices.
func (c *Caps) Len() int { return len(c.devices) }

// Total returns the sum of the limits that are set now.
func (c *Caps) Total() (sum protocol.Milliwatts) {
	for _, d := range c.devices {
		sum += d.limits.Now
	}
	return sum
}

// Wants returns the lowest possible sum of all limits, and the sum that they would have without a ceiling of
// several machines.
func (c *Caps) Wants() (w power.Want) {
	for _, d := range c.devices {
		x := c.asks(d)
		w.Least, w.Most = w.Least+x.Least, w.Most+x.Most
	}
	if c.cfg.Ceiling > 0 {
		w.Most = max(w.Least, min(w.Most, c.cfg.Ceiling))
	}
	return w
}

// Refresh reads the devices' limits anew, because others set limits too, and a guard that took this agent for dead
// restores them. The next Apply sets what is wanted. On a device with no change of ours, a changed limit becomes
// the device's own. A device that cannot be read is reported once and is controlled again after a successful read:
// it may have been reset.
func (c *Caps) Refresh() error {
	var errs []error
	for _, d := range c.devices {
		l, err := d.dev.Limits()
		if err != nil {
			if d.blocked == nil {
				d.blocked = err
				errs = append(errs, err)
			}
			d.unread = true
			continue
		}
		if _, ours := c.notes.Limits[d.dev.UUID()]; !ours && d.limits.Now == d.own && c.cfg.File != "" {
			d.own = max(l.Now, l.Least)
		}
		d.limits = l
		if d.unread {
			d.unread, d.blocked, d.unclocked = false, nil, nil
			if d.clock != 0 {
				d.clock = -1
			}
		}
	}
	return errors.Join(append(errs, c.reread())...)
}

// reread reloads the record, from which a guard removes what it restored. A limit that is still changed is recorded
// again: otherwise a later agent would take it for the operator's.
func (c *Caps) reread() error {
	if c.cfg.File == "" || c.notes.empty() {
		return nil
	}
	now, err := readNotes(c.cfg.File)
	before, errs := c.notes, []error{err}
	c.notes = now
	for _, d := range c.devices {
		uuid := d.dev.UUID()
		if _, ours := before.Limits[uuid]; ours && d.limits.Now != d.own {
			errs = append(errs, c.notes.limit(c.cfg.File, uuid, d.own))
		}
		if !slices.Contains(now.Clocks, uuid) {
			d.clock = 0
		}
	}
	return errors.Join(errs...)
}

// Apply sets changed limits and returns when to call it again; a device's limit changes at most once in Every.
// Lower limits are set before higher ones, so the ceiling holds at every instant. A device that cannot be set is
// reported once and not retried until [Caps.Refresh] clears the fault. The time is zero if no change is pending.
func (c *Caps) Apply(now time.Time) (again time.Time, err error) {
	targets, err := c.targets()
	errs := []error{err}
	short := false // a reduction is still pending
	for _, up := range []bool{false, true} {
		for i, d := range c.devices {
			target := targets[i]
			if d.blocked != nil || target == d.limits.Now || (target > d.limits.Now) != up || up && short {
				continue
			}
			if due, waits := c.due(d.changed, now); waits {
				short = short || !up
				if again.IsZero() || due.Before(again) {
					again = due
				}
				continue
			}
			if err := c.set(d, target, now); err != nil {
				errs, d.blocked = append(errs, err), err
				short = short || !up
			}
		}
	}
	if short && again.IsZero() {
		again = now.Add(c.cfg.Every)
	}
	later, err := c.applyClocks(now)
	if again.IsZero() || !later.IsZero() && later.Before(again) {
		again = later
	}
	return again, errors.Join(append(errs, err)...)
}

// due returns when a device may be changed again, and whether that is in the future. If the wall clock was set
// back, the change is not delayed.
func (c *Caps) due(changed, now time.Time) (time.Time, bool) {
	due := changed.Add(c.cfg.Every)
	return due, !changed.IsZero() && !now.Before(changed) && now.Before(due)
}

// applyClocks locks and unlocks clocks, each device's at most once in Every.
func (c *Caps) applyClocks(now time.Time) (again time.Time, err error) {
	var errs []error
	for _, d := range c.devices {
		if d.unclocked != nil || d.clock == d.wantClock {
			continue
		}
		if due, waits := c.due(d.clocked, now); waits {
			if again.IsZero() || due.Before(again) {
				again = due
			}
			continue
		}
		if err := c.hold(d, d.wantClock); err != nil {
			errs, d.unclocked = append(errs, err), err
			continue
		}
		d.clocked = now
	}
	return again, errors.Join(errs...)
}

// hold locks a device's clock, or unlocks it with 0. A lock is recorded before it is set, and the record is removed
// after the unlock, so that a crash in between is repaired.
func (c *Caps) hold(d *capped, mhz int) error {
	if mhz == 0 {
		if err := d.dev.UnlockClocks(); err != nil {
			return err
		}
		d.clock = 0
		return c.notes.strikeClock(c.cfg.File, d.dev.UUID())
	}
	if err := c.notes.clock(c.cfg.File, d.dev.UUID()); err != nil {
		return err
	}
	if err := d.dev.LockClocks(mhz, mhz); err != nil {
		if d.clock == 0 { // the clock is not locked
			err = errors.Join(err, c.notes.strikeClock(c.cfg.File, d.dev.UUID()))
		}
		return err
	}
	d.clock = mhz
	return nil
}

// targets returns the limit to set for each device. The error says that even the lowest limits exceed the ceiling;
// the lowest limits are returned then.
func (c *Caps) targets() ([]protocol.Milliwatts, error) {
	wants := make([]power.Want, len(c.devices))
	ceiling, most := c.ceiling(), protocol.Milliwatts(0)
	for i, d := range c.devices {
		wants[i] = c.asks(d)
		most += wants[i].Most
	}
	if ceiling == 0 {
		ceiling = most
	}
	limits, ok := power.Share(ceiling, wants)
	if !ok {
		return limits, fmt.Errorf("nvml: the lowest limits of all devices together are above the ceiling of %.0f W: raise the ceiling or remove devices", float64(ceiling)/1000)
	}
	return limits, nil
}

// asks returns the range within which a device's limit may be.
func (c *Caps) asks(d *capped) power.Want {
	if d.blocked != nil { // its limit cannot change, so the others share the rest
		return power.Want{Least: d.limits.Now, Most: d.limits.Now}
	}
	most := d.own
	if d.want > 0 && c.cfg.Raise {
		most = min(d.want, max(d.own, d.limits.Default))
	} else if d.want > 0 {
		most = min(d.want, d.own)
	}
	return power.Want{Least: d.limits.Least, Most: max(most, d.limits.Least)}
}

// set changes one limit. A change is recorded before it is set, and the record is removed after the device's own
// limit is back, so that a crash in between is repaired.
func (c *Caps) set(d *capped, limit protocol.Milliwatts, now time.Time) error {
	if limit != d.own {
		if err := c.notes.limit(c.cfg.File, d.dev.UUID(), d.own); err != nil {
			return err
		}
	}
	if err := d.dev.SetLimit(limit); err != nil {
		if d.limits.Now == d.own { // nothing of ours is set, and a later agent must not undo changes of others
			err = errors.Join(err, c.notes.strikeLimit(c.cfg.File, d.dev.UUID()))
		}
		return err
	}
	d.limits.Now, d.changed = limit, now
	if limit == d.own {
		return c.notes.strikeLimit(c.cfg.File, d.dev.UUID())
	}
	return nil
}

// Restore sets every device back to its own limit and unlocks its clocks.
func (c *Caps) Restore() error {
	var errs []error
	for _, d := range c.devices {
		if d.clock != 0 && d.unclocked == nil {
			errs = append(errs, c.hold(d, 0))
		}
		if d.limits.Now != d.own && d.blocked == nil {
			errs = append(errs, c.set(d, d.own, d.changed))
		}
	}
	return errors.Join(errs...)
}
