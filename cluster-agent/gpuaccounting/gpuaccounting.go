// Package gpuaccounting controls the GPUs of one machine for the pods that hold them,
// and attributes energy: it keeps the caps that the market awarded below the
// machine's share of the site's ceiling, and counts each pod's part of what its GPUs
// draw.
//
// Guarantees:
//   - energy comes from the devices' own counters. The energy above idle is split
//     among the holders of a device by their shares. Nothing is counted twice, and
//     nothing is lost if the process is killed and restarts;
//   - utilization (busy, memory, temperature) is attributed only to a pod that holds
//     a device alone;
//   - a device that cannot be read or set is reported once, and the tallies of its
//     pods are marked as incomplete;
//   - a device without a holder has its own limit and clock (its lowest clocks, if
//     Config.IdleClocks says so), and no device has a higher limit than its own, which
//     its operator set.
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

// A PodGPUs is a pod that holds devices.
type PodGPUs struct {
	Name         string         // unique name of the pod
	UUIDs        []string       // of its devices
	Milli        protocol.Milli // share of each device, in thousandths
	PowerPlan    podenergy.PowerPlan
	Tally        podenergy.EnergyTally // counted before, read from the pod
	RunningSince protocol.Time         // when it started, by the machine's clock; 0: not yet or unknown
}

// A CapStatus says whether a holder's cap is enforced, for the pod's condition.
type CapStatus struct {
	CapEnforced bool   // on all its devices
	Reason      string // one word, such as "NotPermitted"
	Message     string // one sentence
}

// Config configures the control of devices. The zero value is valid.
type Config struct {
	Caps nvml.CapsConfig
	// Clock returns the clock in MHz that implements a cap on a device of a model, or
	// 0 if a power limit does: see [nvml.PowerCurve.ClockForCap]. Nil means power limits only.
	Clock func(model string, cap protocol.Milliwatts) int
	// IdleClocks locks the clocks of unused devices to their lowest ones, once
	// [GPUs.SetHoldersKnown] has said that the holders are known.
	IdleClocks bool
}

// GPUs controls the GPUs of one machine. Create it with [New]. It is not safe for
// concurrent use.
type GPUs struct {
	cfg            Config
	caps           *nvml.PowerCaps
	devices        []nvml.Device
	podsByName     map[string]*podAccount
	readErrors     map[string]error         // last read error of a device; nil: it was read
	powerIntegrals map[string]powerIntegral // energy of devices without an energy counter
	lastReadings   map[string]nvml.Reading
	idle           idleDevices
}

// A podAccount is a holder with the counters of its devices at the last count.
type podAccount struct {
	PodGPUs
	counterMarks  map[string]counterMark
	capErrors     map[string]error // why a cap is not in force, by device
	newSinceCount bool             // adopted after the last count
}

// A counterMark is the state of an energy counter at an instant.
type counterMark struct {
	at     protocol.Time
	energy protocol.Millijoules
}

// A powerIntegral integrates the power of a device without an energy counter.
type powerIntegral struct {
	counterMark
	power protocol.Milliwatts
}

// New takes control of the devices of a machine and restores limits that a previous
// agent left changed. The error names devices whose limits cannot be read; the others
// are controlled.
func New(devices []nvml.Device, cfg Config) (*GPUs, error) {
	caps, err := nvml.NewPowerCaps(devices, cfg.Caps)
	return &GPUs{
		cfg: cfg, caps: caps, devices: devices, podsByName: make(map[string]*podAccount), readErrors: make(map[string]error), powerIntegrals: make(map[string]powerIntegral), lastReadings: make(map[string]nvml.Reading),
	}, err
}

// UUIDOfIndex returns the UUID of the device with the driver's index.
func (c *GPUs) UUIDOfIndex(index int) (string, bool) {
	for _, d := range c.devices {
		if d.Index() == index {
			return d.UUID(), true
		}
	}
	return "", false
}

// PowerCaps returns the power limits of all devices, for sharing a ceiling among machines.
func (c *GPUs) PowerCaps() *nvml.PowerCaps { return c.caps }

