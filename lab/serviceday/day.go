package serviceday

import (
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// A Day is one recorded day with a draw of its jobs and of its load.
type Day struct {
	Scenario spec.Scenario // without the service
	Draw     int
	rate     float64 // requests per second, as the mean of the day
	world    *World
	load     [][]int // of each origin by the minute
	rtt      [][]float64
	counts   []int // replicas wanted in each minute
}

// Load shapes the day of each origin: half of its mean up and down, with the peak at three in the
// afternoon. No request trace that is here lasts a day, so the shape is assumed.
const (
	daySwing = 0.5
	dayPeak  = 15
)

// NewDay makes a day of a recorded scenario: nodes for the service, the load of a draw at a mean of so many
// requests per second, and the schedule.
func NewDay(w *World, s spec.Scenario, draw int, perSecond float64) (*Day, error) {
	addServingNodes(&s)
	d := &Day{Scenario: s, Draw: draw, rate: perSecond, world: w}
	var err error
	if d.rtt, err = rttTable(s); err != nil {
		return nil, err
	}
	plan := trace.DayPlan{PerSecond: perSecond, Swing: daySwing, Peak: dayPeak, Seed: uint64(draw)}
	for _, o := range origins {
		plan.Origins = append(plan.Origins, o.Origin)
	}
	if d.load, err = trace.Tile(w.Minutes, plan); err != nil {
		return nil, err
	}
	d.counts = d.schedule(0)
	return d, nil
}

// perSecond returns the requests per second of all origins in a minute.
func (d *Day) perSecond(minute int) float64 {
	sum := 0
	for _, o := range d.load {
		sum += o[minute]
	}
	return float64(sum) / 60
}

// leadMinutes is by how much the count of an hour is wanted before it begins: a node wakes in 200 s, and a
// replica starts in two minutes.
const leadMinutes = 10

// schedule returns how many replicas are wanted in each minute: in an hour and the ten minutes before it as
// many as serve the busiest five minutes of it at the sized load, with a margin as a part of that.
func (d *Day) schedule(margin float64) []int {
	const hour, busy = 60, 5
	each := d.world.sizedLoad() * d.world.Table.Limit
	hours := make([]int, trace.MinutesOfDay/hour)
	for h := range hours {
		most := 0.0
		for m := h * hour; m+busy <= (h+1)*hour; m++ {
			sum := 0.0
			for k := range busy {
				sum += d.perSecond(m+k) / busy
			}
			most = max(most, sum)
		}
		hours[h] = max(int(math.Ceil(float64(most*(1+margin))/each)), 1)
	}
	out := make([]int, trace.MinutesOfDay)
	for m := range out {
		h := m / hour
		if out[m] = hours[h]; m%hour >= hour-leadMinutes && h+1 < len(hours) {
			out[m] = max(out[m], hours[h+1])
		}
	}
	return out
}

// serviceID is the id of the service of the bench.
const serviceID = "chat"

// service returns the service as it is submitted with so many replicas.
func (d *Day) service(wanted int) protocol.Service {
	watts := d.world.Table.Watts(d.world.sizedLoad()) - idleGPUWatts + 4*replicaCores
	return protocol.Service{
		ID: serviceID, Wanted: wanted, GPUs: 1, Share: 1000, CPU: 1000 * replicaCores, Memory: 32 * 1024, Models: []string{"H100"},
		Variants: []protocol.Variant{{
			Model: "H100", Goodput: protocol.Milli(1000 * d.world.Table.Goodput(farthestRTT)),
			Power: protocol.Milliwatts(1000 * watts), Start: startSeconds * time.Second,
		}},
	}
}

// minuteAt returns the time of a minute of the day.
func (d *Day) minuteAt(minute int) protocol.Time {
	return d.Scenario.Start.Add(time.Duration(minute) * time.Minute)
}
