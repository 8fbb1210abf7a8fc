package power

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A Table has the GPU models that a site may have. It is immutable; its zero
// value is empty.
type Table struct {
	gpus []GPU // Invariant: ascending by Model, no two alike
}

// LookupModel returns the power model of a GPU model; ok is false if the table has none.
func (t Table) LookupModel(model string) (GPU, bool) {
	i, ok := slices.BinarySearchFunc(t.gpus, model, compareModel)
	if !ok {
		return GPU{}, false
	}
	g := t.gpus[i]
	g.Caps = slices.Clone(g.Caps)
	return g, true
}

// ModelNames returns the names of all models, ascending.
func (t Table) ModelNames() []string {
	names := make([]string, len(t.gpus))
	for i, g := range t.gpus {
		names[i] = g.Model
	}
	return names
}

// WithGPU returns a table that has g too, in place of an entry of the same model. The
// error states which field is out of range, and the range.
func (t Table) WithGPU(g GPU) (Table, error) {
	if why := g.invalidReason(); why != "" {
		return Table{}, fmt.Errorf("power: gpu %q: %s", g.Model, why)
	}
	g.Caps = slices.Clone(g.Caps)
	gpus := slices.Clone(t.gpus)
	i, ok := slices.BinarySearchFunc(gpus, g.Model, compareModel)
	if ok {
		gpus[i] = g
	} else {
		gpus = slices.Insert(gpus, i, g)
	}
	return Table{gpus}, nil
}

func compareModel(g GPU, model string) int { return cmp.Compare(g.Model, model) }

// Bounds of a GPU's figures. They keep products of draw, energy and speed within
// 64 bits and catch values given in the wrong unit.
const (
	maxModel = 64                                // bytes of a name
	maxLimit = 5_000 * protocol.Milliwatts(1000) // 5 kW, of one device
	minSpeed = 10
	maxSpeed = 100_000
	maxCaps  = 32
)

// invalidReason returns what is wrong with g and which values are valid, or "".
func (g GPU) invalidReason() string {
	switch {
	case g.Model == "" || len(g.Model) > maxModel:
		return "model: want a name of 1..64 bytes"
	case g.Limit <= 0 || g.Limit > maxLimit:
		return fmt.Sprintf("limit: %d mW; want over 0 and at most 5 kW", g.Limit)
	case g.Idle < 0 || g.Idle >= g.Load:
		return fmt.Sprintf("idle: %d mW; want 0 or more and less than load, %d mW", g.Idle, g.Load)
	case g.Load > g.Limit:
		return fmt.Sprintf("load: %d mW; want at most the limit, %d mW", g.Load, g.Limit)
	case g.Speed < minSpeed || g.Speed > maxSpeed:
		return fmt.Sprintf("speed: %d; want 10..100000 thousandths of a V100", g.Speed)
	case len(g.Caps) > maxCaps:
		return "caps: want at most 32"
	}
	above := Cap{Limit: g.Limit, Speed: 1000, Energy: 1000}
	for i, c := range g.Caps {
		if why := g.invalidCapReason(c, above); why != "" {
			return fmt.Sprintf("caps[%d].%s", i, why)
		}
		above = c
	}
	return ""
}

// invalidCapReason returns what is wrong with c, or ""; above is the next higher cap.
func (g GPU) invalidCapReason(c, above Cap) string {
	switch {
	case c.Limit <= g.Idle || c.Limit >= above.Limit:
		return fmt.Sprintf("limit: %d mW; want over idle, %d mW, and under the one before, %d mW", c.Limit, g.Idle, above.Limit)
	case c.Speed < minSpeed || c.Speed > above.Speed:
		return fmt.Sprintf("speed: %d; want 10..%d, not faster than the one before", c.Speed, above.Speed)
	case c.Energy < minSpeed || c.Energy > 2000:
		return fmt.Sprintf("energy: %d; want 10..2000 thousandths of the energy without a cap", c.Energy)
	}
	draw := protocol.Milliwatts(int64(g.Load) * int64(c.Energy) * int64(c.Speed) / 1_000_000)
	switch {
	case draw > c.Limit:
		return fmt.Sprintf("energy: load x energy x speed is %d mW; want at most this cap, %d mW", draw, c.Limit)
	case draw > g.Load:
		return fmt.Sprintf("energy: load x energy x speed is %d mW; want at most load, %d mW", draw, g.Load)
	case draw <= g.Idle:
		return fmt.Sprintf("energy: load x energy x speed is %d mW; want over idle, %d mW", draw, g.Idle)
	}
	return ""
}
