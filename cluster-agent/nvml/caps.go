package nvml

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/power"
	"github.com/gridbid/gridbid/protocol"
)

// A CapsConfig is how a site's power limits are kept.
type CapsConfig struct {
	Ceiling protocol.Milliwatts // of all devices together; 0: none
	Every   time.Duration       // least time between two changes of one device; default 1 s
	File    string              // where lowered limits are noted, for who comes after a crash
}

// Caps sets the power limits of a site's devices: to what the jobs on them were
// awarded, and below a common ceiling. Make it with [NewCaps], and Restore when
// done. It is for one goroutine.
type Caps struct {
	cfg     CapsConfig
	devices []*capped
	noted   map[string]protocol.Milliwatts // defaults of lowered devices, by UUID
}

// A capped device is one whose limit is kept.
type capped struct {
	dev     Device
	limits  Limits
	want    protocol.Milliwatts // of its job; 0: no cap
	changed time.Time
	blocked error // why it cannot be set; it is not tried again
}

// NewCaps reads the devices' limits and puts back what a former agent left lowered.
// Devices whose limits cannot be read are left alone; the error names them, and
// the caps of the others can be used all the same.
func NewCaps(devices []Device, cfg CapsConfig) (*Caps, error) {
	if cfg.Every == 0 {
		cfg.Every = time.Second
	}
	c := &Caps{cfg: cfg, noted: make(map[string]protocol.Milliwatts)}
	var errs []error
	if cfg.File != "" {
		left, err := restore(devices, cfg.File)
		maps.Copy(c.noted, left)
		errs = append(errs, err)
	}
	for _, d := range devices {
		l, err := d.Limits()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.devices = append(c.devices, &capped{dev: d, limits: l})
	}
	return c, errors.Join(errs...)
}

// Want notes what a device's job was awarded: a limit, or 0 for none. It is set
// by the next Apply. A limit that the device does not allow is brought into its
// bounds; a job under a higher limit than awarded is only faster.
func (c *Caps) Want(uuid string, limit protocol.Milliwatts) error {
	for _, d := range c.devices {
		if d.dev.UUID() == uuid {
			d.want = limit
			return d.blocked
		}
	}
	return fmt.Errorf("nvml: no device %q whose limit can be set", uuid)
}

// Apply sets what has changed, and returns when to come again: a device's limit
// is changed once in Every. Limits that go down are set before others go up, so
// the ceiling holds at every instant. A device that may not be set, or is lost, is
// named once and left alone from then on. The time is zero if nothing waits.
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
			if due := d.changed.Add(c.cfg.Every); !d.changed.IsZero() && now.Before(due) {
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
	return again, errors.Join(errs...)
}

// targets returns the limit of each device.
func (c *Caps) targets() ([]protocol.Milliwatts, error) {
	wants := make([]power.Want, len(c.devices))
	ceiling := c.cfg.Ceiling
	for i, d := range c.devices {
		most := d.limits.Default
		if d.want > 0 {
			most = max(d.limits.Least, min(d.want, d.limits.Default))
		}
		wants[i] = power.Want{Least: d.limits.Least, Most: max(most, d.limits.Least)}
		if d.blocked != nil { // it draws what it is allowed to now
			wants[i] = power.Want{Least: d.limits.Now, Most: d.limits.Now}
		}
		if c.cfg.Ceiling == 0 {
			ceiling += wants[i].Most
		}
	}
	limits, ok := power.Share(ceiling, wants)
	if !ok {
		return limits, fmt.Errorf("nvml: the lowest limits of all devices together are above the ceiling of %.0f W: raise it, or take devices out", float64(c.cfg.Ceiling)/1000)
	}
	return limits, nil
}

// set changes one limit. What is lowered is noted before, and struck out after
// its default is back.
func (c *Caps) set(d *capped, limit protocol.Milliwatts, now time.Time) error {
	if limit != d.limits.Default {
		if err := c.note(d.dev.UUID(), d.limits.Default); err != nil {
			return err
		}
	}
	if err := d.dev.SetLimit(limit); err != nil {
		return err
	}
	d.limits.Now, d.changed = limit, now
	if limit == d.limits.Default {
		return c.strike(d.dev.UUID())
	}
	return nil
}

// Restore gives every device its default limit back, whatever is wanted.
func (c *Caps) Restore() error {
	var errs []error
	for _, d := range c.devices {
		if d.limits.Now != d.limits.Default && d.blocked == nil {
			errs = append(errs, c.set(d, d.limits.Default, d.changed))
		}
	}
	return errors.Join(errs...)
}

func (c *Caps) note(uuid string, limit protocol.Milliwatts) error {
	if _, ok := c.noted[uuid]; ok || c.cfg.File == "" {
		return nil
	}
	c.noted[uuid] = limit
	return write(c.cfg.File, c.noted)
}

func (c *Caps) strike(uuid string) error {
	if _, ok := c.noted[uuid]; !ok || c.cfg.File == "" {
		return nil
	}
	delete(c.noted, uuid)
	return write(c.cfg.File, c.noted)
}

// restore sets the defaults that stand in a file, and strikes them out. What is
// left are devices that are not here, or could not be set.
func restore(devices []Device, file string) (left map[string]protocol.Milliwatts, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("nvml: %w", err)
	}
	if err := json.Unmarshal(text, &left); err != nil {
		return nil, fmt.Errorf("nvml: %s is not what an agent wrote: %w: set the limits of the devices by hand (nvidia-smi -pl) and delete it", file, err)
	}
	var errs []error
	for _, d := range devices {
		limit, ok := left[d.UUID()]
		if !ok {
			continue
		}
		if err := d.SetLimit(limit); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(left, d.UUID())
	}
	return left, errors.Join(append(errs, write(file, left))...)
}

// write replaces a file whole. Limits that are lowered must be noted on disk
// before they are, so it is synced.
func write(file string, noted map[string]protocol.Milliwatts) error {
	if len(noted) == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("nvml: %w", err)
		}
		return nil
	}
	text, err := json.Marshal(noted)
	if err != nil {
		return fmt.Errorf("nvml: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".limits-*")
	if err != nil {
		return fmt.Errorf("nvml: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("nvml: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// Lowered returns the devices whose limits are noted as lowered, by UUID.
func (c *Caps) Lowered() []string { return slices.Sorted(maps.Keys(c.noted)) }
