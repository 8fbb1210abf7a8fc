// Package podenergy is what a machine writes down of one pod's part of its cards:
// what they drew, hour by hour, and whether that was measured. Who runs on the
// machine writes it on the pod; hands read it there when the pod has ended.
package podenergy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// What is written on pods.
const (
	NotePower = "gridbid.io/power" // a [Plan], by the hands, before the pod is bound
	NoteCards = "gridbid.io/cards" // UUIDs between commas, by the hands, with the binding
	NoteDrew  = "gridbid.io/drew"  // a [Tally], by the machine
)

// A Plan tells a machine under what the cards of a pod are to be held.
type Plan struct {
	Cap  protocol.Milliwatts `json:"cap_mw,omitempty"` // of each card; 0: none
	Idle protocol.Milliwatts `json:"idle_mw"`          // what a card draws without a job, which is the site's to bear
}

// Text writes a plan.
func (p Plan) Text() string {
	text, _ := json.Marshal(p) // two integers
	return string(text)
}

// ReadPlan reads a plan, and refuses one that makes no sense.
func ReadPlan(text string) (p Plan, err error) {
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Plan{}, fmt.Errorf("meter: plan: %w", err)
	}
	if p.Cap < 0 || p.Cap > mostPower || p.Idle < 0 || p.Idle > mostPower {
		return Plan{}, fmt.Errorf("meter: plan: a cap of %d and idle of %d mW: want 0 to %d", p.Cap, p.Idle, mostPower)
	}
	return p, nil
}

const (
	mostPower  = 10_000_000 // milliwatts of a card
	mostEnergy = 1 << 50    // millijoules of a pod in an hour: 313 MWh
	mostHours  = 24 * 366   // of one pod
	mostText   = 200 << 10  // bytes; all annotations of a pod may take 256 KiB
	hour       = int64(time.Hour / time.Millisecond)
)

// A Tally is what a pod's part of its cards drew, above what they draw idle. Its
// zero is that of a pod that has just begun.
type Tally struct {
	Drew    []protocol.Slice // by hour, in order
	Until   protocol.Time    // counted until then
	Final   bool             // the pod has ended; nothing will be added
	Missing string           // why it is no measurement, or not of all; "": it is one
	// Counters are the cards' own energy counters at Until, by UUID. Whoever
	// counts on after a crash begins there, so nothing is lost between.
	Counters map[string]protocol.Millijoules
	Looks    Looks
}

// Looks are what was seen of cards that a pod had to itself, each time they were
// read. Its zero is nothing.
type Looks struct {
	N       int64        `json:"n"`
	Busy    int64        `json:"busy_milli"`     // sum over all looks
	Memory  protocol.MiB `json:"gpu_memory_mib"` // of one card, at most
	Hottest int          `json:"hottest_c"`      // °C
}

// See adds a look.
func (l *Looks) See(busy protocol.Milli, memory protocol.MiB, hot int) {
	l.N++
	l.Busy += int64(min(max(busy, 0), 1000))
	l.Memory = max(l.Memory, memory)
	l.Hottest = max(l.Hottest, hot)
}

// And adds what was seen of another pod.
func (l *Looks) And(o Looks) {
	l.N, l.Busy, l.Memory, l.Hottest = l.N+o.N, l.Busy+o.Busy, max(l.Memory, o.Memory), max(l.Hottest, o.Hottest)
}

// Use returns what the looks tell of a job.
func (l Looks) Use() (u protocol.Use) {
	if l.N > 0 {
		u = protocol.Use{GPU: protocol.Milli(l.Busy / l.N), GPUMemory: l.Memory, Temperature: l.Hottest}
	}
	return u
}

// wrong reports whether looks cannot be.
func (l Looks) wrong() bool {
	return l.N < 0 || l.N > 1<<40 || l.Busy < 0 || l.Busy > 1000*l.N || l.Memory < 0 || l.Memory > 1<<24 || l.Hottest < -100 || l.Hottest > 200
}

