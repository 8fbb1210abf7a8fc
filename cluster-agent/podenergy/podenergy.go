// Package podenergy defines the annotations with which a machine's node daemon and
// the executor exchange a pod's power cap and its energy. The node daemon writes what
// the pod's GPUs drew, by hour, and whether that is a measurement; the executor reads
// it when the pod has ended.
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
	AnnotationPowerPlan = "gridbid.io/power" // a [PowerPlan], written by the executor before the pod is bound
	AnnotationGPUs      = "gridbid.io/cards" // UUIDs separated by commas, written by the executor with the binding
	AnnotationEnergy    = "gridbid.io/drew"  // a [EnergyTally], written by the node daemon
)

// A PowerPlan is the power cap of a pod's GPUs.
type PowerPlan struct {
	Cap  protocol.Milliwatts `json:"cap_mw,omitempty"` // of each GPU; 0: none
	Idle protocol.Milliwatts `json:"idle_mw"`          // power of a GPU without a job, which is not the pod's
}

// EncodeAnnotation returns a plan as JSON.
func (p PowerPlan) EncodeAnnotation() string {
	text, _ := json.Marshal(p) // cannot fail for two integers
	return string(text)
}

// ParsePowerPlan parses a plan and rejects implausible values.
func ParsePowerPlan(text string) (p PowerPlan, err error) {
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return PowerPlan{}, fmt.Errorf("podenergy: plan: %w", err)
	}
	if p.Cap < 0 || p.Cap > maxPower || p.Idle < 0 || p.Idle > maxPower {
		return PowerPlan{}, fmt.Errorf("podenergy: plan: cap %d mW and idle %d mW: want 0 to %d", p.Cap, p.Idle, maxPower)
	}
	return p, nil
}

const (
	maxPower      = 10_000_000 // milliwatts of a GPU
	maxEnergy     = 1 << 50    // millijoules of a pod in an hour: 313 MWh
	maxHours      = 24 * 366   // of one pod
	maxTextBytes  = 200 << 10  // bytes; all annotations of a pod may take 256 KiB
	millisPerHour = int64(time.Hour / time.Millisecond)
)

// An EnergyTally is a pod's part of the energy of its GPUs, above their idle draw. The zero
// value is the tally of a pod that has just started.
type EnergyTally struct {
	Hours   []protocol.HourlyEnergy // by hour, ascending
	Until   protocol.Time           // end of the counted period
	Final   bool                    // whether the pod has ended; nothing will be added
	Missing string                  // why energy is not or not completely measured; "": it is
	// Counters are the GPUs' own energy counters at Until, by UUID. After a crash
	// counting continues from them, so that no energy is lost.
	Counters map[string]protocol.Millijoules
	Samples  UtilizationSamples
}

// UtilizationSamples are samples of GPUs that a pod holds alone, one for each reading.
type UtilizationSamples struct {
	N       int64        `json:"n"`
	Busy    int64        `json:"busy_milli"`     // sum over all samples, in thousandths of a GPU
	Memory  protocol.MiB `json:"gpu_memory_mib"` // maximum of one GPU
	Hottest int          `json:"hottest_c"`      // °C
}

// AddSample adds a sample.
func (l *UtilizationSamples) AddSample(busy protocol.Milli, memory protocol.MiB, hot int) {
	l.N++
	l.Busy += int64(min(max(busy, 0), 1000))
	l.Memory = max(l.Memory, memory)
	l.Hottest = max(l.Hottest, hot)
}

// MergeSamples adds the samples of another pod.
func (l *UtilizationSamples) MergeSamples(o UtilizationSamples) {
	l.N, l.Busy, l.Memory, l.Hottest = l.N+o.N, l.Busy+o.Busy, max(l.Memory, o.Memory), max(l.Hottest, o.Hottest)
}

// MeanUtilization returns the usage of a job: mean utilization, maximum memory and temperature.
func (l UtilizationSamples) MeanUtilization() (u protocol.Utilization) {
	if l.N > 0 {
		u = protocol.Utilization{GPU: protocol.Milli(l.Busy / l.N), GPUMemory: l.Memory, Temperature: l.Hottest}
	}
	return u
}

// isImplausible reports whether samples are implausible.
func (l UtilizationSamples) isImplausible() bool {
	return l.N < 0 || l.N > 1<<40 || l.Busy < 0 || l.Busy > 1000*l.N || l.Memory < 0 || l.Memory > 1<<24 || l.Hottest < -100 || l.Hottest > 200
}

