package nvml

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A PowerCurve is a measurement of one command on one device under several power limits. A
// site uses it in place of the power table's assumptions. Its JSON is versioned by
// Schema.
type PowerCurve struct {
	Schema  int       `json:"schema"` // 1
	Device  string    `json:"device"` // the driver's product name
	UUID    string    `json:"uuid"`
	Driver  string    `json:"driver"`
	Command []string  `json:"command"` // the same work in every run
	At      time.Time `json:"at"`
	Idle    int64     `json:"idle_mw"` // power of the device before the first run
	Default int64     `json:"default_limit_mw"`
	Points  []Point   `json:"points"` // the default limit first, then descending
}

// A Point is the median run under a power limit or with a locked clock. The limit of
// a point with a clock is its mean power plus one per cent, so that rounding stays
// below it.
type Point struct {
	Limit   int64   `json:"limit_mw"`
	Clock   int     `json:"clock_mhz,omitempty"`
	Seconds float64 `json:"seconds"`
	Joules  float64 `json:"joules"` // from the device's energy counter
	Runs    int     `json:"runs"`
}

// A Calibration configures the measurement of a PowerCurve.
type Calibration struct {
	Limits  []protocol.Milliwatts // besides the default one
	Clocks  []int                 // in MHz; measured after the limits
	Runs    int                   // under each limit; the median is used; default 3
	Command []string              // recorded in the curve
	Run     func(context.Context) error
	Clock   func() time.Time
	Log     func(format string, args ...any)
}

// MeasurePowerCurve runs a command under each limit and clock and returns the curve. The device
// should have no other work. MeasurePowerCurve restores the device's limit through caps, even
// if a run fails or ctx ends.
func MeasurePowerCurve(ctx context.Context, d Device, caps *PowerCaps, driver string, c Calibration) (out PowerCurve, err error) {
	l, err := d.PowerLimits()
	if err != nil {
		return PowerCurve{}, err
	}
	// Refuse all limits before the first run, which may take long.
	for _, v := range c.Limits {
		if v < l.Least || v > l.Most {
			return PowerCurve{}, fmt.Errorf("nvml: limit %.1f W: want %.1f to %.1f W: %w", inWatts(v), inWatts(l.Least), inWatts(l.Most), ErrOutOfRange)
		}
	}
	// Idle power is read before the first run.
	still, err := d.ReadSensors()
	if err != nil {
		return PowerCurve{}, err
	}
	if slices.Contains(still.Missing, "energy") {
		return PowerCurve{}, fmt.Errorf("nvml: device %d has no energy counter: %w", d.Index(), ErrNotSupported)
	}
	// Restore the limits whatever happens from here on.
	defer func() { err = errors.Join(err, caps.RestoreAllDevices()) }()
	out = PowerCurve{Schema: 1, Device: d.Model(), UUID: d.UUID(), Driver: driver, Command: c.Command, At: c.Clock().UTC(), Idle: int64(still.Power), Default: int64(l.Default)}
	limits := append([]protocol.Milliwatts{l.Default}, c.Limits...)
	slices.SortFunc(limits, func(x, y protocol.Milliwatts) int { return int(y - x) })
	// Limits above the default are not measured: no cap is above it.
	for _, limit := range slices.Compact(limits) {
		if limit > l.Default {
			continue
		}
		if err := c.applyAndAwaitLimit(ctx, d, caps, limit); err != nil {
			return PowerCurve{}, err
		}
		p, err := c.measurePoint(ctx, d, limit)
		if err != nil {
			return PowerCurve{}, err
		}
		c.Log("%.0f W: %.1f s, %.0f J", inWatts(limit), p.Seconds, p.Joules)
		out.Points = append(out.Points, p)
	}
	return out, c.measureClocks(ctx, d, caps, &out)
}

