package power

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A GPU is the power model of one device model.
type GPU struct {
	Model   string
	Idle    protocol.Milliwatts // of an awake device without work
	Load    protocol.Milliwatts // of a device with a usual training job, without a cap
	Limit   protocol.Milliwatts // the default power limit of the vendor
	Speed   protocol.Milli      // without a cap; a V100 runs at 1000
	Caps    []Cap               // from the highest limit to the lowest; may be empty
	Source  string              // origin of the figures
	Assumed bool                // at least one figure was not measured on this model
}

// A Cap is a measured point: the effect of a lower power limit on a usual job.
type Cap struct {
	Limit  protocol.Milliwatts
	Speed  protocol.Milli // thousandths of the speed without a cap
	Energy protocol.Milli // per unit of work, thousandths of the energy without a cap
}

// A Choice is one way to run a device.
type Choice struct {
	Cap   protocol.Milliwatts // power limit; 0: no cap
	Speed protocol.Milli      // a V100 without a cap runs at 1000
	Draw  protocol.Milliwatts // of one whole device at work
}

// CapChoices returns the ways to run g: without a cap first, then under its caps
// from the highest to the lowest. It leaves a cap out when a faster choice takes
// no more energy, idle draw included, for the same work: such a cap costs more
// at any price, whether or not the node would sleep without the job.
func (g GPU) CapChoices() []Choice {
	all := make([]Choice, 1, 1+len(g.Caps))
	all[0] = Choice{Speed: g.Speed, Draw: g.Load}
	for _, c := range g.Caps {
		next := g.underCap(c)
		if savesEnergy(next, all[len(all)-1]) {
			all = append(all, next)
		}
	}
	return all
}

// savesEnergy reports whether the slower choice takes less energy for the same work
// than the faster one. It multiplies crosswise, so nothing is rounded.
func savesEnergy(slow, fast Choice) bool {
	return int64(slow.Draw)*int64(fast.Speed) < int64(fast.Draw)*int64(slow.Speed)
}

// ChoiceAt returns the choice at a limit between measured ones, by linear
// interpolation between neighbours. ok is false outside of the measured range:
// below it nothing was measured, and above the vendor's limit no cap exists.
func (g GPU) ChoiceAt(limit protocol.Milliwatts) (Choice, bool) {
	above := Cap{Limit: g.Limit, Speed: 1000, Energy: 1000}
	if limit >= above.Limit {
		return Choice{Speed: g.Speed, Draw: g.Load}, limit == above.Limit
	}
	for _, below := range g.Caps {
		if limit >= below.Limit {
			return g.underCap(interpolateCap(above, below, limit)), true
		}
		above = below
	}
	return Choice{}, false
}

// interpolateCap returns the point at limit on the line from below to above.
func interpolateCap(above, below Cap, limit protocol.Milliwatts) Cap {
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

// underCap returns how g runs under c. Energy per work is draw over speed, so the
// draw is Load x Energy x Speed, rounded up. The result stays within the cap,
// which the rounding may not exceed.
func (g GPU) underCap(c Cap) Choice {
	draw := (int64(g.Load)*int64(c.Energy)*int64(c.Speed) + 999_999) / 1_000_000
	return Choice{
		Cap:   c.Limit,
		Speed: max(1, g.Speed*c.Speed/1000),
		Draw:  max(g.Idle, min(protocol.Milliwatts(draw), c.Limit, g.Load)),
	}
}

// RunTime returns how long a job of ref at the reference clock takes under c, in
// whole seconds, rounded up. A Choice without a speed, such as that of a job
// without GPUs, runs at the reference clock.
func (c Choice) RunTime(ref time.Duration) time.Duration {
	speed := int64(c.Speed)
	if speed <= 0 {
		speed = 1000
	}
	ref = min(max(ref, 0), maxReferenceRun)
	ms := (ref.Milliseconds()*1000 + speed - 1) / speed
	return time.Duration((ms+999)/1000) * time.Second
}

// maxReferenceRun bounds ref, so that [Choice.RunTime] cannot overflow at the lowest speed.
const maxReferenceRun = 100 * protocol.MaxRun
