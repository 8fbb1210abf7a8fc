package protocol

//lint:file-ignore U1000 msgpack reads the field _msgpack by reflection: a struct with it is written as an array.

import "time"

// Weights convert all costs of an option into money. Each federation chooses them, and
// every CallForBids contains them, so that a site ranks its options as the market will.
type Weights struct {
	_msgpack struct{}     `msgpack:",as_array"`
	Carbon   Microdollars // per kilogram; 100,000 is 100 dollars per tonne
	Delay    Microdollars // per GPU-hour that a job waits, if it is not deferrable
	Late     Microdollars // per GPU-hour past the deadline
}

// DefaultWeights returns the default weights: $190 per tonne of CO2e, the US EPA's social
// cost of a tonne emitted in 2020 (Report on the Social Cost of Greenhouse Gases, 2023,
// discount rate 2 %); $1 per GPU-hour of waiting, $10 per GPU-hour of lateness.
func DefaultWeights() Weights {
	return Weights{Carbon: 190_000, Delay: 1_000_000, Late: 10_000_000}
}

// CostBreakdown is the cost of one option by cause: the terms of the objective. Only Total adds
// them up.
type CostBreakdown struct {
	Money, Carbon, NodeIdle, Transfer, Fragmentation, Delay, Late Microdollars
}

// Total returns the sum of t.
func (t CostBreakdown) Total() Microdollars {
	return t.Money + t.Carbon + t.NodeIdle + t.Transfer + t.Fragmentation + t.Delay + t.Late
}

// PricingBasis has the inputs of a price besides the weights. The zero PricingBasis
// trusts the site's bid fully, in a market where capacity has no price.
type PricingBasis struct {
	// Shadow is the shadow price of a GPU-hour where and when the option runs. It
	// prices the fragmentation that the option causes.
	Shadow Microdollars
	// Trust is the site's trust factor, which scales its bid energy and carbon, in
	// thousandths: 1500 is one and a half times the bid. 0 means 1000.
	Trust Milli
	// FinishDelay is added to the finish of the option when lateness is priced.
	FinishDelay time.Duration
}

// CostOf prices option o of job j as bid: see Price.
func (w Weights) CostOf(j Job, o BidOption, shadow Microdollars) CostBreakdown {
	return w.PriceOption(&j, &o, PricingBasis{Shadow: shadow})
}

// PriceOption prices option o of job j. It is the only function that computes the objective:
// the ranking of a site, the comparison of the auction and the figures of documents
// differ in their PricingBasis alone. Source: docs/method.md, section 1: objective =
// money + carbon + idle share of the node + transfer + fragmentation + delay + lateness.
func (w Weights) PriceOption(j *Job, o *BidOption, by PricingBasis) CostBreakdown {
	t := CostBreakdown{
		Money:    scaleByTrust(o.Money, by.Trust),
		Carbon:   scaleByTrust(w.CarbonCost(o.Carbon), by.Trust),
		NodeIdle: o.NodeIdleShare,
		Transfer: o.Transfer,
	}
	if o.FragmentationDelta != 0 {
		t.Fragmentation = GPUHoursCost(o.FragmentationDelta, o.Finish.Sub(o.Start), by.Shadow)
	}
	t.Delay, t.Late = w.DelayAndLateCost(*j, o.Start, o.Finish.Add(by.FinishDelay))
	return t
}

// scaleByTrust scales a cost by a trust factor. A negative cost is an income, so it is
// divided: a site with less trust must never look better.
func scaleByTrust(m Microdollars, trust Milli) Microdollars {
	switch {
	case trust == 0:
		return m
	case m < 0:
		return m * 1000 / Microdollars(trust)
	}
	return m * Microdollars(trust) / 1000
}

// CarbonCost returns the cost of c by the weight of carbon.
func (w Weights) CarbonCost(c Milligrams) Microdollars {
	return Microdollars(mulDivTruncated(int64(w.Carbon), int64(c), 1_000_000))
}

// DelayAndLateCost prices the start and the finish of a job. Delay counts only for jobs that are
// not deferrable, lateness for all. A job without GPUs counts by its processor cores,
// sixteen of them as one GPU.
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

// GPUHoursCost returns the cost of g thousandths of a GPU for d at rate per GPU-hour, cut
// to seconds. It does not overflow up to 16 GPUs, 1,500 hours and a million dollars.
func GPUHoursCost(g Milli, d time.Duration, rate Microdollars) Microdollars {
	seconds := d.Milliseconds() / 1000
	return Microdollars(mulDivTruncated(int64(rate), int64(g)*seconds, 3_600_000))
}

// mulDivTruncated returns a * b / per, truncated, even where a * b overflows.
func mulDivTruncated(a, b, per int64) int64 { return a/per*b + a%per*b/per }
