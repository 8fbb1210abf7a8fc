package protocol

//lint:file-ignore U1000 msgpack reads the field _msgpack by reflection: a struct with it is written as an array.

import "time"

// Weights turn everything that an option costs into one currency. They are one
// federation's choice and stand in every Call, so that each site can rank its
// own options as the market will.
type Weights struct {
	_msgpack struct{}     `msgpack:",as_array"`
	Carbon   Microdollars // per kilogram; 100,000 is 100 dollars per tonne
	Delay    Microdollars // per GPU-hour that a job waits which cannot be deferred
	Late     Microdollars // per GPU-hour past the deadline
}

// UsualWeights hold where nobody says otherwise: a tonne counts $190, what the
// US EPA reckons that one emitted in 2020 costs the world (Report on the Social
// Cost of Greenhouse Gases, 2023, at 2 %), a GPU-hour waited $1, one late $10.
func UsualWeights() Weights {
	return Weights{Carbon: 190_000, Delay: 1_000_000, Late: 10_000_000}
}

// Terms is what one option costs, by cause. Total is their sum.
type Terms struct {
	Money, Carbon, Awake, Transfer, Fragment, Delay, Late Microdollars
}

// Total returns the sum of t.
func (t Terms) Total() Microdollars {
	return t.Money + t.Carbon + t.Awake + t.Transfer + t.Fragment + t.Delay + t.Late
}

// Of prices option o of job j. Shadow is what a GPU-hour is worth where and
// when the option runs: it prices the fragments that the option makes.
// (METHOD, section 1: objective = energy + carbon + transfer + fragmentation +
// delay + lateness.)
func (w Weights) Of(j Job, o Option, shadow Microdollars) Terms {
	t := Terms{
		Money:    o.Money,
		Carbon:   w.CarbonCost(o.Carbon),
		Awake:    o.Awake,
		Transfer: o.Transfer,
		Fragment: GPUHours(o.Fragment, o.Finish.Sub(o.Start), shadow),
	}
	t.Delay, t.Late = w.Waiting(j, o.Start, o.Finish)
	return t
}

// CarbonCost returns what c is taken to cost the world.
func (w Weights) CarbonCost(c Milligrams) Microdollars {
	return Microdollars(scaled(int64(w.Carbon), int64(c), 1_000_000))
}

// Waiting prices when a job starts and finishes. Delay counts only where the
// job says that time matters; lateness always. A job without GPUs counts by
// its processor cores, sixteen of them as one GPU.
func (w Weights) Waiting(j Job, start, finish Time) (delay, late Microdollars) {
	size := j.GPU()
	if size == 0 {
		size = j.CPU / 16
	}
	if !j.Deferrable && start > j.Arrival {
		delay = GPUHours(size, start.Sub(j.Arrival), w.Delay)
	}
	if finish > j.Deadline {
		late = GPUHours(size, finish.Sub(j.Deadline), w.Late)
	}
	return delay, late
}

// GPUHours returns what g thousandths of a GPU for d cost at rate per GPU-hour.
// It does not overflow up to 16 GPUs, 1,500 hours and a million dollars.
func GPUHours(g Milli, d time.Duration, rate Microdollars) Microdollars {
	seconds := d.Milliseconds() / 1000
	return Microdollars(scaled(int64(rate), int64(g)*seconds, 3_600_000))
}

// scaled returns a * b / per, cut towards zero, where a * b may be too large.
func scaled(a, b, per int64) int64 { return a/per*b + a%per*b/per }
