package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// MinutesOfDay is how many minutes a DayLoad has.
const MinutesOfDay = 24 * 60

// An Origin is where a part of the requests comes from. No trace that is published says it.
type Origin struct {
	Name  string
	Share float64 // of the day's requests
	// Hours is by how many hours its clock is ahead of UTC. Its day is the same by its own clock.
	Hours float64
}

// A DayPlan says what day a short trace is made to. See Tile.
type DayPlan struct {
	PerSecond float64 // requests, as the mean of the day over all origins
	// Swing and Peak shape the day: in local hour h the rate is 1 + Swing*cos(2π(h-Peak)/24) of its mean.
	Swing, Peak float64
	Origins     []Origin
	Seed        uint64
}

// A MinuteCount counts how many requests of a trace came in each whole minute: a last minute that the
// trace does not cover is left out.
type MinuteCount struct {
	counts []int
	last   time.Duration
}

// Add counts a request; requests come in order of time.
func (c *MinuteCount) Add(r Request) {
	for int(r.At/time.Minute) >= len(c.counts) {
		c.counts = append(c.counts, 0)
	}
	c.counts[r.At/time.Minute]++
	c.last = r.At
}

// Whole returns the counts of whole minutes.
func (c *MinuteCount) Whole() []int {
	return c.counts[:min(len(c.counts), int(c.last/time.Minute))]
}

// maxCopies bounds how often a trace is superposed.
const maxCopies = 100_000

// Tile makes a day of a shorter trace: how many requests come from each origin in each minute, from
// midnight UTC on. Each origin gets copies of the trace, one over the other, as many as its rate in the
// minute is of the trace's mean; of the last copy, which is a part, it gets each request with that part
// as its chance. A copy begins somewhere in the trace, drawn by the seed, and goes round it. So minutes
// are as bursty as copies that know nothing of each other, and no time is ever stretched.
func Tile(minutes []int, p DayPlan) ([][]int, error) {
	sum := 0
	for _, n := range minutes {
		sum += n
	}
	shares := 0.0
	for _, o := range p.Origins {
		if !(o.Share >= 0) || !(o.Hours >= -12 && o.Hours <= 14) {
			return nil, fmt.Errorf("trace: origin %s: want a share of 0 or more, and -12..14 hours ahead of UTC", o.Name)
		}
		shares += o.Share
	}
	switch {
	case sum == 0:
		return nil, fmt.Errorf("trace: the trace has no request in a whole minute: name a longer one")
	case math.Abs(shares-1) > 1e-9:
		return nil, fmt.Errorf("trace: the shares of the origins add up to %g: want 1", shares)
	case !(p.Swing >= 0 && p.Swing <= 1):
		return nil, fmt.Errorf("trace: the swing of the day is %g: want 0..1", p.Swing)
	}
	mean := float64(sum) / float64(60*len(minutes)) // of the trace, per second
	most := p.PerSecond * (1 + p.Swing) / mean
	if !(most >= 0 && most <= maxCopies) {
		return nil, fmt.Errorf("trace: %g requests a second are %g times the trace's: want at most %d", p.PerSecond, most, maxCopies)
	}
	out := make([][]int, len(p.Origins))
	for k, o := range p.Origins {
		out[k] = p.tileOrigin(minutes, mean, o, rand.New(rand.NewPCG(p.Seed, uint64(k))))
	}
	return out, nil
}

// tileOrigin returns the requests of one origin by the minute.
func (p DayPlan) tileOrigin(minutes []int, mean float64, o Origin, d *rand.Rand) []int {
	out := make([]int, MinutesOfDay)
	copies := int(math.Ceil(p.PerSecond * o.Share * (1 + p.Swing) / mean))
	for c := range copies {
		begin := d.IntN(len(minutes))
		for m := range out {
			hour := float64(m)/60 + o.Hours
			shape := 1 + float64(p.Swing*math.Cos(2*math.Pi*(hour-p.Peak)/24))
			n := minutes[(begin+m)%len(minutes)]
			switch part := p.PerSecond*o.Share*shape/mean - float64(c); {
			case part >= 1:
				out[m] += n
			case part > 0:
				for range n {
					if d.Float64() < part {
						out[m]++
					}
				}
			}
		}
	}
	return out
}
