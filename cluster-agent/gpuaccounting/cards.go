// Package gpuaccounting controls the GPUs of one machine for the pods that hold them, and attributes energy: it
// keeps the caps that the market awarded below the machine's share of the site's ceiling, and counts each pod's
// part of what its GPUs draw.
//
// Guarantees:
// - energy comes from the devices' own counters. The energy above idle is split among the holders of a device by their shares. Nothing is counted twice, and nothing is lost if the process is killed and restarts;
// - utilization (busy, memory, temperature) is attributed only to a pod that holds a device alone;
// - a device that cannot be read or set is reported once, and the tallies of its pods are marked as incomplete;
// - a device without a holder has its own limit and clock, and no device has a higher limit than its own, which its operator set.
//
// Package cluster-agent/kube/node finds the pods.
package gpuaccounting

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/protocol"
)

// A Holder is a pod that holds devices.
type Holder struct {
	Name  string         // unique name of the pod
	Cards []string       // UUIDs
	Milli protocol.Milli // share of each device, in thousandths
	Plan  podenergy.Plan
	Tally podenergy.Tally // counted before, read from the pod
	Since protocol.Time   // when it started, by the machine's clock; 0: not yet or unknown
}

// A State is the state of a holder's devices, for the pod's condition.
type State struct { // whether the cap is in force
	Set bool   // its cap is kept
	Why string // one word, such as "NotPermitted"
	Say string // one sentence
}

// Config configures the control of devices. The zero value is valid.
type Config struct {
	Caps nvml.CapsConfig
	// Clock returns the clock in MHz that implements a cap on a device of a model, or 0 if a power limit does: see
	// [nvml.Curve.Clock]. Nil means power limits only.
	Clock func(model string, cap protocol.Milliwatts) int
}

// Cards controls the GPUs of one machine. Create it with [New]. It is not safe for concurrent use.
type Cards struct {
	cfg   Config
	caps  *nvml.Caps
	all   []nvml.Device
	holds map[string]*hold
	lost  map[string]error // last read error of a device; nil: it was read
	draws map[string]draw  // energy of devices without an energy counter
	read  map[string]nvml.Reading
}

// A hold is a holder with the counters of its devices at the last count.
type hold struct {
	Holder
	marks map[string]mark
	state map[string]error // why a cap is not in force, by device
	fresh bool             // adopted after the last count
}

// A mark is the state of an energy counter at an instant.
type mark struct {
	at     protocol.Time
	energy protocol.Millijoules
}

// A draw integrates the power of a device without an energy counter.
type draw struct {
	mark
	power protocol.Milliwatts
}

// New takes control of the devices of a machine and restores limits that a previous agent left changed. The error
// names devices whose limits cannot be read; the others are controlled.
func New(devices []nvml.Device, cfg Config) (*Cards, error) {
	caps, err := nvml.NewCaps(devices, cfg.Caps)
	return &Cards{
		cfg: cfg, caps: caps, all: devices, holds: make(map[string]*hold), lost: make(map[string]error), draws: make(map[string]draw), read: make(map[string]nvml.Reading),
	}, err
}

// UUID returns the UUID of the device with the driver's index.
func (c *Cards) UUID(index int) (string, bool) {
	for _, d := range c.all {
		if d.Index() == index {
			return d.UUID(), true
		}
	}
	return "", false
}

// Limits returns the power limits of all devices, for sharing a ceiling among machines.
func (c *Cards) Limits() *nvml.Caps { return c.caps }

// Keep takes the current holders, attributes the energy drawn since the last call, and sets limits. It returns when
// to call it again to set pending limits (zero: none pending), and the errors that are new.
func (c *Cards) Keep(now protocol.Time, holders []Holder) (again time.Time, err error) {
	errs := []error{c.adopt(now, holders), c.count(now)}
	for name := range c.holds {
		if !slices.ContainsFunc(holders, func(h Holder) bool { return h.Name == name }) {
			// The removed holders were counted just before.
			delete(c.holds, name)
		}
	}
	errs = append(errs, c.caps.Refresh())
	c.want()
	again, err = c.caps.Apply(now.Go())
	c.want() // once more, because Apply found what cannot be set
	return again, errors.Join(append(errs, err)...)
}

// unseen is for how long a holder may have run before its first count without being marked as incomplete: the
// notification of a pod takes a moment.
const unseen = 15 * time.Second

