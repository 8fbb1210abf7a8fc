package power

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A GPU is a device model.
type GPU struct {
	Model   string
	Idle    protocol.Milliwatts // awake without work
	Load    protocol.Milliwatts // of a usual training job, without a cap
	Limit   protocol.Milliwatts // the maker's power limit
	Speed   protocol.Milli      // without a cap; a V100 runs at 1000
	Caps    []Cap               // from the highest limit to the lowest; may be empty
	Source  string              // where the figures are from
	Assumed bool                // some figure is not measured on this model
}

// A Cap is a measured point: what a lower power limit does to a usual job.
type Cap struct {
	Limit  protocol.Milliwatts
	Speed  protocol.Milli // of the speed without a cap
	Energy protocol.Milli // of one unit of work, of the energy without a cap
}

// A Choice is one way to run a device.
type Choice struct {
	Cap   protocol.Milliwatts // 0: none
	Speed protocol.Milli      // a V100 without a cap runs at 1000
	Draw  protocol.Milliwatts // of one whole device at work
}

// Choices returns how g may be run: without a cap first, then under its caps
// from the highest to the lowest. A cap is left out when a faster choice takes
// no more energy, idle draw included, for the same work: then it is worse at
// any price, whether or not the node would sleep without the job.
func (g GPU) Choices() []Choice {
	all := make([]Choice, 1, 1+len(g.Caps))
	all[0] = Choice{Speed: g.Speed, Draw: g.Load}
	for _, c := range g.Caps {
		next := g.under(c)
		if saves(next, all[len(all)-1]) {
			all = append(all, next)
		}
	}
	return all
}

// saves reports whether the slower choice takes less energy for the same work
// than the faster one, by cross multiplication.
func saves(slow, fast Choice) bool {
	return int64(slow.Draw)*int64(fast.Speed) < int64(fast.Draw)*int64(slow.Speed)
}

// At returns the choice of a limit between measured ones, by straight lines
// between neighbours. It is false outside of the measured range: below it
// nobody knows, and at the maker's limit or above there is no cap.
func (g GPU) At(limit protocol.Milliwatts) (Choice, bool) {
	above := Cap{Limit: g.Limit, Speed: 1000, Energy: 1000}
	if limit >= above.Limit {
		return Choice{Speed: g.Speed, Draw: g.Load}, limit == above.Limit
	}
	for _, below := range g.Caps {
		if limit >= below.Limit {
			return g.under(between(above, below, limit)), true
		}
		above = below
	}
	return Choice{}, false
}

// between returns the point at limit on the line from below to above.
func between(above, below Cap, limit protocol.Milliwatts) Cap {
	part, whole := int64(limit-below.Limit), int64(above.Limit-below.Limit)
	line := func(from, to protocol.Milli) protocol.Milli {
		return from + protocol.Milli(int64(to-from)*part/whole)
	}
	return Cap{
		Limit:  limit,
		Speed:  line(below.Speed, above.Speed),
		Energy: line(below.Energy, above.Energy),
	}
}

// under returns g run under c. Energy per work is draw over speed, so the draw
// is Load x Energy x Speed, rounded up; rounding must not pass the cap itself.
func (g GPU) under(c Cap) Choice {
	draw := (int64(g.Load)*int64(c.Energy)*int64(c.Speed) + 999_999) / 1_000_000
	return Choice{
		Cap:   c.Limit,
		Speed: max(1, g.Speed*c.Speed/1000),
		Draw:  max(g.Idle, min(protocol.Milliwatts(draw), c.Limit, g.Load)),
	}
}

// Run returns how long a job of ref at the reference clock takes under c, in
// whole seconds, rounded up. A Choice without a speed, as for a job without
// GPUs, runs at the reference clock.
func (c Choice) Run(ref time.Duration) time.Duration {
	speed := int64(c.Speed)
	if speed <= 0 {
		speed = 1000
	}
	ref = min(max(ref, 0), longest)
	ms := (ref.Milliseconds()*1000 + speed - 1) / speed
	return time.Duration((ms+999)/1000) * time.Second
}

// longest keeps [Choice.Run] from overflowing at the lowest speed there is.
const longest = 100 * protocol.MaxRun