// Add counts energy that was drawn evenly from one instant to another, not before
// what was counted already.
func (t *Tally) Add(from, to protocol.Time, energy protocol.Millijoules) {
	if energy <= 0 || to < from {
		return
	}
	span := int64(to - from)
	for at := from; energy > 0; {
		end := min(at.Floor(time.Hour).Add(time.Hour), to)
		part := energy
		if end < to {
			part = protocol.Millijoules(int64(float64(energy) * float64(end-at) / float64(span)))
			span -= int64(end - at)
		}
		if part > 0 {
			t.slice(at.Floor(time.Hour)).Energy += part
		}
		energy, at = energy-part, end
		if end == to {
			break
		}
	}
}

func (t *Tally) slice(at protocol.Time) *protocol.Slice {
	i, ok := slices.BinarySearchFunc(t.Drew, at, func(s protocol.Slice, at protocol.Time) int { return int(min(1, max(-1, s.Hour-at))) })
	if !ok {
		t.Drew = slices.Insert(t.Drew, i, protocol.Slice{Hour: at})
	}
	return &t.Drew[i]
}

// Miss notes why something is not measured. The first reason stays.
func (t *Tally) Miss(why string) {
	if t.Missing == "" {
		t.Missing = why
	}
}

// Total is the sum of all hours.
func (t Tally) Total() (sum protocol.Millijoules) {
	for _, s := range t.Drew {
		sum += s.Energy
	}
	return sum
}

// written is a tally as it travels.
type written struct {
	Version  int                             `json:"v"` // 1
	Until    int64                           `json:"until_ms"`
	Hours    [][2]int64                      `json:"hours,omitempty"` // start in ms, millijoules
	Final    bool                            `json:"final,omitempty"`
	Missing  string                          `json:"missing,omitempty"`
	Counters map[string]protocol.Millijoules `json:"counters_mj,omitempty"`
	Looks    *Looks                          `json:"looks,omitempty"`
}

// Text writes a tally as JSON.
func (t Tally) Text() string {
	w := written{Version: 1, Until: int64(t.Until), Final: t.Final, Missing: t.Missing, Counters: t.Counters}
	if t.Looks != (Looks{}) {
		w.Looks = &t.Looks
	}
	for _, s := range t.Drew {
		w.Hours = append(w.Hours, [2]int64{int64(s.Hour), int64(s.Energy)})
	}
	text, _ := json.Marshal(w) // integers and strings
	return string(text)
}

// Read reads what Text wrote. What cannot be is an error: whoever may write on
// pods is believed no further than physics go.
func Read(text string) (Tally, error) {
	if len(text) > mostText {
		return Tally{}, fmt.Errorf("meter: %d bytes; at most %d", len(text), mostText)
	}
	var w written
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return Tally{}, fmt.Errorf("meter: %w", err)
	}
	if w.Version != 1 || len(w.Hours) > mostHours || w.Until < 0 {
		return Tally{}, fmt.Errorf("meter: version %d with %d hours until %d: want version 1 and at most %d hours", w.Version, len(w.Hours), w.Until, mostHours)
	}
	t := Tally{Until: protocol.Time(w.Until), Final: w.Final, Missing: w.Missing, Counters: w.Counters}
	if w.Looks != nil {
		if t.Looks = *w.Looks; t.Looks.wrong() {
			return Tally{}, fmt.Errorf("meter: looks %+v: want means up to 1000, and figures that a card can have", t.Looks)
		}
	}
	for i, h := range w.Hours {
		if h[0] < 0 || h[0]%hour != 0 || h[1] < 0 || h[1] > mostEnergy || i > 0 && h[0] <= w.Hours[i-1][0] || h[0] > w.Until {
			return Tally{}, fmt.Errorf("meter: hours[%d]: [%d, %d]: want hours in order up to until_ms, and 0 to %d millijoules", i, h[0], h[1], int64(mostEnergy))
		}
		t.Drew = append(t.Drew, protocol.Slice{Hour: protocol.Time(h[0]), Energy: protocol.Millijoules(h[1])})
	}
	return t, nil
}
