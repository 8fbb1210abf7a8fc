// Package podenergy defines the annotations with which a machine's node daemon and the executor exchange a pod's
// power cap and its energy. The node daemon writes what the pod's GPUs drew, by hour, and whether that is a
// measurement; the executor reads it when the pod has ended.
package podenergy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Annotations of pods. Their names are part of the wire format.
const (
	NotePower = "gridbid.io/power" // a [Plan], written by the executor before the pod is bound
	NoteCards = "gridbid.io/cards" // UUIDs separated by commas, written by the executor with the binding
	NoteDrew  = "gridbid.io/drew"  // a [Tally], written by the node daemon
)

// A Plan is the power cap of a pod's GPUs.
type Plan struct {
	Cap  protocol.Milliwatts `json:"cap_mw,omitempty"` // of each GPU; 0: none
	Idle protocol.Milliwatts `json:"idle_mw"`          // power of a GPU without a job, which is not the pod's
}

// Text returns a plan as JSON.
func (p Plan) Text() string {
	text, _ := json.Marshal(p) // cannot fail for two integers
	return string(text)
}

// ReadPlan parses a plan and rejects implausible values.
func ReadPlan(text string) (p Plan, err error) {
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Plan{}, fmt.Errorf("podenergy: plan: %w", err)
	}
	if p.Cap < 0 || p.Cap > mostPower || p.Idle < 0 || p.Idle > mostPower {
		return Plan{}, fmt.Errorf("podenergy: plan: cap %d mW and idle %d mW: want 0 to %d", p.Cap, p.Idle, mostPower)
	}
	return p, nil
}

const (
	mostPower  = 10_000_000 // milliwatts of a GPU
	mostEnergy = 1 << 50    // millijoules of a pod in an hour: 313 MWh
	mostHours  = 24 * 366   // of one pod
	mostText   = 200 << 10  // bytes; all annotations of a pod may take 256 KiB
	hour       = int64(time.Hour / time.Millisecond)
)

// A Tally is a pod's part of the energy of its GPUs, above their idle draw. The zero value is the tally of a pod
// that has just started.
type Tally struct {
	Drew    []protocol.Slice // by hour, ascending
	Until   protocol.Time    // end of the counted period
	Final   bool             // whether the pod has ended; nothing will be added
	Missing string           // why energy is not or not completely measured; "": it is
	// Counters are the GPUs' own energy counters at Until, by UUID. After a crash counting continues from them, so
	// that no energy is lost.
	Counters map[string]protocol.Millijoules
	Looks    Looks
}

// Looks are samples of GPUs that a pod holds alone, one for each reading.
type Looks struct {
	N       int64        `json:"n"`
	Busy    int64        `json:"busy_milli"`     // sum over all samples, in thousandths of a GPU
	Memory  protocol.MiB `json:"gpu_memory_mib"` // maximum of one GPU
	Hottest int          `json:"hottest_c"`      // °C
}

// See adds a sample.
func (l *Looks) See(busy protocol.Milli, memory protocol.MiB, hot int) {
	l.N++
	l.Busy += int64(min(max(busy, 0), 1000))
	l.Memory = max(l.Memory, memory)
	l.Hottest = max(l.Hottest, hot)
}

// And adds the samples of another pod.
func (l *Looks) And(o Looks) {
	l.N, l.Busy, l.Memory, l.Hottest = l.N+o.N, l.Busy+o.Busy, max(l.Memory, o.Memory), max(l.Hottest, o.Hottest)
}

// Use returns the usage of a job: mean utilization, maximum memory and temperature.
func (l Looks) Use() (u protocol.Use) {
	if l.N > 0 {
		u = protocol.Use{GPU: protocol.Milli(l.Busy / l.N), GPUMemory: l.Memory, Temperature: l.Hottest}
	}
	return u
}

// wrong reports whether samples are implausible.
func (l Looks) wrong() bool {
	return l.N < 0 || l.N > 1<<40 || l.Busy < 0 || l.Busy > 1000*l.N || l.Memory < 0 || l.Memory > 1<<24 || l.Hottest < -100 || l.Hottest > 200
}

