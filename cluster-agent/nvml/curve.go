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

// A Curve is a measurement of one command on one device under several power limits. A site uses it in place of the
// power table's assumptions. Its JSON is versioned by Schema.
type Curve struct {
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

// A Point is the median run under a power limit or with a locked clock. The limit of a point with a clock is its
// mean power plus one per cent, so that rounding stays below it.
type Point struct {
	Limit   int64   `json:"limit_mw"`
	Clock   int     `json:"clock_mhz,omitempty"`
	Seconds float64 `json:"seconds"`
	Joules  float64 `json:"joules"` // from the device's energy counter
	Runs    int     `json:"runs"`
}

// A Calibration configures the measurement of a Curve.
type Calibration struct {
	Limits  []protocol.Milliwatts // besides the default one
	Clocks  []int                 // in MHz; measured after the limits
	Runs    int                   // under each limit; the median is used; default 3
	Command []string              // recorded in the curve
	Run     func(context.Context) error
	Clock   func() time.Time
	Say     func(format string, args ...any)
}

// Measure runs a command under each limit and clock and returns the curve. The device should have no other work.
// Measure restores the device's limit through caps, even if a run fails or ctx ends.
func Measure(ctx context.Context, d Device, caps *Caps, driver string, c Calibration) (out Curve, err error) {
	l, err := d.Limits()
	if err != nil {
		return Curve{}, err
	}
	for _, v := range c.Limits {
		if v < l.Least || v > l.Most {
			return Curve{}, fmt.Errorf("nvml: limit %.1f W: want %.1f to %.1f W: %w", watts(v), watts(l.Least), watts(l.Most), ErrOutOfRange)
		}
	}
	still, err := d.Read()
	if err != nil {
		return Curve{}, err
	}
	if slices.Contains(still.Missing, "energy") {
		return Curve{}, fmt.Errorf("nvml: device %d has no energy counter: %w", d.Index(), ErrNotSupported)
	}
	defer func() { err = errors.Join(err, caps.Restore()) }()
	out = Curve{Schema: 1, Device: d.Model(), UUID: d.UUID(), Driver: driver, Command: c.Command, At: c.Clock().UTC(), Idle: int64(still.Power), Default: int64(l.Default)}
	limits := append([]protocol.Milliwatts{l.Default}, c.Limits...)
	slices.SortFunc(limits, func(x, y protocol.Milliwatts) int { return int(y - x) })
	// Limits above the default are not measured: no cap is above it.
	for _, limit := range slices.Compact(limits) {
		if limit > l.Default {
			continue
		}
		if err := c.hold(ctx, d, caps, limit); err != nil {
			return Curve{}, err
		}
		p, err := c.point(ctx, d, limit)
		if err != nil {
			return Curve{}, err
		}
		c.Say("%.0f W: %.1f s, %.0f J", watts(limit), p.Seconds, p.Joules)
		out.Points = append(out.Points, p)
	}
	return out, c.clocks(ctx, d, caps, &out)
}

// clocks measures with locked clocks, from the highest down. The power at a clock stands for its limit, so limits
// must descend from point to point.
func (c Calibration) clocks(ctx context.Context, d Device, caps *Caps, out *Curve) error {
	mhz := slices.Clone(c.Clocks)
	slices.Sort(mhz)
	for _, clock := range slices.Backward(slices.Compact(mhz)) {
		if err := caps.WantClock(d.UUID(), clock); err != nil {
			return err
		}
		if err := c.hold(ctx, d, caps, protocol.Milliwatts(out.Default)); err != nil {
			return err
		}
		p, err := c.point(ctx, d, 0)
		if err != nil {
			return err
		}
		p.Clock, p.Limit = clock, min(int64(1010*p.Joules/p.Seconds), out.Points[len(out.Points)-1].Limit-1)
		c.Say("%d MHz: %.0f W, %.1f s, %.0f J", clock, float64(p.Limit)/1000, p.Seconds, p.Joules)
		out.Points = append(out.Points, p)
	}
	return nil
}

// Clock returns the clock in MHz that implements a cap of this curve, or 0 if a power limit does.
func (c Curve) Clock(limit protocol.Milliwatts) int {
	for _, p := range c.Points {
		if p.Limit == int64(limit) {
			return p.Clock
		}
	}
	return 0
}

// hold sets a limit and waits until Apply has no pending change.
func (c Calibration) hold(ctx context.Context, d Device, caps *Caps, limit protocol.Milliwatts) error {
	if err := caps.Want(d.UUID(), limit); err != nil {
		return err
	}
	for {
		again, err := caps.Apply(c.Clock())
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

// point runs the command several times under the current limit and returns the median by time.
func (c Calibration) point(ctx context.Context, d Device, limit protocol.Milliwatts) (Point, error) {
	n := c.Runs
	if n == 0 {
		n = 3
	}
	type run struct{ seconds, joules float64 }
	runs := make([]run, n)
	for i := range runs {
		before, err := d.Read()
		if err != nil {
			return Point{}, err
		}
		began := c.Clock()
		if err := c.Run(ctx); err != nil {
			return Point{}, fmt.Errorf("nvml: the command failed under a limit of %.0f W: %w", watts(limit), err)
		}
		took := c.Clock().Sub(began)
		after, err := d.Read()
		if err != nil {
			return Point{}, err
		}
		if after.Energy <= before.Energy || took <= 0 {
			return Point{}, fmt.Errorf("nvml: the energy counter did not change in %v: use a command that runs longer", took)
		}
		runs[i] = run{took.Seconds(), float64(after.Energy-before.Energy) / 1000}
	}
	slices.SortFunc(runs, func(x, y run) int {
		if x.seconds < y.seconds {
			return -1
		}
		return 1
	})
	m := runs[n/2]
	return Point{Limit: int64(limit), Seconds: m.seconds, Joules: m.joules, Runs: n}, nil
}

// ReadCurve reads a curve from JSON and validates it.
func ReadCurve(r io.Reader, name string) (Curve, error) {
	dec := json.NewDecoder(io.LimitReader(r, 1<<20))
	dec.DisallowUnknownFields()
	var c Curve
	if err := dec.Decode(&c); err != nil {
		return Curve{}, fmt.Errorf("nvml: %s: %w: measure it again with `cluster-agent powercal`", name, err)
	}
	bad := func(field, want string) (Curve, error) {
		return Curve{}, fmt.Errorf("nvml: %s: %s: want %s: measure it again with `cluster-agent powercal`", name, field, want)
	}
	switch {
	case c.Schema != 1:
		return bad("schema", "1")
	case c.Idle < 0 || c.Idle > mostWatts || c.Default <= 0 || c.Default > mostWatts:
		return bad("idle_mw, default_limit_mw", "0 to 10 kW")
	case len(c.Points) == 0 || len(c.Points) > 100 || c.Points[0].Limit != c.Default:
		return bad("points", "1 to 100, the default limit first")
	}
	for i, p := range c.Points {
		if p.Limit <= 0 || i > 0 && p.Limit >= c.Points[i-1].Limit {
			return bad(fmt.Sprintf("points[%d].limit_mw", i), "limits from the highest to the lowest")
		}
		if p.Clock < 0 || p.Clock > mostClockMHz || i == 0 && p.Clock != 0 {
			return bad(fmt.Sprintf("points[%d].clock_mhz", i), "1 to 10000, and no clock at the first point")
		}
		if !(p.Seconds > 0 && p.Seconds < 1e6) || !(p.Joules > 0 && p.Joules < 1e10) {
			return bad(fmt.Sprintf("points[%d]", i), "seconds and joules above 0")
		}
	}
	return c, nil
}

// mostClockMHz is a plausibility bound of a GPU clock.
const mostClockMHz = 10_000

const mostWatts = 10_000_000 // milliwatts; plausibility bound of one device

func watts(v protocol.Milliwatts) float64 { return float64(v) / 1000 }

// noise is the tolerance, in per cent, by which measured power may exceed a limit or the power without a cap:
// devices keep limits on average only, and runs differ.
const noise = 5

// plausible returns the energy under a cap, reduced to what cap and load allow if it exceeds that by no more than
// noise. A larger excess is left for the power table to reject.
func plausible(c power.Cap, load protocol.Milliwatts) protocol.Milli {
	work := int64(load) * int64(c.Speed)
	most := int64(min(c.Limit, load)) * 1_000_000
	if work <= 0 || c.Energy < 1 || int64(c.Energy) > most/100*(100+noise)/work {
		return c.Energy
	}
	return min(c.Energy, protocol.Milli(most/work))
}

// GPU returns a model of the power table with the curve's figures. The speed without a cap stays: one command on
// one device does not measure it relative to other models. The power table drops points that took longer than the
// next lower limit, and points that save no energy.
func (c Curve) GPU(g power.GPU) power.GPU {
	first := c.Points[0]
	g.Idle, g.Limit = protocol.Milliwatts(c.Idle), protocol.Milliwatts(c.Default)
	g.Load = max(g.Idle, min(protocol.Milliwatts(1000*first.Joules/first.Seconds+0.5), g.Limit))
	g.Caps, g.Assumed = nil, false
	g.Source = fmt.Sprintf("measured on %s, driver %s, %s", c.Device, c.Driver, c.At.Format(time.DateOnly))
	speed := protocol.Milli(1000)
	for _, p := range c.Points[1:] {
		at := power.Cap{
			Limit: protocol.Milliwatts(p.Limit), Speed: protocol.Milli(1000 * first.Seconds / p.Seconds),
			Energy: protocol.Milli(1000*p.Joules/first.Joules + 0.5),
		}
		if at.Speed < 1 || at.Speed > speed { // noise: a lower limit cannot make work faster
			at.Speed = max(1, min(at.Speed, speed))
		}
		speed = at.Speed
		at.Energy = plausible(at, g.Load)
		g.Caps = append(g.Caps, at)
	}
	return g
}