// measureClocks measures with locked clocks, from the highest down. The power at a clock
// stands for its limit, so limits must descend from point to point.
func (c Calibration) measureClocks(ctx context.Context, d Device, caps *PowerCaps, out *PowerCurve) error {
	mhz := slices.Clone(c.Clocks)
	slices.Sort(mhz)
	// Descend, as limits do: see PowerCurve.Points.
	for _, clock := range slices.Backward(slices.Compact(mhz)) {
		if err := caps.RequestClock(d.UUID(), clock); err != nil {
			return err
		}
		if err := c.applyAndAwaitLimit(ctx, d, caps, protocol.Milliwatts(out.Default)); err != nil {
			return err
		}
		p, err := c.measurePoint(ctx, d, 0)
		if err != nil {
			return err
		}
		// The mean power plus one per cent, but below the point before: limits must descend.
		p.Clock, p.Limit = clock, min(int64(1010*p.Joules/p.Seconds), out.Points[len(out.Points)-1].Limit-1)
		c.Log("%d MHz: %.0f W, %.1f s, %.0f J", clock, float64(p.Limit)/1000, p.Seconds, p.Joules)
		out.Points = append(out.Points, p)
	}
	return nil
}

// ClockForCap returns the clock in MHz that implements a cap of this curve, or 0 if a power
// limit does.
func (c PowerCurve) ClockForCap(limit protocol.Milliwatts) int {
	for _, p := range c.Points {
		if p.Limit == int64(limit) {
			return p.Clock
		}
	}
	return 0
}

// applyAndAwaitLimit sets a limit and waits until ApplyLimits has no pending change.
func (c Calibration) applyAndAwaitLimit(ctx context.Context, d Device, caps *PowerCaps, limit protocol.Milliwatts) error {
	if err := caps.RequestLimit(d.UUID(), limit); err != nil {
		return err
	}
	for {
		again, err := caps.ApplyLimits(c.Clock())
		if err != nil || again.IsZero() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(again.Sub(c.Clock()), time.Millisecond)):
		}
	}
}

// measurePoint runs the command several times under the current limit and returns the median
// by time.
func (c Calibration) measurePoint(ctx context.Context, d Device, limit protocol.Milliwatts) (Point, error) {
	n := c.Runs
	if n == 0 {
		n = 3
	}
	type run struct{ seconds, joules float64 }
	runs := make([]run, n)
	for i := range runs {
		// The difference of two readings of the counter is the run's energy.
		before, err := d.ReadSensors()
		if err != nil {
			return Point{}, err
		}
		began := c.Clock()
		if err := c.Run(ctx); err != nil {
			return Point{}, fmt.Errorf("nvml: the command failed under a limit of %.0f W: %w", inWatts(limit), err)
		}
		took := c.Clock().Sub(began)
		after, err := d.ReadSensors()
		if err != nil {
			return Point{}, err
		}
		// The counter has a resolution; a run shorter than that cannot be measured.
		if after.Energy <= before.Energy || took <= 0 {
			return Point{}, fmt.Errorf("nvml: the energy counter did not change in %v: use a command that runs longer", took)
		}
		runs[i] = run{took.Seconds(), float64(after.Energy-before.Energy) / 1000}
	}
	// The median, as runs differ: see measurementNoise.
	slices.SortFunc(runs, func(x, y run) int {
		if x.seconds < y.seconds {
			return -1
		}
		return 1
	})
	m := runs[n/2]
	return Point{Limit: int64(limit), Seconds: m.seconds, Joules: m.joules, Runs: n}, nil
}

