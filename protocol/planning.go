package protocol

import (
	"fmt"
	"time"
)

// Planning is how far and how finely a federation plans, and by how much a start
// may slip. It stands in every Call, so that sites and market reckon with the same
// values: a site's offer means what the market takes it to mean.
type Planning struct {
	// Slot is the grain of the plan. A site reports its room by the slot and offers
	// later starts on the borders of slots; the auction prices room by the slot. It
	// divides an hour into whole parts and is at least MinSlot.
	Slot time.Duration `msgpack:"s,omitempty"`
	// Horizon is how far ahead sites offer starts and report room, in whole slots,
	// at most MaxSlots of them. Beyond it the auction counts room as free.
	Horizon time.Duration `msgpack:"h,omitempty"`
	// MaxStartDelay is how much later than its option says a site may start a job
	// that waits in its queue; later than that, the site declines the award. The
	// auction counts the lateness of every later start as if it were delayed so much.
	MaxStartDelay time.Duration `msgpack:"d,omitempty"`
	// FirmLead is how long before its deadline a job has to be planned to end for the
	// plan alone to hold its place. If less time is left, the auction has a site keep
	// the room, and sites look for that room node by node instead of by sums.
	FirmLead time.Duration `msgpack:"f,omitempty"`
}

// Bounds of a Planning.
const (
	MinSlot  = time.Minute
	MaxSlots = 288 // in a Horizon: what a round's arithmetic and a site's answer are sized for
)

// The default Planning, each with its reason.
const (
	// Grids and outlooks are hourly; a quarter of that is as near as the sums of free
	// room by slot have to come to the starts and ends of runs.
	defaultSlot = 15 * time.Minute
	// Outlooks reach 96 hours, so a run of a day that starts at the end of three days
	// is still priced by them.
	defaultHorizon = 72 * time.Hour
	// One slot: a site's sums of free room may be wrong by the slot in which a run ends
	// (decision 0012, point 8).
	defaultMaxStartDelay = 15 * time.Minute
	// A plan that fails is found out in a full round, of which there is one each half
	// hour: two hours leave time for the next best (decision 0012, point 1).
	defaultFirmLead = 2 * time.Hour
)

// DefaultPlanning returns what holds where a market or a Call says nothing: slots of
// 15 minutes, 72 hours ahead; a start slips by 15 minutes at most; 2 hours before the
// deadline a site keeps the room.
func DefaultPlanning() Planning {
	return Planning{Slot: defaultSlot, Horizon: defaultHorizon, MaxStartDelay: defaultMaxStartDelay, FirmLead: defaultFirmLead}
}

// OrDefault returns p, or DefaultPlanning if p says nothing: a Call of a coordinator
// that is older than the field means the values that were built in then.
func (p Planning) OrDefault() Planning {
	if p == (Planning{}) {
		return DefaultPlanning()
	}
	return p
}

// Slots returns how many slots the horizon has.
func (p Planning) Slots() int { return int(p.Horizon / p.Slot) }

// Validate says what is wrong with p, or returns nil. Nothing may be planned by a
// Planning that is not valid; it comes from outside.
func (p Planning) Validate() error {
	switch {
	case p.Slot < MinSlot || p.Slot > time.Hour || time.Hour%p.Slot != 0:
		return fmt.Errorf("planning: slot is %v; want a whole part of an hour, %v to 1h", p.Slot, MinSlot)
	case p.Horizon <= 0 || p.Horizon%p.Slot != 0 || p.Slots() > MaxSlots:
		return fmt.Errorf("planning: horizon is %v; want 1 to %d whole slots of %v", p.Horizon, MaxSlots, p.Slot)
	case p.MaxStartDelay <= 0 || p.MaxStartDelay > p.Horizon:
		return fmt.Errorf("planning: max start delay is %v; want more than nothing, and at most the horizon of %v", p.MaxStartDelay, p.Horizon)
	case p.FirmLead <= 0 || p.FirmLead > p.Horizon:
		return fmt.Errorf("planning: firm lead is %v; want more than nothing, and at most the horizon of %v", p.FirmLead, p.Horizon)
	}
	return nil
}
