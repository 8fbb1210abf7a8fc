package protocol

import (
	"math"
	"math/bits"
	"time"
)

// CostBreakdown is the cost of one option by cause: the terms of the objective. Only Total adds
// them up.
type CostBreakdown struct {
	Money, Carbon, NodeIdle, Transfer, Fragmentation, Delay, Late, Tariff Microdollars
}

// Total returns the sum of t.
func (t CostBreakdown) Total() Microdollars {
	return t.Money + t.Carbon + t.NodeIdle + t.Transfer + t.Fragmentation + t.Delay + t.Late + t.Tariff
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

// CostOf prices option o of job j as bid: see PriceOption.
func (w Weights) CostOf(j Job, o BidOption, shadow Microdollars) CostBreakdown {
	return w.PriceOption(&j, &o, PricingBasis{Shadow: shadow})
}

// PriceOption prices option o of job j. It is the only function that computes the objective, with
// JobPricing.PriceOption, which it calls: the ranking of a site, the comparison of the auction and
// the figures of documents differ in their PricingBasis alone. Source: docs/method.md, section 1:
// objective = money + carbon + idle share of the node + transfer + fragmentation + delay + lateness
// + the site's tariff.
func (w Weights) PriceOption(j *Job, o *BidOption, by PricingBasis) CostBreakdown {
	p := w.ForJob(j)
	return p.PriceOption(o, by)
}

// A JobPricing prices the options of one job: what is the same for all of them is computed once.
type JobPricing struct {
	weights Weights
	job     *Job
	size    Milli        // in thousandths of a GPU, by which waiting counts
	wait    Microdollars // WaitPrice
}

// ForJob returns the pricing of j, which must not change meanwhile.
func (w Weights) ForJob(j *Job) JobPricing {
	return JobPricing{weights: w, job: j, size: j.PricedGPUs(), wait: w.WaitPrice(j)}
}

// PricedGPUs returns the GPUs by which a job's waiting, lateness and tariff are priced, in
// thousandths. A job without GPUs counts by its processor cores, sixteen of them as one GPU.
func (j *Job) PricedGPUs() Milli {
	if gpus := j.TotalGPUMilli(); gpus > 0 {
		return gpus
	}
	return j.CPU / 16
}

// TariffCost returns what a site that charges tariff for a GPU-hour charges a job for a run,
// truncated to a microdollar. No argument is negative.
func (j *Job) TariffCost(run time.Duration, tariff Microdollars) Microdollars {
	return gpuTimeCost(j.PricedGPUs(), run, tariff)
}

// PriceOption is Weights.PriceOption for an option of the job.
func (p *JobPricing) PriceOption(o *BidOption, by PricingBasis) (t CostBreakdown) {
	t.Money = scaleByTrust(o.Money, by.Trust)
	t.Carbon = scaleByTrust(p.weights.CarbonCost(o.Carbon), by.Trust)
	t.NodeIdle = o.NodeIdleShare
	t.Transfer = o.Transfer
	if o.FragmentationDelta != 0 {
		t.Fragmentation = GPUHoursCost(o.FragmentationDelta, o.Finish.Sub(o.Start), by.Shadow)
	}
	leastLate := p.weights.leastLate
	if o.Finish <= p.job.Deadline {
		leastLate = 0 // it is late only if it slips by FinishDelay
	}
	if o.Tariff != 0 {
		size := p.size
		if o.Pods != 0 {
			at := p.job.Under(o)
			size = at.PricedGPUs()
		}
		t.Tariff = gpuTimeCost(size, o.Finish.Sub(o.Start), o.Tariff)
	}
	t.Delay, t.Late = p.delayAndLateCost(o.Start.Add(o.Wake), o.Finish.Add(by.FinishDelay), leastLate)
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

// DelayAndLateCost prices the start and the finish of a job: its waiting by its urgency, and its
// lateness up to the job's worth, for each of its PricedGPUs.
func (w Weights) DelayAndLateCost(j Job, start, finish Time) (delay, late Microdollars) {
	p := w.ForJob(&j)
	return p.DelayAndLateCost(start, finish)
}

// DelayAndLateCost is Weights.DelayAndLateCost for the job.
func (p *JobPricing) DelayAndLateCost(start, finish Time) (delay, late Microdollars) {
	return p.delayAndLateCost(start, finish, p.weights.leastLate)
}

// delayAndLateCost is DelayAndLateCost for the job; a late one counts as late by leastLate at least.
func (p *JobPricing) delayAndLateCost(start, finish Time, leastLate time.Duration) (delay, late Microdollars) {
	if start > p.job.Arrival {
		delay = gpuTimeCost(p.size, start.Sub(p.job.Arrival), p.wait)
	}
	if finish > p.job.Deadline {
		late = gpuTimeCost(p.size, max(finish.Sub(p.job.Deadline), leastLate), p.weights.Late)
		if p.weights.LateMost > 0 {
			late = min(late, p.weights.MostLateCost(p.job))
		}
	}
	return delay, late
}

// GPUHoursCost returns the cost of g thousandths of a GPU for d at rate per GPU-hour, cut
// to seconds. It does not overflow up to 16 GPUs, 1,500 hours and a million dollars.
func GPUHoursCost(g Milli, d time.Duration, rate Microdollars) Microdollars {
	seconds := d.Milliseconds() / 1000
	return Microdollars(mulDivTruncated(int64(rate), int64(g)*seconds, 3_600_000))
}

// gpuTimeCost returns the cost of g thousandths of a GPU for d at rate per GPU-hour, truncated to a
// microdollar. Unlike GPUHoursCost it counts every millisecond, so that the bound, which counts in
// fractions of a slot, need not allow for a second of each job. No argument is negative.
func gpuTimeCost(g Milli, d time.Duration, rate Microdollars) Microdollars {
	const perGPUHour = 3_600_000_000 // thousandths of a GPU times milliseconds
	hi, lo := bits.Mul64(uint64(rate), uint64(g)*uint64(d.Milliseconds()))
	if hi >= perGPUHour {
		return math.MaxInt64 / 64 // only hostile values: a sum of a few still fits
	}
	q, _ := bits.Div64(hi, lo, perGPUHour)
	return Microdollars(min(q, math.MaxInt64/64))
}

// mulDivTruncated returns a * b / per, truncated, even where a * b overflows.
func mulDivTruncated(a, b, per int64) int64 { return a/per*b + a%per*b/per }