// ReadPowerCurve reads a curve from JSON and validates it.
func ReadPowerCurve(r io.Reader, name string) (PowerCurve, error) {
	// 1 MiB bounds the memory that a wrong file can take; a curve has some kilobytes.
	dec := json.NewDecoder(io.LimitReader(r, 1<<20))
	dec.DisallowUnknownFields()
	var c PowerCurve
	if err := dec.Decode(&c); err != nil {
		return PowerCurve{}, fmt.Errorf("nvml: %s: %w: measure it again with `cluster-agent powercal`", name, err)
	}
	bad := func(field, want string) (PowerCurve, error) {
		return PowerCurve{}, fmt.Errorf("nvml: %s: %s: want %s: measure it again with `cluster-agent powercal`", name, field, want)
	}
	switch {
	case c.Schema != 1:
		return bad("schema", "1")
	case c.Idle < 0 || c.Idle > maxWatts || c.Default <= 0 || c.Default > maxWatts:
		return bad("idle_mw, default_limit_mw", "0 to 10 kW")
	case len(c.Points) == 0 || len(c.Points) > 100 || c.Points[0].Limit != c.Default:
		return bad("points", "1 to 100, the default limit first")
	}
	// Points must descend without repetition: a cap is looked up by its limit.
	for i, p := range c.Points {
		if p.Limit <= 0 || i > 0 && p.Limit >= c.Points[i-1].Limit {
			return bad(fmt.Sprintf("points[%d].limit_mw", i), "limits from the highest to the lowest")
		}
		if p.Clock < 0 || p.Clock > maxClockMHz || i == 0 && p.Clock != 0 {
			return bad(fmt.Sprintf("points[%d].clock_mhz", i), "1 to 10000, and no clock at the first point")
		}
		if !(p.Seconds > 0 && p.Seconds < 1e6) || !(p.Joules > 0 && p.Joules < 1e10) {
			return bad(fmt.Sprintf("points[%d]", i), "seconds and joules above 0")
		}
	}
	return c, nil
}

// maxClockMHz is a plausibility bound of a GPU clock.
const maxClockMHz = 10_000

const maxWatts = 10_000_000 // milliwatts; plausibility bound of one device

// inWatts converts from milliwatts, for messages.
func inWatts(v protocol.Milliwatts) float64 { return float64(v) / 1000 }

// measurementNoise is the tolerance, in per cent, by which measured power may exceed a limit or
// the power without a cap: devices keep limits on average only, and runs differ.
const measurementNoise = 5

// plausibleEnergyShare returns the energy under a cap, reduced to what cap and load allow if it
// exceeds that by no more than noise. A larger excess is left for the power table to
// reject.
func plausibleEnergyShare(c power.Cap, load protocol.Milliwatts) protocol.Milli {
	// Energy for the same work is power times time: min(limit, load)/load of the power, for
	// 1000/speed of the time.
	work := int64(load) * int64(c.Speed)
	most := int64(min(c.Limit, load)) * 1_000_000
	if work <= 0 || c.Energy < 1 || int64(c.Energy) > most/100*(100+measurementNoise)/work {
		return c.Energy
	}
	return min(c.Energy, protocol.Milli(most/work))
}

// ApplyToGPUModel returns a model of the power table with the curve's figures. The speed without
// a cap stays: one command on one device does not measure it relative to other
// models. The power table drops points that took longer than the next lower limit,
// and points that save no energy.
func (c PowerCurve) ApplyToGPUModel(g power.GPU) power.GPU {
	// The first point is the default limit: the reference for speed and energy.
	first := c.Points[0]
	g.Idle, g.Limit = protocol.Milliwatts(c.Idle), protocol.Milliwatts(c.Default)
	g.Load = max(g.Idle, min(protocol.Milliwatts(1000*first.Joules/first.Seconds+0.5), g.Limit))
	g.Caps, g.Assumed = nil, false
	g.Source = fmt.Sprintf("measured on %s, driver %s, %s", c.Device, c.Driver, c.At.Format(time.DateOnly))
	speed := protocol.Milli(1000)
	// Speeds and energies are in thousandths of the first point's.
	for _, p := range c.Points[1:] {
		at := power.Cap{
			Limit: protocol.Milliwatts(p.Limit), Speed: protocol.Milli(1000 * first.Seconds / p.Seconds),
			Energy: protocol.Milli(1000*p.Joules/first.Joules + 0.5),
		}
		if at.Speed < 1 || at.Speed > speed { // noise: a lower limit cannot make work faster
			at.Speed = max(1, min(at.Speed, speed))
		}
		speed = at.Speed
		at.Energy = plausibleEnergyShare(at, g.Load)
		g.Caps = append(g.Caps, at)
	}
	return g
}
