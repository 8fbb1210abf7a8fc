package nvml

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A CapsConfig is how a site's power limits are kept.
type CapsConfig struct {
	Ceiling protocol.Milliwatts // of all devices together; 0: none
	Every   time.Duration       // least time between two changes of one device; default 1 s
	File    string              // where changed limits are noted, for who comes after a crash
	Raise   bool                // a limit may be set above a device's own, up to its default
}

// Caps sets the power limits of a machine's devices: to what the jobs on them were
// awarded, and below a common ceiling; and holds clocks where a job asks for that.
// Make it with [NewCaps], and Restore when done. It is for one goroutine.
type Caps struct {
	cfg     CapsConfig
	part    protocol.Milliwatts // of a ceiling of several machines; 0: none
	devices []*capped
	notes   notes
}

// A capped device is one whose limit is kept.
type capped struct {
	dev     Device
	limits  Limits
	own     protocol.Milliwatts // what others set it to: nobody's job has more
	want    protocol.Milliwatts // of its job; 0: no cap
	changed time.Time
	blocked error // why its limit cannot be set; it is not tried again
	unread  bool  // because it could not be read; it is tried again once it can

	clock, wantClock int // MHz; 0: as the device likes; -1: not known
	clocked          time.Time
	unclocked        error // why its clock cannot be held; it is not tried again
}

// NewCaps reads the devices' limits and puts back what a former agent left lowered.
// What is found then is a device's own limit, which its operator chose; where nothing
// can tell what a former agent did, it is the driver's default.
// Devices whose limits cannot be read are left alone; the error names them, and
// the caps of the others can be used all the same.
func NewCaps(devices []Device, cfg CapsConfig) (*Caps, error) {
	if cfg.Every == 0 {
		cfg.Every = time.Second
	}
	c := &Caps{cfg: cfg}
	var errs []error
	told := false // of what a former agent did
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

// Want notes what a device's job was awarded: a limit, or 0 for none. It is set
// by the next Apply. A limit that the device does not allow is brought into its
// bounds; a job under a higher limit than awarded is only faster. None is set above
// the device's own.
func (c *Caps) Want(uuid string, limit protocol.Milliwatts) error {
	d, err := c.device(uuid)
	if err != nil {
		return err
	}
	d.want = limit
	return d.blocked
}

// WantClock notes at which clock in MHz a device's job is to be held, or 0 for
// none. It is set by the next Apply.
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
	return nil, fmt.Errorf("nvml: no device %q whose limit can be set", uuid)
}

// SetPart sets what these devices have of a ceiling that is shared with other machines,
// beside their own; 0 is no such ceiling. The next Apply keeps both.
func (c *Caps) SetPart(part protocol.Milliwatts) { c.part = part }

// ceiling is the lower of the two; 0: there is none.
func (c *Caps) ceiling() protocol.Milliwatts {
	if c.part == 0 || c.cfg.Ceiling == 0 {
		return max(c.part, c.cfg.Ceiling)
	}
	return min(c.part, c.cfg.Ceiling)
}

// Len returns how many devices' limits are kept.
func (c *Caps) Len() int { return len(c.devices) }

// Total returns what the limits of all devices allow now, together.
func (c *Caps) Total() (sum protocol.Milliwatts) {
	for _, d := range c.devices {
		sum += d.limits.Now
	}
	return sum
}

// Wants returns the least that all limits together can be, and the most that
// they would be without a ceiling of several machines.
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

// Refresh reads again what is set: others set limits too, and a guard that
// thought its agent dead has put them back. The next Apply sets what is wanted. Where
// nothing was changed by us, what others set is the device's own limit from then on. A
// device that cannot be read is named once, and kept again when it can: it may have
// been reset.
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

// reread takes in what a guard struck out of the notes, because it put it back. What is
// not back is noted again: who came after us would take it for its operator's.
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

// Apply sets what has changed, and returns when to come again: a device's limit
// is changed once in Every. Limits that go down are set before others go up, so
// the ceiling holds at every instant. A device that may not be set, or is lost, is
// named once and left alone from then on, or until [Caps.Refresh] finds it again. The
// time is zero if nothing waits.
func (c *Caps) Apply(now time.Time) (again time.Time, err error) {
	targets, err := c.targets()
	errs := []error{err}
	short := false // something that should go down did not yet
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

// due returns when a device may be changed again that was changed at an instant, and
// whether that is to be waited for. A clock that was set back makes none wait.
func (c *Caps) due(changed, now time.Time) (time.Time, bool) {
	due := changed.Add(c.cfg.Every)
	return due, !changed.IsZero() && !now.Before(changed) && now.Before(due)
}

// applyClocks holds and lets go clocks, each device's once in Every.
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

// hold holds a device's clock, or lets it go with 0. What is held is noted
// before, and struck out after it was let go.
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
		if d.clock == 0 { // nothing is held
			err = errors.Join(err, c.notes.strikeClock(c.cfg.File, d.dev.UUID()))
		}
		return err
	}
	d.clock = mhz
	return nil
}

// targets returns the limit of each device.
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
		return limits, fmt.Errorf("nvml: the lowest limits of all devices together are above the ceiling of %.0f W: raise it, or take devices out", float64(ceiling)/1000)
	}
	return limits, nil
}

// asks is what a device's limit may be.
func (c *Caps) asks(d *capped) power.Want {
	if d.blocked != nil { // it draws what it is allowed to now
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

// set changes one limit. What is changed is noted before, and struck out after
// the device's own is back.
func (c *Caps) set(d *capped, limit protocol.Milliwatts, now time.Time) error {
	if limit != d.own {
		if err := c.notes.limit(c.cfg.File, d.dev.UUID(), d.own); err != nil {
			return err
		}
	}
	if err := d.dev.SetLimit(limit); err != nil {
		if d.limits.Now == d.own { // nothing of ours is set, and others may set theirs
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

// Restore gives every device its own limit and its clocks back, whatever is
// wanted.
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
