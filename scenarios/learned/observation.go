package learned

import (
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// MostOptions is how many options of a job an observation holds: the cheapest ones.
const MostOptions = 64

// Hold is the action that leaves the job waiting; the actions before it are options.
const Hold = MostOptions

// FeatureBound is the greatest absolute value of a feature: what is beyond it is cut.
const FeatureBound = 8

// JobFeatures names the numbers of an observation that describe the job and the market, in order.
var JobFeatures = []string{
	"gpus", "run", "slack", "now", "flexible", "tied", "waited", "declined", "day", "day_shifted", "waiting", "arrived",
	"cpu_only", "part_gpu", "gang", "elastic", "pausable", "cpu", "memory",
}

// OptionFeatures names the numbers of an observation that describe one option, in order.
var OptionFeatures = []string{
	"valid", "cost", "money", "carbon", "awake", "transfer", "delay", "late", "fragment", "starts_now",
	"wait", "slack", "in_time", "duration", "energy", "capped", "unpublished", "price_off", "carbon_off", "price_level",
	"carbon_level", "free_now", "free_run", "open_now", "planned", "pool", "trust", "home", "chosen", "same_start",
	"node_cpu", "node_memory",
}

// How many numbers there are of each: JobFeatures, OptionFeatures.
const (
	jobFeatures    = 19
	optionFeatures = 32
)

// An Observation is what a learner sees of one decision. Its arrays are of fixed length: rows of
// options that the job does not have are zero, and masked.
type Observation struct {
	Job     [jobFeatures]float32
	Options [MostOptions * optionFeatures]float32
	Mask    [MostOptions + 1]uint8 // 1: the action is allowed; Hold always is
}

// A features fills a row of an observation.
type features struct {
	row []float32
	n   int
}

// put adds the next feature, cut to FeatureBound.
func (f *features) put(v float64) {
	f.row[f.n] = float32(min(max(v, -FeatureBound), FeatureBound))
	f.n++
}

// putFlag adds 1 or 0.
func (f *features) putFlag(set bool) {
	if set {
		f.put(1)
		return
	}
	f.put(0)
}

// ratioOf returns a / b, or 0 where there is nothing to divide by.
func ratioOf(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// squash maps 0 to infinity to 0 to 1, and half to 1/2. It needs no logarithm, of which processors
// have different ones.
func squash(v, half float64) float64 {
	if v <= 0 {
		return 0
	}
	return v / (v + half)
}

// hoursOf returns a duration in hours.
func hoursOf(d time.Duration) float64 { return float64(d) / float64(time.Hour) }

// triangleWave returns a wave between -1 and 1 with the period of a day, lowest at midnight UTC, of an
// instant so many hours later.
func triangleWave(at protocol.Time, later time.Duration) float64 {
	at = at.Add(later)
	h := hoursOf(at.Sub(at.Floor(24 * time.Hour)))
	if h > 12 {
		h = 24 - h
	}
	return h/6 - 1
}

// fillJob fills the features of the job and of the market, which has so many GPUs.
func (o *Observation) fillJob(r *auction.Round, j *protocol.Job, m *memory, fleet float64) {
	f := features{row: o.Job[:]}
	slack := j.Deadline.Sub(r.Now) - j.Run
	f.put(float64(j.TotalGPUMilli()) / 8000)
	f.put(squash(hoursOf(j.Run), 2))
	f.put(squash(hoursOf(slack), 6))
	f.putFlag(j.Urgency == protocol.UrgencyNow)
	f.putFlag(j.Urgency == protocol.UrgencyFlexible)
	f.putFlag(j.IsTiedToOneSite())
	f.put(squash(hoursOf(r.Now.Sub(j.Arrival)), 2))
	f.put(squash(float64(m.awards[j.ID]), 2))
	f.put(triangleWave(r.Now, 0))
	f.put(triangleWave(r.Now, 6*time.Hour))
	f.put(squash(ratioOf(m.waitingSum.gpuHours(), fleet), 2))
	f.put(squash(ratioOf(m.arrivedSum.gpuHours(), fleet), 1))
	f.putFlag(j.TotalGPUMilli() == 0)
	f.putFlag(j.Share > 0 && j.Share < 1000)
	f.putFlag(len(j.Pods) > 0)
	f.putFlag(len(j.Speed) > 0)
	f.putFlag(j.Pause > 0)
	f.put(squash(float64(j.CPU)/1000, 8))
	f.put(squash(float64(j.Memory)/1024, 64))
}

// fillOption fills the features of option i. Costs are in parts of the job's cheapest option, so that
// they mean the same in every federation.
func (o *Observation) fillOption(i int, r *auction.Round, j *protocol.Job, all []candidate, base float64, least protocol.Millijoules, was plannedJob) {
	f := features{row: o.Options[i*len(OptionFeatures) : (i+1)*len(OptionFeatures)]}
	c := &all[i]
	x, site := c.option, &r.Sites[c.site]
	f.put(1)
	f.put(ratioOf(float64(c.quoted.Total()-all[0].quoted.Total()), base))
	for _, part := range []protocol.Microdollars{c.quoted.Money, c.quoted.Carbon, c.quoted.NodeIdle, c.quoted.Transfer, c.quoted.Delay, c.quoted.Late} {
		f.put(ratioOf(float64(part), base))
	}
	f.put(float64(x.FragmentationDelta) / 8000)
	f.putFlag(x.Start <= r.Now)
	f.put(squash(hoursOf(x.Start.Sub(r.Now)), 4))
	f.put(squash(hoursOf(j.Deadline.Sub(x.Finish)), 6))
	f.putFlag(x.Finish <= j.Deadline)
	f.put(ratioOf(float64(x.Finish.Sub(x.Start)), float64(max(j.Run, time.Minute))) - 1)
	f.put(ratioOf(float64(x.Energy), float64(least)) - 1)
	f.putFlag(x.Cap > 0)
	g := gridDuring(&site.Forecast, x.Start, x.Finish)
	f.put(g.unpublished)
	f.put(g.priceOff)
	f.put(g.carbonOff)
	f.put(g.priceLevel)
	f.put(g.carbonLevel)
	f.put(c.room.freeNow)
	f.put(c.room.freeRun)
	f.put(c.room.openNow)
	f.put(c.room.planned)
	f.put(c.room.poolShare)
	f.put(float64(max(site.Trust, 1000))/1000 - 1)
	f.putFlag(site.Name == j.Home)
	f.putFlag(was.site == site.Name && was.option.Model == x.Model)
	f.putFlag(x.Start == all[0].option.Start)
	f.put(c.room.cpuUsed)
	f.put(c.room.memoryUsed)
}

// A gridView is a site's own forecast over the hours of a run, in parts of its mean over the next day.
type gridView struct {
	unpublished float64 // share of the hours whose price is forecast, not published
	priceOff    float64 // what the site says that the price may be off by, over the price
	carbonOff   float64
	priceLevel  float64 // mean of the run's hours over that of the next 24, less 1
	carbonLevel float64
}

// gridDuring reads a forecast over the hours that a run touches.
func gridDuring(g *protocol.GridForecast, start, finish protocol.Time) (v gridView) {
	from := int(start.Floor(time.Hour).Sub(g.From) / time.Hour)
	to := int(finish.Sub(g.From)/time.Hour) + 1
	hours := 0.0
	for h := max(from, 0); h < min(to, len(g.PriceOff)); h++ {
		hours++
		if g.PriceOff[h] != 0 {
			v.unpublished++
		}
	}
	v.unpublished = ratioOf(v.unpublished, hours)
	price, carbon := meanOf(g.Price, from, to), meanOf(g.Carbon, from, to)
	v.priceOff, v.carbonOff = ratioOf(meanOf(g.PriceOff, from, to), absolute(price)), ratioOf(meanOf(g.CarbonOff, from, to), carbon)
	v.priceLevel, v.carbonLevel = levelOf(price, meanOf(g.Price, 0, 24)), levelOf(carbon, meanOf(g.Carbon, 0, 24))
	return v
}

// levelOf returns how far a value lies above a mean, in parts of it; 0 without a mean.
func levelOf(v, mean float64) float64 { return ratioOf(v-mean, absolute(mean)) }

// absolute returns |v|.
func absolute(v float64) float64 { return max(v, -v) }

// meanOf returns the mean of the values in [from, to), as far as there are any; a run beyond the last
// hour has the last one's.
func meanOf[N ~int64](v []N, from, to int) float64 {
	if len(v) == 0 {
		return 0
	}
	from = min(max(from, 0), len(v)-1)
	to = min(max(to, from+1), len(v))
	sum := int64(0)
	for _, x := range v[from:to] {
		sum += int64(x)
	}
	return float64(sum) / float64(to-from)
}