// AccountAndApplyCaps takes the current holders, attributes the energy drawn since the
// last call, and sets limits. It returns when to call it again to set pending limits
// (zero: none pending), and the errors that are new.
func (c *GPUs) AccountAndApplyCaps(now protocol.Time, holders []PodGPUs) (next time.Time, err error) {
	errs := []error{c.adoptNewPods(now, holders), c.attributeEnergy(now)}
	for name := range c.podsByName {
		if !slices.ContainsFunc(holders, func(h PodGPUs) bool { return h.Name == name }) {
			// The removed holders were counted just before.
			delete(c.podsByName, name)
		}
	}
	errs = append(errs, c.caps.RereadLimits(), c.findIdleDevices())
	c.requestDeviceCaps()
	next, err = c.caps.ApplyLimits(now.StdTime())
	c.requestDeviceCaps() // once more, because ApplyLimits found what cannot be set
	return next, errors.Join(append(errs, err)...)
}

// maxUncountedStart is for how long a holder may have run before its first count
// without its tally being marked as incomplete: the notification of a pod takes a
// moment.
const maxUncountedStart = 15 * time.Second

// adoptNewPods adds new holders. A holder with an earlier tally gets all energy since that
// tally; a new one gets energy from now on.
func (c *GPUs) adoptNewPods(now protocol.Time, holders []PodGPUs) error {
	var errs []error
	for _, x := range holders {
		if c.podsByName[x.Name] != nil {
			continue
		}
		h := &podAccount{PodGPUs: x, counterMarks: make(map[string]counterMark), capErrors: make(map[string]error), newSinceCount: len(x.Tally.Counters) == 0}
		for _, uuid := range x.UUIDs {
			// A tally with a counter comes from before a restart: continue from it, so
			// that no energy is lost.
			energy, before := x.Tally.Counters[uuid]
			if before && c.deviceByUUID(uuid) != nil {
				h.counterMarks[uuid] = counterMark{x.Tally.Until, energy}
				continue
			}
			if e, err := c.cumulativeEnergy(now, uuid); err == nil {
				h.counterMarks[uuid] = counterMark{now, e}
			} else {
				c.readErrors[uuid] = err
				h.Tally.MarkMissing(err.Error())
				errs = append(errs, err)
			}
		}
		if h.newSinceCount && x.RunningSince != 0 && now.Sub(x.RunningSince) > maxUncountedStart {
			h.Tally.MarkMissing(fmt.Sprintf("the job ran for %v before its cards were read", now.Sub(x.RunningSince)))
		}
		h.Tally.Until = max(h.Tally.Until, now)
		c.podsByName[x.Name] = h
	}
	return errors.Join(errs...)
}

// attributeEnergy attributes to each holder its part of the energy that its devices drew since
// the last count.
func (c *GPUs) attributeEnergy(now protocol.Time) error {
	var errs []error
	for _, d := range c.devices {
		uuid := d.UUID()
		on := c.podsOnDevice(uuid)
		if len(on) == 0 {
			delete(c.powerIntegrals, uuid)
			continue
		}
		energy, err := c.cumulativeEnergy(now, uuid)
		if err != nil && (c.readErrors[uuid] == nil || c.readErrors[uuid].Error() != err.Error()) {
			errs = append(errs, err)
		}
		c.readErrors[uuid] = err
		var all protocol.Milli
		for _, h := range on {
			if !h.newSinceCount { // energy until now belongs to earlier holders
				all += h.Milli
			}
		}
		for _, h := range on {
			switch {
			case err != nil:
				h.Tally.MarkMissing(err.Error())
			case h.newSinceCount:
				h.recordCounter(now, uuid, energy)
			default:
				h.addEnergyShare(now, uuid, energy, all)
			}
		}
		if r := c.lastReadings[uuid]; err == nil && len(on) == 1 { // with several holders the utilization cannot be attributed
			on[0].Tally.Samples.AddSample(r.Busy, r.Used, r.Temperature)
		}
	}
	for _, h := range c.podsByName {
		h.Tally.Until, h.newSinceCount = max(h.Tally.Until, now), false
	}
	return errors.Join(errs...)
}

