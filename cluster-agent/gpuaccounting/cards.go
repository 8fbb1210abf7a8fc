// Package gpuaccounting keeps the GPUs of one machine for the jobs that hold them: under
// the caps that the market awarded, and below the machine's part of its site's
// ceiling; and it counts what each job's part of them drew.
//
// What it promises:
//   - energy is the cards' own counters, split among those that hold a card by
//     what they bought of it, above what it draws idle. Nothing is counted twice,
//     and nothing is lost when whoever counts is killed and begins again;
//   - what a card did (busy, memory, temperature) is told of a job that has it to
//     itself, and of no other;
//   - a card that cannot be read or set is named, once, and jobs on it are
//     marked: what is not measured is never called so;
//   - a card that nobody holds has its own limit and its own clock, and none has a
//     higher limit than its own: the one that its operator set.
//
// Which pods there are is told by cluster-agent/kube/node.
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

// A Holder is a pod that holds cards.
type Holder struct {
	Name  string   // that tells it from all others
	Cards []string // UUIDs
	Milli protocol.Milli
	Plan  podenergy.Plan
	Tally podenergy.Tally // what was counted before
	Since protocol.Time   // it runs, by the machine's clock; 0: not yet, or nobody knows
}

// A State is how a holder's cards stand, for people.
type State struct {
	Set bool   // its cap is kept
	Why string // "NotPermitted", or another one word
	Say string // in words
}

// Config is how cards are kept. Its zero will do.
type Config struct {
	Caps nvml.CapsConfig
	// Clock returns the clock in MHz by which a cap is kept on a card of a model
	// instead of a power limit, or 0: see [nvml.Curve.Clock]. Nil is none.
	Clock func(model string, cap protocol.Milliwatts) int
}

// Cards are the GPUs of one machine. Make them with [New]. They are for one
// goroutine.
type Cards struct {
	cfg   Config
	caps  *nvml.Caps
	all   []nvml.Device
	holds map[string]*hold
	lost  map[string]error // what a card said when it was read last, if it said no
	draws map[string]draw  // of cards without an energy counter
	read  map[string]nvml.Reading
}

// A hold is a holder with what was read of its cards when it was counted last.
type hold struct {
	Holder
	marks map[string]mark
	state map[string]error // why a cap is not kept, by card
	fresh bool             // it came after its cards were counted last
}

type mark struct {
	at     protocol.Time
	energy protocol.Millijoules
}

// A draw sums power up where a card does not count energy.
type draw struct {
	mark
	power protocol.Milliwatts
}

// New takes the cards of a machine into care. What a former agent left lowered is
// put back. The error names cards whose limits cannot be read; the others are
// kept all the same.
func New(devices []nvml.Device, cfg Config) (*Cards, error) {
	caps, err := nvml.NewCaps(devices, cfg.Caps)
	return &Cards{
		cfg: cfg, caps: caps, all: devices, holds: make(map[string]*hold), lost: make(map[string]error), draws: make(map[string]draw), read: make(map[string]nvml.Reading),
	}, err
}

// UUID returns that of the card at an index, as the driver counts.
func (c *Cards) UUID(index int) (string, bool) {
	for _, d := range c.all {
		if d.Index() == index {
			return d.UUID(), true
		}
	}
	return "", false
}

// Limits returns the power limits of all cards, for who shares a ceiling.
func (c *Cards) Limits() *nvml.Caps { return c.caps }

// Keep is told who holds cards now, counts what was drawn until now, and sets
// limits. It returns when to come again to set the rest, zero for nothing, and
// what went wrong since last time.
func (c *Cards) Keep(now protocol.Time, holders []Holder) (again time.Time, err error) {
	errs := []error{c.adopt(now, holders), c.count(now)}
	for name := range c.holds {
		if !slices.ContainsFunc(holders, func(h Holder) bool { return h.Name == name }) {
			delete(c.holds, name)
		}
	}
	errs = append(errs, c.caps.Refresh())
	c.want()
	again, err = c.caps.Apply(now.Go())
	c.want() // it says now what could not be set
	return again, errors.Join(append(errs, err)...)
}

// unseen is for how long a holder may have run before it is first counted: word of
// it comes a moment late.
const unseen = 15 * time.Second

// adopt takes up those that are new. Of one that was counted before, all since
// then is its own; of one that has just begun, all from now on.
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

// count gives each holder its part of what its cards drew since they were
// counted last.
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
			if !h.fresh { // what was drawn until now is of those before
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
		if r := c.read[uuid]; err == nil && len(on) == 1 { // of several it is not known whose work it is
			on[0].Tally.Looks.See(r.Busy, r.Used, r.Temperature)
		}
	}
	for _, h := range c.holds {
		h.Tally.Until, h.fresh = max(h.Tally.Until, now), false
	}
	return errors.Join(errs...)
}

