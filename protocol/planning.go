package protocol

import (
	"fmt"
	"time"
)

// Planning sets the grid, the horizon and the tolerances of a federation's plan. Every
// CallForBids contains it, so that sites and market compute with the same values and a
// site's bid means what the market takes it to mean.
type Planning struct {
	// Slot is the length of a time slot. Sites report capacity by slot and offer later
	// starts at slot boundaries; the auction prices capacity by slot. It divides an
	// hour evenly and is at least MinSlot.
	Slot time.Duration `msgpack:"s,omitempty"`
	// Horizon is how far ahead sites offer starts and report capacity: whole slots, at
	// most MaxSlots. Beyond it the auction treats capacity as free.
	Horizon time.Duration `msgpack:"h,omitempty"`
	// MaxStartDelay is the longest delay, against its option, with which a site may
	// start a queued job; after it the site declines the award. The auction prices
	// lateness as if each later start were delayed by that much.
	MaxStartDelay time.Duration `msgpack:"d,omitempty"`
	// FirmLead is the time before a job's deadline at which its planned end must lie
	// for the plan alone to hold its place. With less time left, the auction makes a
	// site reserve capacity, and sites search for it node by node instead of by sums.
	FirmLead time.Duration `msgpack:"f,omitempty"`
}

// Bounds of a Planning.
const (
	MinSlot  = time.Minute
	MaxSlots = 288 // in a Horizon: what a round's arithmetic and a site's answer are sized for
)

// The default Planning, each with its reason.
const (
	// Grid prices and forecasts are hourly. A quarter of that is as fine as the sums of
	// free capacity by slot must follow the starts and ends of runs.
	defaultSlot = 15 * time.Minute
	// Forecasts cover 96 hours, so they still price a run of a day that starts at the
	// end of three days.
	defaultHorizon = 72 * time.Hour
	// One slot: a site's sums of free capacity may be wrong in the slot in which a run
	// ends (decision 0012, point 8).
	defaultMaxStartDelay = 15 * time.Minute
	// Only a full round finds out that a plan has failed, and there is one every half
	// hour: two hours leave time for the next best option (decision 0012, point 1).
	defaultFirmLead = 2 * time.Hour
)

// DefaultPlanning returns the values used where a market or a CallForBids has none: slots of
// 15 minutes, a horizon of 72 hours, starts up to 15 minutes late, and firm reservations
// from 2 hours before the deadline on.
func DefaultPlanning() Planning {
	return Planning{Slot: defaultSlot, Horizon: defaultHorizon, MaxStartDelay: defaultMaxStartDelay, FirmLead: defaultFirmLead}
}

// OrDefault returns p, or DefaultPlanning if p is zero: a CallForBids of a coordinator older
// than the field means the values that were built in then.
func (p Planning) OrDefault() Planning {
	if p == (Planning{}) {
		return DefaultPlanning()
	}
	return p
}

// SlotCount returns the number of slots in the horizon.
func (p Planning) SlotCount() int { return int(p.Horizon / p.Slot) }

// Validate returns what is wrong with p, or nil. Check every Planning of a message
// before using it: senders are not trusted.
func (p Planning) Validate() error {
	switch {
	case p.Slot < MinSlot || p.Slot > time.Hour || time.Hour%p.Slot != 0:
		return fmt.Errorf("planning: slot is %v: want %v to 1h, dividing an hour evenly", p.Slot, MinSlot)
	case p.Horizon <= 0 || p.Horizon%p.Slot != 0 || p.SlotCount() > MaxSlots:
		return fmt.Errorf("planning: horizon is %v: want 1 to %d whole slots of %v", p.Horizon, MaxSlots, p.Slot)
	case p.MaxStartDelay <= 0 || p.MaxStartDelay > p.Horizon:
		return fmt.Errorf("planning: max start delay is %v: want more than 0, and at most the horizon of %v", p.MaxStartDelay, p.Horizon)
	case p.FirmLead <= 0 || p.FirmLead > p.Horizon:
		return fmt.Errorf("planning: firm lead is %v: want more than 0, and at most the horizon of %v", p.FirmLead, p.Horizon)
	}
	return nil
}