// recordCounter stores a device's counter and returns the previous mark, if there is one.
func (h *podAccount) recordCounter(now protocol.Time, uuid string, energy protocol.Millijoules) (m counterMark, ok bool) {
	m, ok = h.counterMarks[uuid]
	h.counterMarks[uuid] = counterMark{now, energy}
	if h.Tally.Counters == nil {
		h.Tally.Counters = make(map[string]protocol.Millijoules)
	}
	h.Tally.Counters[uuid] = energy
	return m, ok
}

// addEnergyShare adds a holder's part of a device's energy since the last mark. The idle draw
// is the site's, so it is subtracted first.
func (h *podAccount) addEnergyShare(now protocol.Time, uuid string, energy protocol.Millijoules, all protocol.Milli) {
	switch m, ok := h.recordCounter(now, uuid, energy); {
	case !ok || now < m.at:
		h.Tally.MarkMissing("card " + uuid + " was not read when the job began")
	case energy < m.energy:
		h.Tally.MarkMissing("the energy counter of card " + uuid + " began anew")
	default:
		idle := protocol.Millijoules(int64(h.PowerPlan.Idle) * int64(now-m.at) / 1000)
		mine := max(0, energy-m.energy-idle) * protocol.Millijoules(h.Milli) / protocol.Millijoules(max(all, 1))
		h.Tally.AddEnergy(m.at, now, mine)
	}
}

// cumulativeEnergy returns the energy of a device since some fixed instant: its own counter or,
// without one, its integrated power by the trapezoidal rule.
func (c *GPUs) cumulativeEnergy(now protocol.Time, uuid string) (protocol.Millijoules, error) {
	card := c.deviceByUUID(uuid)
	if card == nil {
		return 0, fmt.Errorf("gpuaccounting: %s: %w", uuid, errDeviceAbsent)
	}
	r, err := card.ReadSensors()
	if err != nil {
		return 0, err
	}
	c.lastReadings[uuid] = r
	if !slices.Contains(r.Missing, "energy") {
		return r.Energy, nil
	}
	if slices.Contains(r.Missing, "power") {
		return 0, fmt.Errorf("gpuaccounting: card %s reports neither energy nor power: %w", uuid, nvml.ErrNotSupported)
	}
	d, ok := c.powerIntegrals[uuid]
	if ok && now > d.at {
		d.energy += protocol.Millijoules(int64(d.power+r.Power) / 2 * int64(now-d.at) / 1000)
	}
	d.at, d.power = now, r.Power
	c.powerIntegrals[uuid] = d
	return d.energy, nil
}

// errDeviceAbsent is returned for a device that did not exist when GPUs was created:
// it has fallen off the bus or belongs to another machine.
var errDeviceAbsent = errors.New("no such card on this machine")

// deviceByUUID returns the device with a UUID, or nil.
func (c *GPUs) deviceByUUID(uuid string) nvml.Device {
	i := slices.IndexFunc(c.devices, func(d nvml.Device) bool { return d.UUID() == uuid })
	if i < 0 {
		return nil
	}
	return c.devices[i]
}

// podsOnDevice returns the holders of a device, by name.
func (c *GPUs) podsOnDevice(uuid string) (on []*podAccount) {
	for _, h := range c.podsByName {
		if slices.Contains(h.UUIDs, uuid) {
			on = append(on, h)
		}
	}
	slices.SortFunc(on, func(x, y *podAccount) int { return strings.Compare(x.Name, y.Name) })
	return on
}