// note takes down where a card's counter stands, and returns where it stood before.
func (h *hold) note(now protocol.Time, uuid string, energy protocol.Millijoules) (m mark, ok bool) {
	m, ok = h.marks[uuid]
	h.marks[uuid] = mark{now, energy}
	if h.Tally.Counters == nil {
		h.Tally.Counters = make(map[string]protocol.Millijoules)
	}
	h.Tally.Counters[uuid] = energy
	return m, ok
}

// take adds a holder's part of a card.
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

// energy is what a card has drawn since some instant in the past: by its own
// counter, or where it has none by its power, which is taken to be even between
// two looks.
func (c *Cards) energy(now protocol.Time, uuid string) (protocol.Millijoules, error) {
	card := c.device(uuid)
	if card == nil {
		return 0, fmt.Errorf("cards: %s: %w", uuid, errAbsent)
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
		return 0, fmt.Errorf("cards: card %s tells neither energy nor power: %w", uuid, nvml.ErrNotSupported)
	}
	d, ok := c.draws[uuid]
	if ok && now > d.at {
		d.energy += protocol.Millijoules(int64(d.power+r.Power) / 2 * int64(now-d.at) / 1000)
	}
	d.at, d.power = now, r.Power
	c.draws[uuid] = d
	return d.energy, nil
}

// errAbsent is of a card that was not there when we began: it has fallen off the
// bus, or is another machine's.
var errAbsent = errors.New("no such card on this machine")

// device returns the card of that UUID, or nil.
func (c *Cards) device(uuid string) nvml.Device {
	i := slices.IndexFunc(c.all, func(d nvml.Device) bool { return d.UUID() == uuid })
	if i < 0 {
		return nil
	}
	return c.all[i]
}

// on returns who holds a card, by name.
func (c *Cards) on(uuid string) (on []*hold) {
	for _, h := range c.holds {
		if slices.Contains(h.Cards, uuid) {
			on = append(on, h)
		}
	}
	slices.SortFunc(on, func(x, y *hold) int { return strings.Compare(x.Name, y.Name) })
	return on
}

// want says under what each card is to be: the highest cap of those that hold
// it, since a job under a higher one than awarded is only faster.
func (c *Cards) want() {
	for _, d := range c.all {
		limit, clock := protocol.Milliwatts(0), 0
		for i, h := range c.on(d.UUID()) {
			mine, mhz := h.Plan.Cap, c.clock(d, h)
			if mhz > 0 {
				mine = 0 // kept by the clock
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
			err = nil // nothing is asked of it
		}
		for _, h := range c.on(d.UUID()) {
			h.state[d.UUID()] = err
			if err == nil && !c.kept(d, h, limit, clock) {
				h.state[d.UUID()] = fmt.Errorf("cards: card %s: %w", d.UUID(), errHigher)
			}
		}
	}
}

// errHigher is of a cap that gives way to that of another job on its card.
var errHigher = errors.New("another job has it under a higher cap, or under none, which counts")

// kept reports whether the limit and the clock of a card, 0 for none, keep a holder's cap.
func (c *Cards) kept(d nvml.Device, h *hold, limit protocol.Milliwatts, clock int) bool {
	if mhz := c.clock(d, h); mhz > 0 {
		return clock > 0 && clock <= mhz
	}
	return h.Plan.Cap == 0 || limit > 0 && limit <= h.Plan.Cap
}

// clock is at how many MHz a holder's cap is kept on a card; 0: by a limit, or there is
// none.
func (c *Cards) clock(d nvml.Device, h *hold) int {
	if c.cfg.Clock == nil || h.Plan.Cap == 0 {
		return 0
	}
	return c.cfg.Clock(d.Model(), h.Plan.Cap)
}

// State says how a holder's cards stand.
func (c *Cards) State(name string) State {
	h := c.holds[name]
	if h == nil {
		return State{Why: "Unknown", Say: "nobody holds cards under that name"}
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
		return State{Set: true, Why: "NoCap", Say: "cards under their own limit: " + strings.Join(h.Cards, ", ")}
	}
	return State{Set: true, Why: "Capped", Say: fmt.Sprintf("each of %s under %.0f W at most", strings.Join(h.Cards, ", "), float64(h.Plan.Cap)/1000)}
}

// Tally returns what a holder drew, as of the last Keep.
func (c *Cards) Tally(name string) (podenergy.Tally, bool) {
	h := c.holds[name]
	if h == nil {
		return podenergy.Tally{}, false
	}
	return h.Tally, true
}

// Restore puts all limits and clocks back.
func (c *Cards) Restore() error { return c.caps.Restore() }
