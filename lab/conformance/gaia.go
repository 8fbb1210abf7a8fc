package conformance

import (
	"github.com/gridbid/gridbid/scenarios/baseline/published"
)

// A Task is a job of a published trace, in ticks.
type Task struct{ Arrival, Length, CPUs int }

// A Row is what a rule came to.
type Row struct {
	Rule     string
	Carbon   float64 // in the case's own unit
	Relative float64 // to starting at once
	Wait     float64 // mean, in hours, of rules that do not interrupt
}

// GAIA's clock and queues (its simulator's, for figure 8).
const (
	tick  = 5 // seconds
	hour  = 3600 / tick
	short = 2 * hour // below: the short queue
)

// queues are what GAIA knows of a task: how long it may wait, and the mean
// length of its queue, which stands for its own.
type queues struct{ short, long int }

func (q queues) of(t Task) (wait, length int) {
	if t.Length < short {
		return 6 * hour, q.short
	}
	return 24 * hour, q.long
}

// means returns the mean length of each queue, in ticks. A task of exactly two
// hours counts in both means, as in the original.
func means(lengths []float64) (q queues) {
	mean := func(in func(float64) bool) int {
		sum, n := 0.0, 0
		for _, l := range lengths {
			if in(l) {
				sum += l
				n++
			}
		}
		return int(sum / float64(max(n, 1)))
	}
	return queues{
		short: mean(func(l float64) bool { return l <= short }),
		long:  mean(func(l float64) bool { return l >= short }),
	}
}

// GAIA runs the tasks of figure 8 under each of its rules, with the true
// intensities known to all of them, as it was published. Arrivals and lengths
// are in seconds; intensities are hourly, in grams per kWh; a processor draws
// one watt.
func GAIA(arrivals, lengths []float64, cpus []int, intensity []float64) []Row {
	tasks, ticks := make([]Task, len(lengths)), make([]float64, len(lengths))
	for i := range tasks {
		ticks[i] = lengths[i] / tick
		tasks[i] = Task{Arrival: int(arrivals[i] / tick), Length: int(ticks[i]), CPUs: cpus[i]}
	}
	perTick := make([]float64, len(intensity))
	for i, v := range intensity {
		perTick[i] = v / 1000 / hour
	}
	c, q := published.NewCurve(perTick, hour), means(ticks)

	whole := func(start func(t Task, wait, length int) int) func(Task) []published.Span {
		return func(t Task) []published.Span {
			wait, length := q.of(t)
			s := start(t, wait, length)
			return []published.Span{{From: s, To: s + t.Length}}
		}
	}
	rules := []struct {
		name string
		runs func(Task) []published.Span
	}{
		{"no-wait", whole(func(t Task, _, _ int) int { return t.Arrival })},
		{"lowest-slot", whole(func(t Task, wait, _ int) int { return published.LowestSlot(c, t.Arrival, wait) })},
		{"lowest-window", whole(func(t Task, wait, n int) int { return published.LowestWindow(c, t.Arrival, wait, n, hour) })},
		{"carbon-time", whole(func(t Task, wait, n int) int { return published.CarbonTime(c, t.Arrival, wait, n, hour) })},
		{"ecovisor", func(t Task) []published.Span {
			wait, _ := q.of(t)
			return published.Below(c, t.Arrival, wait, t.Length, c.Threshold(t.Arrival, 24*hour, 0.3))
		}},
		{"interruptible-optimum", func(t Task) []published.Span {
			wait, _ := q.of(t)
			return published.Cheapest(c, t.Arrival, wait, t.Length)
		}},
		{"hourly-optimum", whole(func(t Task, wait, _ int) int { return published.LowestWindow(c, t.Arrival, wait, t.Length, hour) })},
		{"optimum", whole(func(t Task, wait, _ int) int { return published.LowestWindow(c, t.Arrival, wait, t.Length, 1) })},
	}
	rows := make([]Row, len(rules))
	for i, r := range rules {
		rows[i] = Row{Rule: r.name}
		for _, t := range tasks {
			runs := r.runs(t)
			for _, s := range runs {
				rows[i].Carbon += float64(float64(t.CPUs) * c.Over(s.From, s.To))
			}
			rows[i].Wait += float64(runs[0].From-t.Arrival) / hour / float64(len(tasks))
		}
		rows[i].Relative = rows[i].Carbon / rows[0].Carbon
	}
	return rows
}
