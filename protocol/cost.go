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

// DefaultWeights hold where nobody says otherwise: a tonne counts $190, what the
// US EPA reckons that one emitted in 2020 costs the world (Report on the Social
// Cost of Greenhouse Gases, 2023, at 2 %), a GPU-hour waited $1, one late $10.
func DefaultWeights() Weights {
	return Weights{Carbon: 190_000, Delay: 1_000_000, Late: 10_000_000}
}

// CostBreakdown is what one option costs, by cause: the objective in parts. Total is their
// sum, and nothing else adds them up.
type CostBreakdown struct {
	Money, Carbon, NodeIdle, Transfer, Fragmentation, Delay, Late Microdollars
}

// Total returns the sum of t.
func (t CostBreakdown) Total() Microdollars {
	return t.Money + t.Carbon + t.NodeIdle + t.Transfer + t.Fragmentation + t.Delay + t.Late
}

// PricingBasis is what an option is priced by beside the federation's weights. The
// zero PricingBasis takes the site at its word, in a market where room is worth nothing.
type PricingBasis struct {
	// Shadow is what a GPU-hour is worth where and when the option runs: it prices
	// the fragments that the option makes.
	Shadow Microdollars
	// Trust is how dear the site's energy and carbon count, in thousandths of what it
	// bids: 1500 for half as much more. 0 is 1000, as bid.
	Trust Milli
	// Slip is how much later than bid the finish is taken to be when lateness is priced.
	Slip time.Duration
}

// CostOf prices option o of job j by the site's own word: see Price.
func (w Weights) CostOf(j Job, o BidOption, shadow Microdollars) CostBreakdown {
	return w.Price(&j, &o, PricingBasis{Shadow: shadow})
}

// Price prices option o of job j. This is the one place where the objective of an
// option is put together: what a site ranks its options by, what the auction compares
// and what the documents show differ in their PricingBasis alone. (METHOD, section 1:
// objective = money + carbon + awake + transfer + fragmentation + delay + lateness.)
func (w Weights) Price(j *Job, o *BidOption, by PricingBasis) CostBreakdown {
	t := CostBreakdown{
		Money:    distrusted(o.Money, by.Trust),
		Carbon:   distrusted(w.CarbonCost(o.Carbon), by.Trust),
		NodeIdle: o.NodeIdleShare,
		Transfer: o.Transfer,
	}
	if o.FragmentationDelta != 0 {
		t.Fragmentation = GPUHoursCost(o.FragmentationDelta, o.Finish.Sub(o.Start), by.Shadow)
	}
	t.Delay, t.Late = w.DelayAndLateCost(*j, o.Start, o.Finish.Add(by.Slip))
	return t
}

// distrusted makes a cost dearer by trust. A negative cost is an income, and a site
// that is not trusted earns less of it.
func distrusted(m Microdollars, trust Milli) Microdollars {
	switch {
	case trust == 0:
		return m
	case m < 0:
		return m * 1000 / Microdollars(trust)
	}
	return m * Microdollars(trust) / 1000
}

// CarbonCost returns what c is taken to cost the world.
func (w Weights) CarbonCost(c Milligrams) Microdollars {
	return Microdollars(mulDivTruncated(int64(w.Carbon), int64(c), 1_000_000))
}

// DelayAndLateCost prices when a job starts and finishes. Delay counts only where the
// job says that time matters; lateness always. A job without GPUs counts by
// its processor cores, sixteen of them as one GPU.
func (w Weights) DelayAndLateCost(j Job, start, finish Time) (delay, late Microdollars) {
	size := j.TotalGPUMilli()
	if size == 0 {
		size = j.CPU / 16
	}
	if !j.Deferrable && start > j.Arrival {
		delay = GPUHoursCost(size, start.Sub(j.Arrival), w.Delay)
	}
	if finish > j.Deadline {
		late = GPUHoursCost(size, finish.Sub(j.Deadline), w.Late)
	}
	return delay, late
}

// GPUHoursCost returns what g thousandths of a GPU for d cost at rate per GPU-hour.
// It does not overflow up to 16 GPUs, 1,500 hours and a million dollars.
func GPUHoursCost(g Milli, d time.Duration, rate Microdollars) Microdollars {
	seconds := d.Milliseconds() / 1000
	return Microdollars(mulDivTruncated(int64(rate), int64(g)*seconds, 3_600_000))
}

// mulDivTruncated returns a * b / per, cut towards zero, where a * b may be too large.
func mulDivTruncated(a, b, per int64) int64 { return a/per*b + a%per*b/per }
