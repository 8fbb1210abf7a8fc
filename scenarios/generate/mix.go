package generate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Mix is a day of jobs that nobody submitted.
type Mix struct {
	Count  int
	Habits Habits
}

// Jobs returns the mix's jobs for a seed, arriving in [start, end), by arrival
// and then id. Run times and numbers of GPUs are spread like those of the
// Philly trace (cut at a day), shares of a GPU like Alibaba's.
func (m Mix) Jobs(seed uint64, start, end protocol.Time) []protocol.Job {
	when := spread(Dice(seed, "mix", "arrival"), m.Count)
	long := spread(Dice(seed, "mix", "run"), m.Count)
	many := spread(Dice(seed, "mix", "gpus"), m.Count)
	order := arrivals(when, start, end)
	out := make([]protocol.Job, m.Count)
	for i := range out {
		id := fmt.Sprintf("job-%04d", i+1)
		j := protocol.Job{
			ID:      protocol.JobID(id),
			Tenant:  fmt.Sprintf("team-%c", 'a'+rune(tenant(Dice(seed, id, "tenant")))),
			Arrival: order[i],
			Run:     time.Duration(at(runs, long[i])) * time.Second,
		}
		j = ask(Dice(seed, id, "ask"), j, many[i])
		out[i] = m.Habits.Fill(seed, j)
	}
	return out
}

// runs are quantiles of a run in seconds: Philly 2017, cut at 24 hours.
var runs = []point{
	{0, 20}, {0.05, 49}, {0.1, 64}, {0.25, 243}, {0.5, 1486}, {0.75, 2869},
	{0.9, 10536}, {0.95, 29567}, {0.97, 81141}, {0.98, 86400}, {1, 86400},
}

// day is how arrivals gather by day: the share that has come by an hour.
var day = []point{{0, 0}, {6, 0.16}, {9, 0.30}, {12, 0.50}, {18, 0.82}, {24, 1}}

type point struct{ x, y float64 }

// at reads y at x off a line through the points.
func at(line []point, x float64) float64 {
	for i := 1; i < len(line); i++ {
		if a, b := line[i-1], line[i]; x <= b.x {
			return a.y + float64((b.y-a.y)*(x-a.x)/(b.x-a.x))
		}
	}
	return line[len(line)-1].y
}

// arrivals turns even draws into instants in ascending order.
func arrivals(when []float64, start, end protocol.Time) []protocol.Time {
	back := make([]point, len(day))
	for i, p := range day {
		back[i] = point{p.y, p.x / 24}
	}
	length := float64(end - start)
	out := make([]protocol.Time, len(when))
	for _, u := range when {
		// One draw lies in each n-th, so its place is its rank.
		rank := min(int(u*float64(len(when))), len(when)-1)
		t := start + protocol.Time(at(back, u)*length)
		out[rank] = min(t.Floor(time.Second), end-1)
	}
	for i := 1; i < len(out); i++ {
		out[i] = max(out[i], out[i-1])
	}
	if len(out) > 0 {
		out[0] = max(out[0], start)
	}
	return out
}

// ask sets what j wants of a node. Many in [0, 1) chooses the number of GPUs.
func ask(d *rand.Rand, j protocol.Job, many float64) protocol.Job {
	j.Share = 1000
	switch {
	case many < 0.950:
		j.GPUs = 1
		if yes(d, shared) {
			j.Share = shares[d.IntN(len(shares))]
		}
	case many < 0.968:
		j.GPUs = 2
	case many < 0.987:
		j.GPUs = 4
	default:
		j.GPUs = 8
	}
	if yes(d, bare) && j.GPUs == 1 {
		j.GPUs, j.Share = 0, 0
		j.CPU, j.Memory = 4000, 16*1024
		return j
	}
	parts := protocol.Milli(max(1, j.GPU()/250))
	j.CPU, j.Memory = parts*1000, protocol.MiB(parts)*8*1024 // 4 cores and 32 GiB of a whole GPU
	if yes(d, choosy) {
		kinds := models
		if j.GPUs > 4 {
			kinds = models[1:] // nobody puts eight small ones into a machine
		}
		j.Models = kinds[d.IntN(len(kinds))]
	}
	return j
}

// What jobs ask for, in thousandths of them.
const (
	bare   = 50  // no GPU
	shared = 380 // of those with one GPU: a part of it
	choosy = 200 // name the models that will do
)

var (
	shares = []protocol.Milli{810, 810, 810, 470, 470, 320, 230, 650, 550, 160}
	models = [][]string{{"T4", "A10", "L4"}, {"V100", "A100"}, {"A100", "H100"}}
)

// tenant is one of eight, the first the busiest.
func tenant(d *rand.Rand) int { return min(d.IntN(8), d.IntN(8)) }