// Add adds energy that was drawn evenly between two instants and splits it at full hours. The last hour gets the
// remainder, so no millijoule is lost.
func (t *Tally) Add(from, to protocol.Time, energy protocol.Millijoules) {
	if energy <= 0 || to < from {
		return
	}
	span := int64(to - from)
	for at := from; energy > 0; {
		end := min(at.Floor(time.Hour).Add(time.Hour), to)
		part := energy
		if end < to {
			// Rounding down each part and shrinking span keeps the rest evenly distributed.
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

// slice returns the entry of an hour, inserted in order if it is new.
func (t *Tally) slice(at protocol.Time) *protocol.Slice {
	i, ok := slices.BinarySearchFunc(t.Drew, at, func(s protocol.Slice, at protocol.Time) int { return int(min(1, max(-1, s.Hour-at))) })
	if !ok {
		t.Drew = slices.Insert(t.Drew, i, protocol.Slice{Hour: at})
	}
	return &t.Drew[i]
}

// Miss records why energy is not measured. The first reason stays.
func (t *Tally) Miss(why string) {
	if t.Missing == "" {
		t.Missing = why
	}
}

// Total returns the sum of all hours.
func (t Tally) Total() (sum protocol.Millijoules) {
	for _, s := range t.Drew {
		sum += s.Energy
	}
	return sum
}

// written is the JSON form of a tally.
type written struct {
	Version  int                             `json:"v"` // 1
	Until    int64                           `json:"until_ms"`
	Hours    [][2]int64                      `json:"hours,omitempty"` // pairs of start in ms and millijoules
	Final    bool                            `json:"final,omitempty"`
	Missing  string                          `json:"missing,omitempty"`
	Counters map[string]protocol.Millijoules `json:"counters_mj,omitempty"`
	Looks    *Looks                          `json:"looks,omitempty"`
}

// Text returns a tally as JSON.
func (t Tally) Text() string {
	w := written{Version: 1, Until: int64(t.Until), Final: t.Final, Missing: t.Missing, Counters: t.Counters}
	if t.Looks != (Looks{}) {
		w.Looks = &t.Looks
	}
	for _, s := range t.Drew {
		w.Hours = append(w.Hours, [2]int64{int64(s.Hour), int64(s.Energy)})
	}
	text, _ := json.Marshal(w) // cannot fail for integers and strings
	return string(text)
}

// Read parses the output of Text. Anyone who may edit pods can write the annotation, so implausible values are
// rejected.
func Read(text string) (Tally, error) {
	if len(text) > mostText {
		return Tally{}, fmt.Errorf("podenergy: tally of %d bytes: want at most %d", len(text), mostText)
	}
	var w written
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return Tally{}, fmt.Errorf("podenergy: tally: %w", err)
	}
	if w.Version != 1 || len(w.Hours) > mostHours || w.Until < 0 {
		return Tally{}, fmt.Errorf("podenergy: tally: version %d with %d hours until %d: want version 1 and at most %d hours", w.Version, len(w.Hours), w.Until, mostHours)
	}
	t := Tally{Until: protocol.Time(w.Until), Final: w.Final, Missing: w.Missing, Counters: w.Counters}
	if w.Looks != nil {
		if t.Looks = *w.Looks; t.Looks.wrong() {
			return Tally{}, fmt.Errorf("podenergy: tally: looks %+v: want a mean of at most 1000 and plausible memory and temperature", t.Looks)
		}
	}
	for i, h := range w.Hours {
		if h[0] < 0 || h[0]%hour != 0 || h[1] < 0 || h[1] > mostEnergy || i > 0 && h[0] <= w.Hours[i-1][0] || h[0] > w.Until {
			return Tally{}, fmt.Errorf("podenergy: tally: hours[%d]: [%d, %d]: want hours in order up to until_ms, and 0 to %d millijoules", i, h[0], h[1], int64(mostEnergy))
		}
		t.Drew = append(t.Drew, protocol.Slice{Hour: protocol.Time(h[0]), Energy: protocol.Millijoules(h[1])})
	}
	return t, nil
}