// AddEnergy adds energy that was drawn evenly between two instants and splits it at full
// hours. The last hour gets the remainder, so no millijoule is lost.
func (t *EnergyTally) AddEnergy(from, to protocol.Time, energy protocol.Millijoules) {
	if energy <= 0 || to < from {
		return
	}
	span := int64(to - from)
	for at := from; energy > 0; {
		end := min(at.Floor(time.Hour).Add(time.Hour), to)
		part := energy
		if end < to {
			// Rounding down each part and shrinking span keeps the rest evenly
			// distributed.
			part = protocol.Millijoules(int64(float64(energy) * float64(end-at) / float64(span)))
			span -= int64(end - at)
		}
		if part > 0 {
			t.hourOf(at.Floor(time.Hour)).Energy += part
		}
		energy, at = energy-part, end
		if end == to {
			break
		}
	}
}

// hourOf returns the entry of an hour, inserted in order if it is new.
func (t *EnergyTally) hourOf(at protocol.Time) *protocol.HourlyEnergy {
	i, ok := slices.BinarySearchFunc(t.Hours, at, func(s protocol.HourlyEnergy, at protocol.Time) int { return int(min(1, max(-1, s.Hour-at))) })
	if !ok {
		t.Hours = slices.Insert(t.Hours, i, protocol.HourlyEnergy{Hour: at})
	}
	return &t.Hours[i]
}

// MarkMissing records why energy is not measured. The first reason stays.
func (t *EnergyTally) MarkMissing(why string) {
	if t.Missing == "" {
		t.Missing = why
	}
}

// TotalEnergy returns the sum of all hours.
func (t EnergyTally) TotalEnergy() (sum protocol.Millijoules) {
	for _, s := range t.Hours {
		sum += s.Energy
	}
	return sum
}

// encodedTally is the JSON form of a tally.
type encodedTally struct {
	Version  int                             `json:"v"` // 1
	Until    int64                           `json:"until_ms"`
	Hours    [][2]int64                      `json:"hours,omitempty"` // pairs of start in ms and millijoules
	Final    bool                            `json:"final,omitempty"`
	Missing  string                          `json:"missing,omitempty"`
	Counters map[string]protocol.Millijoules `json:"counters_mj,omitempty"`
	Samples  *UtilizationSamples             `json:"looks,omitempty"`
}

// EncodeAnnotation returns a tally as JSON.
func (t EnergyTally) EncodeAnnotation() string {
	w := encodedTally{Version: 1, Until: int64(t.Until), Final: t.Final, Missing: t.Missing, Counters: t.Counters}
	if t.Samples != (UtilizationSamples{}) {
		w.Samples = &t.Samples
	}
	for _, s := range t.Hours {
		w.Hours = append(w.Hours, [2]int64{int64(s.Hour), int64(s.Energy)})
	}
	text, _ := json.Marshal(w) // cannot fail for integers and strings
	return string(text)
}

// ParseEnergyTally parses the output of EncodeAnnotation. Anyone who may edit pods can write the annotation,
// so implausible values are rejected.
func ParseEnergyTally(text string) (EnergyTally, error) {
	if len(text) > maxTextBytes {
		return EnergyTally{}, fmt.Errorf("podenergy: tally of %d bytes: want at most %d", len(text), maxTextBytes)
	}
	var w encodedTally
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return EnergyTally{}, fmt.Errorf("podenergy: tally: %w", err)
	}
	if w.Version != 1 || len(w.Hours) > maxHours || w.Until < 0 {
		return EnergyTally{}, fmt.Errorf("podenergy: tally: version %d with %d hours until %d: want version 1 and at most %d hours", w.Version, len(w.Hours), w.Until, maxHours)
	}
	t := EnergyTally{Until: protocol.Time(w.Until), Final: w.Final, Missing: w.Missing, Counters: w.Counters}
	if w.Samples != nil {
		if t.Samples = *w.Samples; t.Samples.isImplausible() {
			return EnergyTally{}, fmt.Errorf("podenergy: tally: looks %+v: want a mean of at most 1000 and plausible memory and temperature", t.Samples)
		}
	}
	for i, h := range w.Hours {
		if h[0] < 0 || h[0]%millisPerHour != 0 || h[1] < 0 || h[1] > maxEnergy || i > 0 && h[0] <= w.Hours[i-1][0] || h[0] > w.Until {
			return EnergyTally{}, fmt.Errorf("podenergy: tally: hours[%d]: [%d, %d]: want hours in order up to until_ms, and 0 to %d millijoules", i, h[0], h[1], int64(maxEnergy))
		}
		t.Hours = append(t.Hours, protocol.HourlyEnergy{Hour: protocol.Time(h[0]), Energy: protocol.Millijoules(h[1])})
	}
	return t, nil
}