// requestDeviceCaps requests the cap of each device: the highest cap of its holders,
// because a higher limit than awarded only makes a job faster. A holder without a cap
// removes the limit.
func (c *GPUs) requestDeviceCaps() {
	for _, d := range c.devices {
		idle := c.idle.clocks[d.UUID()] // zero for a device with holders
		limit, clock := protocol.Milliwatts(0), idle.SM
		for i, h := range c.podsOnDevice(d.UUID()) {
			mine, mhz := h.PowerPlan.Cap, c.clockForCap(d, h)
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
		_ = c.caps.RequestMemoryClock(d.UUID(), idle.Memory) // no cap needs it; ApplyLimits reports the error
		err := errors.Join(c.caps.RequestLimit(d.UUID(), limit), c.caps.RequestClock(d.UUID(), clock))
		if limit == 0 && clock == 0 {
			err = nil // nothing is wanted, so nothing failed
		}
		for _, h := range c.podsOnDevice(d.UUID()) {
			h.capErrors[d.UUID()] = err
			if err == nil && !c.capEnforced(d, h, limit, clock) {
				h.capErrors[d.UUID()] = fmt.Errorf("gpuaccounting: card %s: %w", d.UUID(), errHigherCapOnDevice)
			}
		}
	}
}

// errHigherCapOnDevice is the state of a cap that is not in force because another holder of the
// device has a higher one.
var errHigherCapOnDevice = errors.New("another job holds it under a higher cap or without a cap, which takes precedence")

// capEnforced reports whether limit and clock of a device (0: none) implement a holder's cap.
func (c *GPUs) capEnforced(d nvml.Device, h *podAccount, limit protocol.Milliwatts, clock int) bool {
	if mhz := c.clockForCap(d, h); mhz > 0 {
		return clock > 0 && clock <= mhz
	}
	return h.PowerPlan.Cap == 0 || limit > 0 && limit <= h.PowerPlan.Cap
}

// clockForCap returns the clock in MHz that implements a holder's cap on a device; 0: a
// power limit does, or there is no cap.
func (c *GPUs) clockForCap(d nvml.Device, h *podAccount) int {
	if c.cfg.Clock == nil || h.PowerPlan.Cap == 0 {
		return 0
	}
	return c.cfg.Clock(d.Model(), h.PowerPlan.Cap)
}

// CapStatusOf returns the state of a holder's devices, by the first device with a fault.
func (c *GPUs) CapStatusOf(name string) CapStatus {
	h := c.podsByName[name]
	if h == nil {
		return CapStatus{Reason: "Unknown", Message: "no pod with that name holds cards"}
	}
	for _, uuid := range h.UUIDs {
		err := h.capErrors[uuid]
		if err == nil {
			err = c.readErrors[uuid]
		}
		if err == nil {
			continue
		}
		why := "CannotBeSet"
		for _, k := range []struct {
			err  error
			word string
		}{{nvml.ErrNotPermitted, "NotPermitted"}, {nvml.ErrLost, "CardLost"}, {errDeviceAbsent, "CardLost"}, {nvml.ErrNotSupported, "NotSupported"}, {errHigherCapOnDevice, "Shared"}} {
			if errors.Is(err, k.err) {
				why = k.word
			}
		}
		return CapStatus{Reason: why, Message: err.Error()}
	}
	if h.PowerPlan.Cap == 0 {
		return CapStatus{CapEnforced: true, Reason: "NoCap", Message: "no cap; cards have their own limits: " + strings.Join(h.UUIDs, ", ")}
	}
	return CapStatus{CapEnforced: true, Reason: "Capped", Message: fmt.Sprintf("each of %s is capped at %.0f W", strings.Join(h.UUIDs, ", "), float64(h.PowerPlan.Cap)/1000)}
}

// EnergyTallyOf returns what a holder drew, as of the last call of
// AccountAndApplyCaps.
func (c *GPUs) EnergyTallyOf(name string) (podenergy.EnergyTally, bool) {
	h := c.podsByName[name]
	if h == nil {
		return podenergy.EnergyTally{}, false
	}
	return h.Tally, true
}

// RestorePowerLimits restores the limits and clocks that all devices had before.
func (c *GPUs) RestorePowerLimits() error { return c.caps.RestoreAllDevices() }