// adopt adds new holders. A holder with an earlier tally gets all energy since that tally; a new one gets energy
// from now on.
func (c *Cards) adopt(now protocol.Time, holders []Holder) error {
	var errs []error
	for _, x := range holders {
		if c.holds[x.Name] != nil {
			continue
		}
		h := &hold{Holder: x, marks: make(map[string]mark), state: make(map[string]error), fresh: len(x.Tally.Counters) == 0}
		for _, uuid := range x.Cards {
			energy, before := x.Tally.Counters[uuid]
			if before && c.device(uuid) != nil {
				h.marks[uuid] = mark{x.Tally.Until, energy}
				continue
			}
			if e, err := c.energy(now, uuid); err == nil {
				h.marks[uuid] = mark{now, e}
			} else {
				c.lost[uuid] = err
				h.Tally.Miss(err.Error())
				errs = append(errs, err)
			}
		}
		if h.fresh && x.Since != 0 && now.Sub(x.Since) > unseen {
			h.Tally.Miss(fmt.Sprintf("the job ran for %v before its cards were read", now.Sub(x.Since)))
		}
		h.Tally.Until = max(h.Tally.Until, now)
		c.holds[x.Name] = h
	}
	return errors.Join(errs...)
}

// count attributes to each holder its part of the energy that its devices drew since the last count.
func (c *Cards) count(now protocol.Time) error {
	var errs []error
	for _, d := range c.all {
		uuid := d.UUID()
		on := c.on(uuid)
		if len(on) == 0 {
			delete(c.draws, uuid)
			continue
		}
		energy, err := c.energy(now, uuid)
		if err != nil && (c.lost[uuid] == nil || c.lost[uuid].Error() != err.Error()) {
			errs = append(errs, err)
		}
		c.lost[uuid] = err
		var all protocol.Milli
		for _, h := range on {
			if !h.fresh { // energy until now belongs to earlier holders
				all += h.Milli
			}
		}
		for _, h := range on {
			switch {
			case err != nil:
				h.Tally.Miss(err.Error())
			case h.fresh:
				h.note(now, uuid, energy)
			default:
				h.take(now, uuid, energy, all)
			}
		}
		if r := c.read[uuid]; err == nil && len(on) == 1 { // with several holders the utilization cannot be attributed
			on[0].Tally.Looks.See(r.Busy, r.Used, r.Temperature)
		}
	}
	for _, h := range c.holds {
		h.Tally.Until, h.fresh = max(h.Tally.Until, now), false
	}
	return errors.Join(errs...)
}

// note stores a device's counter and returns the previous mark, if there is one.
func (h *hold) note(now protocol.Time, uuid string, energy protocol.Millijoules) (m mark, ok bool) {
	m, ok = h.marks[uuid]
	h.marks[uuid] = mark{now, energy}
	if h.Tally.Counters == nil {
		h.Tally.Counters = make(map[string]protocol.Millijoules)
	}
	h.Tally.Counters[uuid] = energy
	return m, ok
}

// take adds a holder's part of a device's energy since the last mark. The idle draw is the site's, so it is
// subtracted first.
func (h *hold) take(now protocol.Time, uuid string, energy protocol.Millijoules, all protocol.Milli) {
	switch m, ok := h.note(now, uuid, energy); {
	case !ok || now < m.at:
		h.Tally.Miss("card " + uuid + " was not read when the job began")
	case energy < m.energy:
		h.Tally.Miss("the energy counter of card " + uuid + " began anew")
	default:
		idle := protocol.Millijoules(int64(h.Plan.Idle) * int64(now-m.at) / 1000)
		mine := max(0, energy-m.energy-idle) * protocol.Millijoules(h.Milli) / protocol.Millijoules(max(all, 1))
		h.Tally.Add(m.at, now, mine)
	}
}

// energy returns the energy of a device since some fixed instant: its own counter or, without one, its integrated
// power by the trapezoidal rule.
func (c *Cards) energy(now protocol.Time, uuid string) (protocol.Millijoules, error) {
	card := c.device(uuid)
	if card == nil {
		return 0, fmt.Errorf("gpuaccounting: %s: %w", uuid, errAbsent)
	}
	r, err := card.Read()
	if err != nil {
		return 0, err
	}
	c.read[uuid] = r
	if !slices.Contains(r.Missing, "energy") {
		return r.Energy, nil
	}
	if slices.Contains(r.Missing, "power") {
		return 0, fmt.Errorf("gpuaccounting: card %s reports neither energy nor power: %w", uuid, nvml.ErrNotSupported)
	}
	d, ok := c.draws[uuid]
	if ok && now > d.at {
		d.energy += protocol.Millijoules(int64(d.power+r.Power) / 2 * int64(now-d.at) / 1000)
	}
	d.at, d.power = now, r.Power
	c.draws[uuid] = d
	return d.energy, nil
}

