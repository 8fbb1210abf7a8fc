package generate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A WorkloadMix describes a day of synthetic jobs.
type WorkloadMix struct {
	Count      int
	TraitRates TraitRates
}

// GenerateJobs returns the mix's jobs for a seed, arriving in [start, end), by arrival and
// then id. Run times and GPU counts follow the Philly trace (cut at a day), GPU
// shares the Alibaba trace.
func (m WorkloadMix) GenerateJobs(seed uint64, start, end protocol.Time) []protocol.Job {
	when := stratifiedDraws(SeededRand(seed, "mix", "arrival"), m.Count)
	long := stratifiedDraws(SeededRand(seed, "mix", "run"), m.Count)
	many := stratifiedDraws(SeededRand(seed, "mix", "gpus"), m.Count)
	order := arrivalTimes(when, start, end)
	out := make([]protocol.Job, m.Count)
	for i := range out {
		id := fmt.Sprintf("job-%04d", i+1)
		j := protocol.Job{
			ID:      protocol.JobID(id),
			Tenant:  fmt.Sprintf("team-%c", 'a'+rune(drawTenant(SeededRand(seed, id, "tenant")))),
			Arrival: order[i],
			Run:     time.Duration(interpolateAt(runTimeQuantiles, long[i])) * time.Second,
		}
		j = drawResourceRequest(SeededRand(seed, id, "ask"), j, many[i])
		out[i] = m.TraitRates.AssignTraits(seed, j, Given{})
	}
	return out
}

// runTimeQuantiles are quantiles of the run time in seconds: Philly 2017, cut at 24 hours.
var runTimeQuantiles = []curvePoint{
	{0, 20}, {0.05, 49}, {0.1, 64}, {0.25, 243}, {0.5, 1486}, {0.75, 2869},
	{0.9, 10536}, {0.95, 29567}, {0.97, 81141}, {0.98, 86400}, {1, 86400},
}

// arrivalsByHour is the cumulative distribution of arrivals by hour of the day.
var arrivalsByHour = []curvePoint{{0, 0}, {6, 0.16}, {9, 0.30}, {12, 0.50}, {18, 0.82}, {24, 1}}

// A curvePoint is one support point of a piecewise linear function.
type curvePoint struct{ x, y float64 }

// interpolateAt interpolates y at x on the line through the points, which ascend by x.
func interpolateAt(line []curvePoint, x float64) float64 {
	for i := 1; i < len(line); i++ {
		if a, b := line[i-1], line[i]; x <= b.x {
			return a.y + float64((b.y-a.y)*(x-a.x)/(b.x-a.x))
		}
	}
	return line[len(line)-1].y
}

// arrivalTimes maps stratified uniform draws to arrival times in ascending order, by the
// inverse of the daily distribution.
func arrivalTimes(when []float64, start, end protocol.Time) []protocol.Time {
	back := make([]curvePoint, len(arrivalsByHour))
	for i, p := range arrivalsByHour {
		back[i] = curvePoint{p.y, p.x / 24}
	}
	length := float64(end - start)
	out := make([]protocol.Time, len(when))
	for _, u := range when {
		// Each n-th of [0, 1) holds one draw, so the draw's interval is its rank.
		rank := min(int(u*float64(len(when))), len(when)-1)
		t := start + protocol.Time(interpolateAt(back, u)*length)
		out[rank] = min(t.Floor(time.Second), end-1)
	}
	// Rounding down to whole seconds may reorder neighbours; restore the ascending order.
	for i := 1; i < len(out); i++ {
		out[i] = max(out[i], out[i-1])
	}
	if len(out) > 0 {
		out[0] = max(out[0], start)
	}
	return out
}

// drawResourceRequest sets GPUs, CPU, memory and allowed models of j. Many in [0, 1) selects the
// number of GPUs.
func drawResourceRequest(d *rand.Rand, j protocol.Job, many float64) protocol.Job {
	j.Share = 1000
	switch {
	case many < 0.950:
		j.GPUs = 1
		if drawWithProbability(d, gpuSharingShare) {
			j.Share = shareChoices[d.IntN(len(shareChoices))]
		}
	case many < 0.968:
		j.GPUs = 2
	case many < 0.987:
		j.GPUs = 4
	default:
		j.GPUs = 8
	}
	if drawWithProbability(d, cpuOnlyShare) && j.GPUs == 1 {
		j.GPUs, j.Share = 0, 0
		j.CPU, j.Memory = 4000, 16*1024
		return j
	}
	parts := protocol.Milli(max(1, j.TotalGPUMilli()/250))
	j.CPU, j.Memory = parts*1000, protocol.MiB(parts)*8*1024 // 4 cores and 32 GiB for a whole GPU
	if drawWithProbability(d, modelBoundShare) {
		kinds := modelChoices
		if j.GPUs > 4 {
			kinds = modelChoices[1:] // nodes with eight GPUs do not have the small models of modelChoices[0]
		}
		j.Models = kinds[d.IntN(len(kinds))]
	}
	return j
}

// Shares of job requests, in thousandths.
const (
	cpuOnlyShare    = 50  // of jobs with one GPU: need none
	gpuSharingShare = 380 // of jobs with one GPU: need a part of it
	modelBoundShare = 200 // of jobs: restrict the GPU models
)

// shareChoices repeats the frequent values, so that a uniform draw has their distribution.
var (
	shareChoices = []protocol.Milli{810, 810, 810, 470, 470, 320, 230, 650, 550, 160}
	modelChoices = [][]string{{"T4", "A10", "L4"}, {"V100", "A100"}, {"A100", "H100"}}
)

// drawTenant draws one of eight tenants; lower indices are more frequent.
func drawTenant(d *rand.Rand) int { return min(d.IntN(8), d.IntN(8)) }