// errAbsent is returned for a device that did not exist when Cards was created: it has fallen off the bus or
// belongs to another machine.
var errAbsent = errors.New("no such card on this machine")

// device returns the device with a UUID, or nil.
func (c *Cards) device(uuid string) nvml.Device {
	i := slices.IndexFunc(c.all, func(d nvml.Device) bool { return d.UUID() == uuid })
	if i < 0 {
		return nil
	}
	return c.all[i]
}

// on returns the holders of a device, by name.
func (c *Cards) on(uuid string) (on []*hold) {
	for _, h := range c.holds {
		if slices.Contains(h.Cards, uuid) {
			on = append(on, h)
		}
	}
	slices.SortFunc(on, func(x, y *hold) int { return strings.Compare(x.Name, y.Name) })
	return on
}

// want sets the cap of each device: the highest cap of its holders, because a higher limit than awarded only makes
// a job faster. A holder without a cap removes the limit.
func (c *Cards) want() {
	for _, d := range c.all {
		limit, clock := protocol.Milliwatts(0), 0
		for i, h := range c.on(d.UUID()) {
			mine, mhz := h.Plan.Cap, c.clock(d, h)
			if mhz > 0 {
				mine = 0 // a locked clock implements it
			}
			if i == 0 {
				limit, clock = mine, mhz
				continue
			}
			if limit > 0 {
				limit = max(limit, mine)
			}
			if mine == 0 {
				limit = 0
			}
			if clock > 0 {
				clock = max(clock, mhz)
			}
			if mhz == 0 {
				clock = 0
			}
		}
		err := errors.Join(c.caps.Want(d.UUID(), limit), c.caps.WantClock(d.UUID(), clock))
		if limit == 0 && clock == 0 {
			err = nil // nothing is wanted, so nothing failed
		}
		for _, h := range c.on(d.UUID()) {
			h.state[d.UUID()] = err
			if err == nil && !c.kept(d, h, limit, clock) {
				h.state[d.UUID()] = fmt.Errorf("gpuaccounting: card %s: %w", d.UUID(), errHigher)
			}
		}
	}
}

// errHigher is the state of a cap that is not in force because another holder of the device has a higher one.
var errHigher = errors.New("another job holds it under a higher cap or without a cap, which takes precedence")

// kept reports whether limit and clock of a device (0: none) implement a holder's cap.
func (c *Cards) kept(d nvml.Device, h *hold, limit protocol.Milliwatts, clock int) bool {
	if mhz := c.clock(d, h); mhz > 0 {
		return clock > 0 && clock <= mhz
	}
	return h.Plan.Cap == 0 || limit > 0 && limit <= h.Plan.Cap
}

// clock returns the clock in MHz that implements a holder's cap on a device; 0: a power limit does, or there is no
// cap.
func (c *Cards) clock(d nvml.Device, h *hold) int {
	if c.cfg.Clock == nil || h.Plan.Cap == 0 {
		return 0
	}
	return c.cfg.Clock(d.Model(), h.Plan.Cap)
}

// State returns the state of a holder's devices, by the first device with a fault.
func (c *Cards) State(name string) State {
	h := c.holds[name]
	if h == nil {
		return State{Why: "Unknown", Say: "no pod with that name holds cards"}
	}
	for _, uuid := range h.Cards {
		err := h.state[uuid]
		if err == nil {
			err = c.lost[uuid]
		}
		if err == nil {
			continue
		}
		why := "CannotBeSet"
		for _, k := range []struct {
			err  error
			word string
		}{{nvml.ErrNotPermitted, "NotPermitted"}, {nvml.ErrLost, "CardLost"}, {errAbsent, "CardLost"}, {nvml.ErrNotSupported, "NotSupported"}, {errHigher, "Shared"}} {
			if errors.Is(err, k.err) {
				why = k.word
			}
		}
		return State{Why: why, Say: err.Error()}
	}
	if h.Plan.Cap == 0 {
		return State{Set: true, Why: "NoCap", Say: "no cap; cards have their own limits: " + strings.Join(h.Cards, ", ")}
	}
	return State{Set: true, Why: "Capped", Say: fmt.Sprintf("each of %s is capped at %.0f W", strings.Join(h.Cards, ", "), float64(h.Plan.Cap)/1000)}
}

// Tally returns what a holder drew, as of the last Keep.
func (c *Cards) Tally(name string) (podenergy.Tally, bool) {
	h := c.holds[name]
	if h == nil {
		return podenergy.Tally{}, false
	}
	return h.Tally, true
}

// Restore restores all limits and clocks.
func (c *Cards) Restore() error { return c.caps.Restore() }
